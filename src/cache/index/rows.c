/* Blocks of rows: how they grow, shrink and are compared. */
#include "cache/index/rows.h"

#include "base/mem.h"
#include "kernel/kernel.h"

#include <string.h>

#define ALIGN         64u
#define BLOCK_SPARE   256u /* rows that stay free before the last block is freed */
#define COMPARE_AHEAD 8u   /* rows whose bytes are fetched before they are compared */

void sr_vector_rows_init(struct sr_vector_rows *rows, size_t dimension)
{
    *rows = (struct sr_vector_rows){.dimension = (uint16_t)dimension,
                                    .padded = (uint16_t)((dimension + 63) / 64 * 64),
                                    .half = (uint16_t)((dimension + 1) / 2)};
}

void sr_vector_rows_dispose(struct sr_vector_rows *rows)
{
    sr_vector_rows_drop_links(rows, 0);
    for (uint32_t i = 0; i < rows->n_blocks; i++)
        sr_mem_free(rows->blocks[i].memory);
    sr_mem_free(rows->blocks);
    sr_vector_rows_init(rows, rows->dimension);
}

static size_t block_bytes(const struct sr_vector_rows *rows, size_t capacity)
{
    const size_t row = (size_t)rows->padded + rows->half + sizeof(float) + sizeof(uint32_t);
    return capacity * row + sizeof(float) + (capacity == SR_VECTOR_BLOCK ? ALIGN : 0);
}

/* A full block begins at a cache line; a small one saves the bytes. Order: steps, ids, coarse, fine. */
static int block_new(const struct sr_vector_rows *rows, size_t capacity, struct sr_vector_block *block)
{
    *block = (struct sr_vector_block){.memory = sr_mem_alloc(block_bytes(rows, capacity))};
    if (!block->memory)
        return SR_ENOMEM;
    char *p = block->memory;
    if (capacity == SR_VECTOR_BLOCK)
        p += (ALIGN - (uintptr_t)p % ALIGN) % ALIGN;
    block->steps = (float *)(void *)p;
    block->ids = (uint32_t *)(void *)(p + capacity * sizeof(float));
    block->coarse = (uint8_t *)p + capacity * (sizeof(float) + sizeof(uint32_t));
    block->fine = block->coarse + capacity * rows->padded;
    return SR_OK;
}

/* The first block with another capacity, which is at least the count. */
static int resize_first(struct sr_vector_rows *rows, uint32_t capacity)
{
    struct sr_vector_block old = rows->blocks[0], block;
    int rc = block_new(rows, capacity, &block);
    if (rc)
        return rc;
    if (rows->count) {
        memcpy(block.steps, old.steps, rows->count * sizeof(float));
        memcpy(block.ids, old.ids, rows->count * sizeof(uint32_t));
        memcpy(block.coarse, old.coarse, (size_t)rows->count * rows->padded);
        memcpy(block.fine, old.fine, (size_t)rows->count * rows->half);
    }
    sr_mem_free(old.memory);
    rows->blocks[0] = block;
    rows->first = capacity;
    return SR_OK;
}

static int reserve_block(struct sr_vector_rows *rows)
{
    if (rows->n_blocks < rows->room)
        return SR_OK;
    const uint32_t room = rows->room ? rows->room * 2 : 1;
    struct sr_vector_block *blocks = sr_mem_realloc(rows->blocks, room * sizeof *blocks);
    if (!blocks)
        return SR_ENOMEM;
    rows->blocks = blocks;
    rows->room = room;
    return SR_OK;
}

int sr_vector_rows_reserve(struct sr_vector_rows *rows)
{
    if (rows->n_blocks && rows->first < SR_VECTOR_BLOCK) {
        if (rows->count < rows->first)
            return SR_OK;
        const uint32_t more = rows->first + rows->first / 4 + 1;
        return resize_first(rows, more < SR_VECTOR_BLOCK ? more : SR_VECTOR_BLOCK);
    }
    if (rows->count < rows->n_blocks * SR_VECTOR_BLOCK)
        return SR_OK;
    if (rows->count >= SR_VECTOR_ROWS)
        return SR_ELIMIT;
    const uint32_t capacity = rows->n_blocks ? SR_VECTOR_BLOCK : 1;
    int rc = reserve_block(rows);
    if (rc == SR_OK)
        rc = block_new(rows, capacity, &rows->blocks[rows->n_blocks]);
    if (rc)
        return rc;
    if (rows->n_blocks++ == 0)
        rows->first = capacity;
    return SR_OK;
}

void sr_vector_rows_append(struct sr_vector_rows *rows, uint32_t id, const void *packed)
{
    const uint32_t row = rows->count++, at = row % SR_VECTOR_BLOCK;
    struct sr_vector_block *block = sr_vector_block_of(rows, row);
    const uint8_t *bytes = packed;
    uint8_t *coarse = block->coarse + (size_t)at * rows->padded;
    const uint32_t bits =
        bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    memcpy(&block->steps[at], &bits, sizeof bits);
    block->ids[at] = id;
    memcpy(coarse, bytes + 4, rows->dimension);
    memset(coarse + rows->dimension, SR_VECTOR_ZERO, (size_t)(rows->padded - rows->dimension));
    memcpy(block->fine + (size_t)at * rows->half, bytes + 4 + rows->dimension, rows->half);
}

void sr_vector_rows_copy(struct sr_vector_rows *rows, uint32_t from, uint32_t to)
{
    struct sr_vector_block *target = sr_vector_block_of(rows, to);
    const uint32_t at = to % SR_VECTOR_BLOCK;
    target->steps[at] = sr_vector_step(rows, from);
    target->ids[at] = *sr_vector_id(rows, from);
    memcpy(target->coarse + (size_t)at * rows->padded, sr_vector_coarse(rows, from), rows->padded);
    memcpy(target->fine + (size_t)at * rows->half, sr_vector_fine(rows, from), rows->half);
}

void sr_vector_rows_drop(struct sr_vector_rows *rows)
{
    rows->count--;
    if (rows->count == 0) {
        sr_vector_rows_dispose(rows);
    } else if (rows->n_blocks > 1) {
        const uint32_t spare = rows->n_blocks * SR_VECTOR_BLOCK - rows->count;
        if (spare < SR_VECTOR_BLOCK + BLOCK_SPARE)
            return;
        sr_vector_rows_drop_links(rows, rows->n_blocks - 1);
        sr_mem_free(rows->blocks[--rows->n_blocks].memory);
    } else if (rows->first > 8 && rows->count < rows->first / 4 && !rows->blocks[0].links) {
        int rc = resize_first(rows, rows->count * 2);
        (void)rc; /* the larger block serves as well */
    }
}

int sr_vector_rows_reserve_links(struct sr_vector_rows *rows, uint32_t block)
{
    struct sr_vector_block *b = &rows->blocks[block];
    if (b->links)
        return SR_OK;
    b->links = sr_mem_alloc(SR_VECTOR_BLOCK * (SR_VECTOR_LINKS + 2) * sizeof *b->links);
    if (!b->links)
        return SR_ENOMEM;
    b->tops = b->links + SR_VECTOR_BLOCK * SR_VECTOR_LINKS;
    b->nexts = b->tops + SR_VECTOR_BLOCK;
    return SR_OK;
}

void sr_vector_rows_drop_links(struct sr_vector_rows *rows, uint32_t block)
{
    for (uint32_t i = block; i < rows->n_blocks; i++) {
        sr_mem_free(rows->blocks[i].links);
        rows->blocks[i].links = rows->blocks[i].tops = rows->blocks[i].nexts = NULL;
    }
}

size_t sr_vector_rows_memory(const struct sr_vector_rows *rows)
{
    size_t bytes = rows->room * sizeof *rows->blocks;
    for (uint32_t i = 0; i < rows->n_blocks; i++) {
        bytes += block_bytes(rows, i ? SR_VECTOR_BLOCK : rows->first);
        if (rows->blocks[i].links)
            bytes += SR_VECTOR_BLOCK * (SR_VECTOR_LINKS + 2) * sizeof(uint32_t);
    }
    return bytes;
}

static void fetch(const struct sr_vector_rows *rows, uint32_t row)
{
    const uint8_t *coarse = sr_vector_coarse(rows, row);
    for (size_t i = 0; i < rows->padded; i += 64)
        __builtin_prefetch(coarse + i);
    __builtin_prefetch(&sr_vector_block_of(rows, row)->steps[row % SR_VECTOR_BLOCK]);
}

void sr_vector_rows_compare(const struct sr_vector_rows *rows, const struct sr_vector_query *query,
                            const uint32_t *list, size_t n, float *similarities)
{
    const uint8_t *coarse[COMPARE_AHEAD];
    int32_t dots[COMPARE_AHEAD];
    for (size_t i = 0; i < n && i < COMPARE_AHEAD; i++)
        fetch(rows, list[i]);
    for (size_t from = 0; from < n; from += COMPARE_AHEAD) {
        const size_t now = n - from < COMPARE_AHEAD ? n - from : COMPARE_AHEAD;
        for (size_t i = from + COMPARE_AHEAD; i < n && i < from + 2 * (size_t)COMPARE_AHEAD; i++)
            fetch(rows, list[i]);
        for (size_t i = 0; i < now; i++)
            coarse[i] = sr_vector_coarse(rows, list[from + i]);
        sr_dot_bytes(query->coarse, rows->padded, coarse, now, dots);
        for (size_t i = 0; i < now; i++)
            similarities[from + i] = (float)(dots[i] - query->offset) * query->step *
                                     (sr_vector_step(rows, list[from + i]) * SR_VECTOR_FINE);
    }
}

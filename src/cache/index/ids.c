/* Linear hashing (Litwin 1980) over rows. */
#include "cache/index/ids.h"

#include "base/mem.h"

#include <string.h>

void sr_vector_ids_init(struct sr_vector_ids *ids)
{
    *ids = (struct sr_vector_ids){.buckets = 1, .round = 1};
}

void sr_vector_ids_dispose(struct sr_vector_ids *ids)
{
    for (uint32_t i = 0; i < ids->n_pages; i++)
        sr_mem_free(ids->pages[i]);
    sr_mem_free(ids->pages);
    sr_vector_ids_init(ids);
}

int sr_vector_ids_reserve(struct sr_vector_ids *ids, uint32_t more)
{
    const uint32_t most = ids->entries + more;
    const uint32_t buckets = most < ids->buckets ? ids->buckets : most;
    while (ids->n_pages * SR_VECTOR_BLOCK < buckets + 1) {
        if (ids->n_pages == ids->room) {
            const uint32_t room = ids->room ? ids->room * 2 : 4;
            uint32_t **pages = sr_mem_realloc(ids->pages, room * sizeof *pages);
            if (!pages)
                return SR_ENOMEM;
            ids->pages = pages;
            ids->room = room;
        }
        uint32_t *page = sr_mem_alloc(SR_VECTOR_BLOCK * sizeof *page);
        if (!page)
            return SR_ENOMEM;
        memset(page, 0xFF, SR_VECTOR_BLOCK * sizeof *page); /* SR_VECTOR_NONE */
        ids->pages[ids->n_pages++] = page;
    }
    return SR_OK;
}

static uint32_t hash(uint32_t id)
{
    id *= 0x9E3779B1u;
    return id ^ id >> 15;
}

static uint32_t *bucket(const struct sr_vector_ids *ids, uint32_t id)
{
    uint32_t at = hash(id) & (2 * ids->round - 1);
    if (at >= ids->buckets)
        at &= ids->round - 1;
    return &ids->pages[at / SR_VECTOR_BLOCK][at % SR_VECTOR_BLOCK];
}

static void split(struct sr_vector_ids *ids, const struct sr_vector_rows *rows)
{
    const uint32_t from = ids->buckets - ids->round;
    uint32_t *head = &ids->pages[from / SR_VECTOR_BLOCK][from % SR_VECTOR_BLOCK], row = *head;
    *head = SR_VECTOR_NONE;
    ids->buckets++;
    while (row != SR_VECTOR_NONE) {
        const uint32_t next = *sr_vector_next(rows, row);
        uint32_t *to = bucket(ids, *sr_vector_id(rows, row));
        *sr_vector_next(rows, row) = *to;
        *to = row;
        row = next;
    }
    if (ids->buckets == 2 * ids->round)
        ids->round *= 2;
}

void sr_vector_ids_add(struct sr_vector_ids *ids, const struct sr_vector_rows *rows, uint32_t row)
{
    uint32_t *head = bucket(ids, *sr_vector_id(rows, row));
    *sr_vector_next(rows, row) = *head;
    *head = row;
    if (++ids->entries > ids->buckets)
        split(ids, rows);
}

uint32_t sr_vector_ids_find(const struct sr_vector_ids *ids, const struct sr_vector_rows *rows, uint32_t id)
{
    uint32_t row = ids->n_pages ? *bucket(ids, id) : SR_VECTOR_NONE;
    while (row != SR_VECTOR_NONE && *sr_vector_id(rows, row) != id)
        row = *sr_vector_next(rows, row);
    return row;
}

void sr_vector_ids_replace(struct sr_vector_ids *ids, const struct sr_vector_rows *rows, uint32_t row,
                           uint32_t by)
{
    uint32_t *at = bucket(ids, *sr_vector_id(rows, row));
    while (*at != row)
        at = sr_vector_next(rows, *at);
    if (by == SR_VECTOR_NONE) {
        *at = *sr_vector_next(rows, row);
        ids->entries--;
    } else {
        *sr_vector_next(rows, by) = *sr_vector_next(rows, row);
        *at = by;
    }
}

size_t sr_vector_ids_memory(const struct sr_vector_ids *ids)
{
    return ids->room * sizeof *ids->pages + (size_t)ids->n_pages * SR_VECTOR_BLOCK * sizeof(uint32_t);
}

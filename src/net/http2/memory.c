/*
 * Memory of one nghttp2 session.
 *
 * nghttp2 1.52 frees an outbound item twice when its queue cannot grow: nghttp2_submit_data frees it, and the
 * stream that still points to it frees it again when the session is deleted. An allocation failure ends the
 * session in any case; after one, freed blocks are only marked and kept until the session was deleted.
 */
#include "base/mem.h"
#include "net/http2/private.h"

#include <stdalign.h>

struct block {
    alignas(max_align_t) struct block *next; /* of the kept blocks */
    bool aside;
};

static void *bytes_of(struct block *block)
{
    return block ? block + 1 : NULL;
}

static struct block *noted(struct sr_http2_memory *memory, struct block *block)
{
    if (block)
        *block = (struct block){NULL, false};
    else
        memory->failed = true;
    return block;
}

static void *on_malloc(size_t size, void *ctx)
{
    return bytes_of(noted(
        ctx, size < SIZE_MAX - sizeof(struct block) ? sr_mem_alloc(sizeof(struct block) + size) : NULL));
}

static void *on_calloc(size_t count, size_t size, void *ctx)
{
    size_t n = size && count > SIZE_MAX / 2 / size ? SIZE_MAX : count * size;
    return bytes_of(
        noted(ctx, n < SIZE_MAX - sizeof(struct block) ? sr_mem_calloc(1, sizeof(struct block) + n) : NULL));
}

static void on_free(void *p, void *ctx)
{
    struct sr_http2_memory *memory = ctx;
    struct block *block = p ? (struct block *)p - 1 : NULL;
    if (!block || block->aside)
        return;
    if (!memory->failed) {
        sr_mem_free(block);
        return;
    }
    block->aside = true;
    block->next = memory->aside;
    memory->aside = block;
}

static void *on_realloc(void *p, size_t size, void *ctx)
{
    struct block *block = p ? (struct block *)p - 1 : NULL;
    return bytes_of(
        noted(ctx, size < SIZE_MAX - sizeof *block ? sr_mem_realloc(block, sizeof *block + size) : NULL));
}

nghttp2_mem sr_http2_memory_of(struct sr_http2_memory *memory)
{
    return (nghttp2_mem){memory, on_malloc, on_free, on_calloc, on_realloc};
}

void sr_http2_memory_dispose(struct sr_http2_memory *memory)
{
    while (memory->aside) {
        struct block *block = memory->aside;
        memory->aside = block->next;
        sr_mem_free(block);
    }
}

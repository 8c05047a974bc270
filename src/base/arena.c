/* Bump allocation: blocks of 8 KiB that double up to 1 MiB; larger requests get a block of their own. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define ARENA_ALIGN     16u
#define ARENA_MIN_BLOCK ((size_t)8 << 10)
#define ARENA_MAX_BLOCK ((size_t)1 << 20)

struct sr_arena_block {
    struct sr_arena_block *next;
    size_t size; /* usable bytes */
    _Alignas(16) unsigned char data[];
};

void sr_arena_init(struct sr_arena *arena, size_t max)
{
    *arena = (struct sr_arena){.max = max};
}

void sr_arena_dispose(struct sr_arena *arena)
{
    for (struct sr_arena_block *block = arena->head; block;) {
        struct sr_arena_block *next = block->next;
        sr_mem_free(block);
        block = next;
    }
    sr_arena_init(arena, arena->max);
}

void sr_arena_reset(struct sr_arena *arena)
{
    struct sr_arena_block *kept = arena->head;
    if (!kept || kept->size > ARENA_MAX_BLOCK) {
        sr_arena_dispose(arena);
        return;
    }
    arena->head = kept->next;
    sr_arena_dispose(arena);
    kept->next = NULL;
    arena->head = kept;
    arena->total = kept->size;
}

static int arena_grow(struct sr_arena *arena, size_t need)
{
    size_t size = arena->head ? arena->head->size * 2 : ARENA_MIN_BLOCK;
    if (size > ARENA_MAX_BLOCK)
        size = ARENA_MAX_BLOCK;
    if (size < need)
        size = need;
    if (size > arena->max - arena->total) {
        if (need > arena->max - arena->total)
            return SR_ELIMIT;
        size = arena->max - arena->total;
    }
    struct sr_arena_block *block = sr_mem_alloc(sizeof *block + size);
    if (!block)
        return SR_ENOMEM;
    block->next = arena->head;
    block->size = size;
    arena->head = block;
    arena->used = 0;
    arena->total += size;
    return SR_OK;
}

void *sr_arena_alloc(struct sr_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t need = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (need == 0)
        need = ARENA_ALIGN;
    if ((!arena->head || need > arena->head->size - arena->used) && arena_grow(arena, need))
        return NULL;
    void *p = arena->head->data + arena->used;
    arena->used += need;
    return p;
}

void *sr_arena_calloc(struct sr_arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size)
        return NULL;
    void *p = sr_arena_alloc(arena, count * size);
    if (p)
        memset(p, 0, count * size);
    return p;
}

struct sr_bytes sr_arena_dup(struct sr_arena *arena, struct sr_bytes s)
{
    char *p = s.n < SIZE_MAX / 2 ? sr_arena_alloc(arena, s.n + 1) : NULL;
    if (!p)
        return (struct sr_bytes){NULL, 0};
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return (struct sr_bytes){p, s.n};
}

char *sr_arena_printf(struct sr_arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = n < 0 ? NULL : sr_arena_alloc(arena, (size_t)n + 1);
    if (p)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void sr_arena_trim(struct sr_arena *arena, void *p, size_t old_size, size_t size)
{
    size_t from = (old_size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    size_t to = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (to < from && arena->head && arena->used >= from &&
        (unsigned char *)p == arena->head->data + arena->used - from)
        arena->used -= from - to;
}

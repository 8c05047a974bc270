/*
 * A request's memory: bump allocation in blocks, everything freed at once.
 *
 * Single-threaded. Memory that outlives the request or that another thread uses must not come from an arena:
 * jobs own reference-counted inputs (base/ref.h).
 */
#ifndef SR_BASE_ARENA_H
#define SR_BASE_ARENA_H

#include "base/bytes.h"
#include "base/err.h"

struct sr_arena_block;

struct sr_arena {
    struct sr_arena_block *head; /* the block in use */
    size_t used;                 /* bytes handed out of `head` */
    size_t total;                /* bytes of all blocks */
    size_t max;                  /* bound of `total` */
};

/* An empty arena of at most `max` bytes; allocates nothing. */
void sr_arena_init(struct sr_arena *arena, size_t max);

/* Frees all blocks; the arena is empty and usable again. */
void sr_arena_dispose(struct sr_arena *arena);

/* Forgets what was allocated but keeps one block, of at most 1 MiB, for what comes next. */
void sr_arena_reset(struct sr_arena *arena);

/* Aligned to 16 bytes, uninitialised; NULL at the limit or when out of memory. */
void *sr_arena_alloc(struct sr_arena *arena, size_t size) __attribute__((malloc));

/* Zeroed array; NULL also when count * size overflows. */
void *sr_arena_calloc(struct sr_arena *arena, size_t count, size_t size);

/* A NUL-terminated copy; its `p` is NULL when out of memory. */
struct sr_bytes sr_arena_dup(struct sr_arena *arena, struct sr_bytes s);
char *sr_arena_printf(struct sr_arena *arena, const char *fmt, ...) SR_PRINTF(2, 3);

/* Returns the unused tail of the latest allocation `p`, which shrinks to `size` bytes. */
void sr_arena_trim(struct sr_arena *arena, void *p, size_t old_size, size_t size);

#endif

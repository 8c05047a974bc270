/*
 * Heap allocation outside arenas.
 *
 * All code allocates through these functions so that tests can fail the Nth allocation (sr_mem_fail_at) and
 * so that a sum of live bytes can be reported. Thread-safe.
 */
#ifndef SR_BASE_MEM_H
#define SR_BASE_MEM_H

#include <stddef.h>

/* NULL when out of memory. sr_mem_calloc checks count * size for overflow. Free with sr_mem_free. */
void *sr_mem_alloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *sr_mem_calloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *sr_mem_realloc(void *p, size_t size);
void sr_mem_free(void *p);

/* A NUL-terminated copy of `n` bytes; NULL when out of memory. */
char *sr_mem_dup(const void *p, size_t n);

/* Bytes that a thread's part of the heap may keep unused, once sr_mem_give_back was called. */
#define SR_MEM_IDLE_MAX ((size_t)8 << 20)

/* From now on freed memory goes back to the operating system once SR_MEM_IDLE_MAX of it lie at the end of a
 * thread's part of the heap, and each block of half of that size at once. For a program that runs for long
 * and serves peaks: by default glibc learns from the largest block that was freed, and then keeps up to
 * 64 MiB for each thread. Changes the whole process, so not for a library. Main thread, before others. */
void sr_mem_give_back(void);

/* Gives memory that is free inside the heap back to the operating system. For the end of a peak that is rare,
 * such as opening a model; takes milliseconds. Any thread. */
void sr_mem_trim(void);

/* For fault tests: the `nth` allocation from now (1 = the next) and all after it fail; 0 switches it off.
 * sr_mem_count gives the allocations since the last call of sr_mem_fail_at. */
void sr_mem_fail_at(size_t nth);
size_t sr_mem_count(void);

#endif

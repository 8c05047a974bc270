/* Heap allocation with a switch that fails it, for fault tests, and how much of the heap may lie unused. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static atomic_size_t mem_fail_at;
static atomic_size_t mem_count;
static atomic_bool mem_counting;

static bool mem_may_allocate(void)
{
    if (!atomic_load_explicit(&mem_counting, memory_order_relaxed))
        return true;
    size_t n = atomic_fetch_add(&mem_count, 1) + 1;
    size_t limit = atomic_load(&mem_fail_at);
    return limit == 0 || n < limit;
}

void *sr_mem_alloc(size_t size)
{
    return mem_may_allocate() ? malloc(size ? size : 1) : NULL;
}

void *sr_mem_calloc(size_t count, size_t size)
{
    return mem_may_allocate() ? calloc(count ? count : 1, size ? size : 1) : NULL;
}

void *sr_mem_realloc(void *p, size_t size)
{
    return mem_may_allocate() ? realloc(p, size ? size : 1) : NULL;
}

void sr_mem_free(void *p)
{
    free(p);
}

char *sr_mem_dup(const void *p, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *copy = sr_mem_alloc(n + 1);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, p, n);
    copy[n] = 0;
    return copy;
}

void sr_mem_give_back(void)
{
#ifdef __GLIBC__ /* others give back by themselves */
    (void)mallopt(M_MMAP_THRESHOLD, (int)(SR_MEM_IDLE_MAX / 2));
    (void)mallopt(M_TRIM_THRESHOLD, (int)SR_MEM_IDLE_MAX);
#endif
}

void sr_mem_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

void sr_mem_fail_at(size_t nth)
{
    atomic_store(&mem_count, 0);
    atomic_store(&mem_fail_at, nth);
    atomic_store(&mem_counting, true);
}

size_t sr_mem_count(void)
{
    return atomic_load(&mem_count);
}

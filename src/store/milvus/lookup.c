/*
 * Lookups: Query by key, Search by vector. Whatever the server found is checked against what was asked for.
 */
#include "base/clock.h"
#include "store/milvus/private.h"

#define ARENA   ((size_t)64 << 20)
#define FOUND   64
#define REQUEST ((size_t)1 << 20)

/* Keeps those that belong to the question, and were not removed. */
static size_t found_check(struct sr_milvus *milvus, const struct sr_remote_lookup *lookup,
                          struct sr_cache_candidate *found, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sr_cache_fields *f = &found[i].record->f;
        size_t size = sizeof lookup->key;
        bool ours = lookup->k ? memcmp(&f->partition, &lookup->key, size) == 0 && f->vector.n
                              : memcmp(&f->exact, &lookup->key, size) == 0 ||
                                    memcmp(&f->request, &lookup->key, size) == 0;
        if (ours && !sr_remote_is_removed(&milvus->remote, f))
            found[kept++] = found[i];
        else
            sr_cache_record_unref(found[i].record);
    }
    return kept;
}

static void sort(struct sr_cache_candidate *found, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sr_cache_candidate c = found[i];
        size_t at = i;
        for (; at && found[at - 1].similarity < c.similarity; at--)
            found[at] = found[at - 1];
        found[at] = c;
    }
}

static void answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_remote_lookup *lookup = arg;
    struct sr_cache_candidate found[FOUND];
    struct sr_milvus_status status;
    struct sr_arena arena;
    size_t n = 0, max = lookup->k ? (lookup->k < FOUND ? lookup->k : FOUND) : FOUND;
    char why[160];
    int rc;
    sr_arena_init(&arena, ARENA);
    rc = lookup->k ? sr_milvus_search_read(&status, found, max, &n, &arena, answer)
                   : sr_milvus_query_read(&status, found, max, &n, &arena, answer);
    n = found_check(milvus, lookup, found, n);
    sort(found, n);
    for (; !lookup->k && n > 1; n--)
        sr_cache_record_unref(found[n - 1].record);
    if (sr_milvus_accepts(milvus, rc, &status, why))
        sr_remote_found(lookup, SR_OK, found, n);
    else
        sr_remote_found(lookup, SR_EIO, found, n);
    sr_arena_dispose(&arena);
    sr_remote_lookup_drop(lookup);
}

static void failed(struct sr_milvus *milvus, void *arg, int rc)
{
    struct sr_remote_lookup *lookup = arg;
    (void)milvus;
    sr_remote_found(lookup, rc, NULL, 0);
    sr_remote_lookup_drop(lookup);
}

void sr_milvus_lookup(struct sr_remote *remote, struct sr_remote_lookup *lookup)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    uint64_t left = (lookup->deadline_ns - sr_clock_ns()) / SR_NS_PER_MS + 1;
    struct sr_bytes request;
    struct sr_arena arena;
    if (lookup->k && lookup->dimensions != milvus->place.dimensions) {
        sr_remote_found(lookup, SR_EMISMATCH, NULL, 0);
        return;
    }
    sr_arena_init(&arena, REQUEST);
    request = lookup->k ? sr_milvus_search(&arena, &milvus->place, &lookup->key, lookup->unit,
                                           lookup->k < FOUND ? lookup->k : FOUND, now, milvus->written)
                        : sr_milvus_query(&arena, &milvus->place, &lookup->key, now, milvus->written);
    sr_remote_lookup_hold(lookup);
    if (!sr_milvus_call(milvus, lookup->k ? "Search" : "Query", request,
                        left < remote->limits.command_ms ? (uint32_t)left : remote->limits.command_ms, true,
                        answered, failed, lookup)) {
        sr_remote_found(lookup, SR_ENOMEM, NULL, 0);
        sr_remote_lookup_drop(lookup);
    }
    sr_arena_dispose(&arena);
}

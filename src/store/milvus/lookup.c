/*
 * Lookups: Query by key, Search by vector, and then the parts of the large records among what was found.
 * Whatever the server found is checked against what was asked for.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/milvus/private.h"

#define ARENA     ((size_t)64 << 20)
#define FOUND     64
#define KEY_LIMIT 8 /* rows of one key */
#define REQUEST   ((size_t)1 << 20)

/* What was found so far: records, and heads of records whose parts are asked for. */
struct find {
    struct sr_remote_lookup *lookup;
    struct sr_cache_candidate found[FOUND]; /* [n] */
    struct sr_milvus_head heads[FOUND];     /* [n_heads] */
    float similarity[FOUND];                /* of each head */
    size_t n, n_heads, parts;
};

/* ---- the end ---- */

/* Keeps those that belong to the question, and were not removed. */
static void found_check(struct sr_milvus *milvus, struct find *find)
{
    const struct sr_remote_lookup *lookup = find->lookup;
    size_t kept = 0;
    for (size_t i = 0; i < find->n; i++) {
        const struct sr_cache_fields *f = &find->found[i].record->f;
        size_t size = sizeof lookup->key;
        bool ours = lookup->k ? memcmp(&f->partition, &lookup->key, size) == 0 && f->vector.n
                              : memcmp(&f->exact, &lookup->key, size) == 0 ||
                                    memcmp(&f->request, &lookup->key, size) == 0;
        if (ours && !sr_remote_is_removed(&milvus->remote, f))
            find->found[kept++] = find->found[i];
        else
            sr_cache_record_unref(find->found[i].record);
    }
    find->n = kept;
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

static void find_end(struct sr_milvus *milvus, struct find *find, int rc)
{
    struct sr_remote_lookup *lookup = find->lookup;
    found_check(milvus, find);
    sort(find->found, find->n);
    for (; !lookup->k && find->n > 1; find->n--)
        sr_cache_record_unref(find->found[find->n - 1].record);
    sr_remote_found(lookup, find->n ? SR_OK : rc, find->found, find->n);
    sr_remote_lookup_drop(lookup);
    sr_mem_free(find);
}

static void find_failed(struct sr_milvus *milvus, void *arg, int rc)
{
    find_end(milvus, arg, rc);
}

/* False: out of memory. The answer of a session knows its writes, and every answer the removals. */
static bool find_call(struct find *find, struct sr_milvus *milvus, const char *method,
                      struct sr_bytes request, sr_milvus_done *done)
{
    uint64_t now = sr_clock_ns(), deadline = find->lookup->deadline_ns,
             left = deadline > now ? (deadline - now) / SR_NS_PER_MS + 1 : 1;
    uint32_t most = milvus->remote.limits.command_ms;
    return sr_milvus_call(milvus, method, request, left < most ? (uint32_t)left : most, true, done,
                          find_failed, find);
}

static uint64_t as_of(const struct sr_milvus *milvus)
{
    bool session = milvus->place.consistency == SR_MILVUS_SESSION;
    return session && milvus->written > milvus->purged ? milvus->written : milvus->purged;
}

/* ---- parts ---- */

static void parts_answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct find *find = arg;
    struct sr_milvus_status status;
    struct sr_milvus_hit *hits;
    struct sr_milvus_part *parts;
    struct sr_arena arena;
    size_t n = 0, count = 0;
    char why[160];
    int rc;
    sr_arena_init(&arena, ARENA);
    hits = sr_arena_calloc(&arena, find->parts, sizeof *hits);
    parts = sr_arena_calloc(&arena, find->parts, sizeof *parts);
    rc = hits && parts ? sr_milvus_query_read(&status, hits, find->parts, &n, &arena, answer) : SR_ENOMEM;
    if (rc == SR_ENOMEM || !sr_milvus_accepts(milvus, rc, &status, why))
        n = 0;
    for (size_t i = 0; i < n; i++)
        count += sr_milvus_part_read(&parts[count], hits[i].body);
    for (size_t i = 0; i < find->n_heads && count; i++) {
        struct sr_cache_candidate *c = &find->found[find->n];
        c->similarity = find->similarity[i];
        find->n += sr_milvus_join(&c->record, &find->heads[i], parts, count, &arena) == SR_OK;
    }
    sr_arena_dispose(&arena);
    find_end(milvus, find, rc == SR_OK ? SR_OK : SR_EIO);
}

static void parts_ask(struct sr_milvus *milvus, struct find *find)
{
    struct sr_bytes request;
    struct sr_arena arena;
    char *filter;
    sr_arena_init(&arena, REQUEST);
    filter = sr_milvus_filter_parts(find->heads, find->n_heads, &arena);
    request = sr_milvus_query(&arena, &milvus->place, filter, find->parts, as_of(milvus));
    if (!find_call(find, milvus, "Query", request, parts_answered))
        find_end(milvus, find, SR_ENOMEM);
    sr_arena_dispose(&arena);
}

/* ---- rows ---- */

/* Records, and heads as far as their records fit an answer together. */
static void hits_take(struct find *find, const struct sr_milvus_hit *hits, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        struct sr_cache_candidate *c = &find->found[find->n];
        struct sr_milvus_head *head = &find->heads[find->n_heads];
        if (!sr_milvus_head_read(head, hits[i].body)) {
            c->similarity = hits[i].similarity;
            find->n += sr_milvus_record_read(&c->record, hits[i].body) == SR_OK;
        } else if (head->size <= SR_MILVUS_RECORD_MAX - bytes) {
            bytes += head->size;
            find->parts += sr_milvus_parts(head->size);
            find->similarity[find->n_heads++] = hits[i].similarity;
        }
    }
}

static void answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct find *find = arg;
    size_t n = 0, k = find->lookup->k, max = k && k < FOUND ? k : FOUND;
    struct sr_milvus_hit hits[FOUND];
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    int rc;
    sr_arena_init(&arena, ARENA);
    rc = k ? sr_milvus_search_read(&status, hits, max, &n, &arena, answer)
           : sr_milvus_query_read(&status, hits, max, &n, &arena, answer);
    if (!sr_milvus_accepts(milvus, rc, &status, why)) {
        find_end(milvus, find, SR_EIO);
    } else {
        hits_take(find, hits, n);
        if (find->parts && milvus->remote.ready)
            parts_ask(milvus, find);
        else
            find_end(milvus, find, SR_OK);
    }
    sr_arena_dispose(&arena);
}

void sr_milvus_lookup(struct sr_remote *remote, struct sr_remote_lookup *lookup)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    const struct sr_milvus_place *place = &milvus->place;
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    size_t k = lookup->k < FOUND ? lookup->k : FOUND;
    struct find *find;
    struct sr_bytes request;
    struct sr_arena arena;
    if (lookup->k && lookup->dimensions != place->dimensions) {
        sr_remote_found(lookup, SR_EMISMATCH, NULL, 0);
        return;
    }
    find = sr_mem_calloc(1, sizeof *find);
    if (!find) {
        sr_remote_found(lookup, SR_ENOMEM, NULL, 0);
        return;
    }
    find->lookup = lookup;
    sr_arena_init(&arena, REQUEST);
    if (k)
        request = sr_milvus_search(&arena, place, sr_milvus_filter_partition(&lookup->key, now, &arena),
                                   lookup->unit, k, as_of(milvus));
    else
        request = sr_milvus_query(&arena, place, sr_milvus_filter_key(&lookup->key, now, &arena), KEY_LIMIT,
                                  as_of(milvus));
    sr_remote_lookup_hold(lookup);
    if (!find_call(find, milvus, k ? "Search" : "Query", request, answered))
        find_end(milvus, find, SR_ENOMEM);
    sr_arena_dispose(&arena);
}

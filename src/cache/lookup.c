/*
 * Lookups: memory, then the backend, then the flight of identical requests.
 *
 * A lookup is a task of which this file is the producer. Several threads may want to end it: the backend with
 * what it found, a leader that lands, the consumer that cancels or whose deadline passes. The waiter's claim
 * decides: the thread that claims it writes the result and completes the task; the others drop what they
 * have.
 *
 *     memory --hit--> ended
 *       | miss                      (the caller's thread)
 *     backend get, then search      (the backend's thread from the first accepted call on)
 *       | miss
 *     flight: leads -> a miss with a flight; waits -> ended by sr_cache_land
 */
#include "cache/private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cache/gate/gate.h"

#include <stddef.h>

enum stage { STAGE_GET, STAGE_SEARCH, STAGE_JOIN };

struct lookup {
    struct sr_cache_lookup result; /* first: what the consumer sees */
    struct sr_cache *cache;
    void *ctx;
    struct sr_cache_query query; /* with its own question and vector */
    enum stage stage;
    uint64_t removals; /* of the cache when the backend was asked */
    struct sr_waiter waiter;
    atomic_uint rejected; /* as in the result */
    float unit[];         /* [query.dimensions], then the question */
};

static struct lookup *lookup_of(const struct sr_task *task)
{
    return (struct lookup *)((const char *)task - offsetof(struct sr_cache_lookup, task));
}

static struct lookup *lookup_of_waiter(struct sr_waiter *waiter)
{
    return (struct lookup *)((char *)waiter - offsetof(struct lookup, waiter));
}

static const struct sr_cache_key *flight_key(const struct sr_cache_query *query)
{
    return sr_cache_key_is_set(&query->exact) ? &query->exact : &query->request;
}

/* ---- results ---- */

/* Tells the backend of a hit, for its own eviction. */
static void tell_use(struct sr_cache *cache, const struct sr_cache_record *record)
{
    struct sr_cache_backend *backend = sr_backing_use(&cache->backing);
    if (backend && backend->ops->used)
        backend->ops->used(backend, &record->f.exact);
    sr_backing_leave(&cache->backing, backend);
}

/* With the claim: writes a hit (takes over the reference) or, with NULL, a miss, and counts it. */
static void settle(struct lookup *lookup, enum sr_cache_hit hit, struct sr_cache_record *record,
                   float similarity)
{
    struct sr_cache *cache = lookup->cache;
    lookup->result.hit = hit;
    lookup->result.record = record;
    lookup->result.similarity = similarity;
    lookup->result.rejected = atomic_load(&lookup->rejected);
    if (lookup->query.peeks)
        return;
    atomic_fetch_add(hit == SR_CACHE_HIT_EXACT      ? &cache->exact_hits
                     : hit == SR_CACHE_HIT_SEMANTIC ? &cache->semantic_hits
                                                    : &cache->misses,
                     1);
    if (record)
        tell_use(cache, record);
}

static bool same_key(const struct sr_cache_key *a, const struct sr_cache_key *b)
{
    return sr_cache_key_is_set(a) && memcmp(a->bytes, b->bytes, SR_CACHE_KEY) == 0;
}

/* The last check of every record, wherever it comes from: of the partition that was asked for, and valid now.
 */
static bool may_have(const struct sr_cache_query *query, const struct sr_cache_record *record)
{
    const struct sr_cache_fields *f = &record->f;
    int64_t now = sr_cache_now().wall, created = f->created_ms > 0 ? f->created_ms : 0;
    return (!sr_cache_key_is_set(&query->partition) || same_key(&query->partition, &f->partition)) &&
           (!f->expires_ms || now < f->expires_ms) &&
           (!query->max_age_ms || now - created <= query->max_age_ms);
}

static bool asks_semantic(const struct sr_cache_query *query)
{
    return query->unit && query->dimensions && sr_cache_key_is_set(&query->partition);
}

/* True when a near record answers the question too; counts the reason when it does not. */
static bool passes_gate(struct lookup *lookup, const struct sr_cache_record *record)
{
    enum sr_gate_reason reason = sr_gate_check(record->f.question, lookup->query.question);
    if (reason == SR_GATE_AGREES)
        return true;
    if (!lookup->query.peeks)
        atomic_fetch_add(&lookup->cache->rejected[reason], 1);
    atomic_fetch_or(&lookup->rejected, 1u << reason);
    return false;
}

_Static_assert(SR_GATE_REASONS <= SR_CACHE_REASONS, "a count and a bit for each reason");

/* ---- memory ---- */

/* A reference of the record in memory that is filed under one of the query's keys. */
static struct sr_cache_record *find_exact(struct lookup *lookup)
{
    const struct sr_cache_query *query = &lookup->query;
    struct sr_memory *memory = &lookup->cache->memory;
    struct sr_cache_record *record = NULL;
    if (sr_cache_key_is_set(&query->request))
        record = sr_memory_get(memory, SR_MEMORY_REQUEST, &query->request, query->max_age_ms);
    if (record && !may_have(query, record)) {
        sr_cache_record_unref(record);
        record = NULL;
    }
    if (!record && sr_cache_key_is_set(&query->exact))
        record = sr_memory_get(memory, SR_MEMORY_EXACT, &query->exact, query->max_age_ms);
    if (record && !may_have(query, record)) {
        sr_cache_record_unref(record);
        record = NULL;
    }
    return record;
}

/* The nearest record in memory that the gate lets through. */
static struct sr_cache_record *find_similar(struct lookup *lookup, float *similarity)
{
    const struct sr_cache_query *query = &lookup->query;
    struct sr_memory *memory = &lookup->cache->memory;
    struct sr_cache_candidate candidates[SR_MEMORY_CANDIDATES];
    struct sr_cache_record *record = NULL;
    if (!asks_semantic(query))
        return NULL;
    size_t n = sr_memory_search(memory, &query->partition, query->unit, query->dimensions, query->threshold,
                                query->max_age_ms, candidates);
    for (size_t i = 0; i < n; i++) {
        struct sr_cache_record *candidate = candidates[i].record;
        if (!record && may_have(query, candidate) && passes_gate(lookup, candidate) &&
            sr_memory_use(memory, candidate)) {
            record = candidate;
            *similarity = candidates[i].similarity;
        } else {
            sr_cache_record_unref(candidate);
        }
    }
    return record;
}

/* ---- the flight ---- */

/* SR_OK: the lookup is claimed and settled; SR_AGAIN: it waits; SR_ECANCELED: another thread has claimed it.
 * After the last two it may be gone. */
static int join(struct lookup *lookup)
{
    struct sr_cache *cache = lookup->cache;
    const struct sr_cache_query *query = &lookup->query;
    enum sr_flights_place place = SR_FLIGHTS_ALONE;
    struct sr_cache_flight *lead = NULL;
    struct sr_cache_record *record = NULL;
    if (query->join && sr_cache_key_is_set(flight_key(query)))
        place = sr_flights_join(&cache->flights, flight_key(query), &lookup->waiter, query->wait_deadline_ns,
                                &lead);
    else if (!sr_flights_claim(&cache->flights, &lookup->waiter))
        place = SR_FLIGHTS_CLAIMED;
    if (place == SR_FLIGHTS_WAITS)
        return SR_AGAIN;
    if (place == SR_FLIGHTS_CLAIMED)
        return SR_ECANCELED;
    if (lead)
        record = find_exact(lookup); /* the leader before may have landed since memory was asked */
    if (record)
        sr_cache_land(cache, lead, record);
    else
        lookup->result.flight = lead;
    settle(lookup, record ? SR_CACHE_HIT_EXACT : SR_CACHE_MISS, record, record ? 1 : 0);
    return SR_OK;
}

/* A waiter that was popped gets what its leader has put. */
static void give(struct lookup *lookup, struct sr_cache_record *record)
{
    const struct sr_cache_query *query = &lookup->query;
    const struct sr_cache_fields *f = &record->f;
    bool fits = may_have(query, record) &&
                (same_key(&query->exact, &f->exact) ||
                 (!sr_cache_key_is_set(&query->exact) && same_key(&query->request, &f->request)));
    if (fits)
        atomic_fetch_add(&lookup->cache->joined, 1);
    settle(lookup, fits ? SR_CACHE_HIT_EXACT : SR_CACHE_MISS, fits ? sr_cache_record_ref(record) : NULL,
           fits);
    sr_task_complete(&lookup->result.task, SR_OK);
}

/* A waiter that was popped leads from now on. False: it has ended meanwhile. */
static bool hand_over(struct lookup *lookup, struct sr_cache_flight *flight)
{
    struct sr_task *task = sr_task_ref(&lookup->result.task);
    lookup->result.flight = flight;
    settle(lookup, SR_CACHE_MISS, NULL, 0);
    bool leads = sr_task_complete(task, SR_OK);
    if (!leads)
        lookup->result.flight = NULL;
    sr_task_unref(task);
    return leads;
}

void sr_cache_land(struct sr_cache *cache, struct sr_cache_flight *flight, struct sr_cache_record *record)
{
    struct sr_waiter *waiter;
    if (record)
        sr_flights_close(&cache->flights, flight);
    while ((waiter = sr_flights_pop(&cache->flights, flight)))
        if (record)
            give(lookup_of_waiter(waiter), record);
        else if (hand_over(lookup_of_waiter(waiter), flight))
            return;
}

/* ---- the backend ---- */

static void found(void *ctx, int status, struct sr_cache_candidate *candidates, size_t n);

/* True: the backend has taken the question of this stage, and `found` goes on with the lookup. */
static bool ask_backend(struct lookup *lookup)
{
    struct sr_cache *cache = lookup->cache;
    const struct sr_cache_query *query = &lookup->query;
    bool search = lookup->stage++ == STAGE_SEARCH, asked = false;
    const struct sr_cache_key *key = flight_key(query);
    if (query->store_deadline_ns <= sr_clock_ns() ||
        (search ? !asks_semantic(query) : !sr_cache_key_is_set(key)))
        return false;
    struct sr_cache_backend *backend = sr_backing_use(&cache->backing);
    const struct sr_cache_backend_ops *ops = backend ? backend->ops : NULL;
    struct sr_task *task = sr_task_ref(&lookup->result.task); /* of the backend's call */
    lookup->removals = atomic_load(&cache->removals);
    if (ops && search && ops->search)
        asked = ops->search(backend, &query->partition, query->unit, query->dimensions, SR_MEMORY_CANDIDATES,
                            query->store_deadline_ns, found, lookup) == SR_OK;
    else if (ops && !search && ops->get)
        asked = ops->get(backend, key, query->store_deadline_ns, found, lookup) == SR_OK;
    sr_backing_leave(&cache->backing, backend);
    if (!asked)
        sr_task_unref(task);
    return asked;
}

/* Goes on from the lookup's stage; as join. */
static int advance(struct lookup *lookup)
{
    while (lookup->stage < STAGE_JOIN)
        if (ask_backend(lookup))
            return SR_AGAIN;
    return join(lookup);
}

/* Keeps what a backend has found; false: it was removed while it was looked for. */
static bool keep(struct lookup *lookup, struct sr_cache_record *record)
{
    struct sr_cache *cache = lookup->cache;
    struct sr_cache_selector selector = {.exact = record->f.exact};
    if (atomic_load(&cache->removals) != lookup->removals)
        return false;
    int rc = sr_memory_put(&cache->memory, record, true);
    if (atomic_load(&cache->removals) == lookup->removals)
        return true;
    if (!rc)
        sr_memory_remove(&cache->memory, &selector, false);
    return false;
}

/* Whether a backend's candidate is a hit, and which. */
static enum sr_cache_hit assess(struct lookup *lookup, const struct sr_cache_candidate *candidate)
{
    const struct sr_cache_query *query = &lookup->query;
    const struct sr_cache_fields *f = &candidate->record->f;
    if (same_key(&query->exact, &f->exact) || same_key(&query->request, &f->request))
        return SR_CACHE_HIT_EXACT;
    if (asks_semantic(query) && candidate->similarity >= query->threshold &&
        passes_gate(lookup, candidate->record))
        return SR_CACHE_HIT_SEMANTIC;
    return SR_CACHE_MISS;
}

/* The first candidate that may be used; gives up the references of the others. */
static enum sr_cache_hit choose(struct lookup *lookup, struct sr_cache_candidate *candidates, size_t n,
                                struct sr_cache_candidate *chosen)
{
    enum sr_cache_hit hit = SR_CACHE_MISS;
    for (size_t i = 0; i < n; i++) {
        struct sr_cache_record *record = candidates[i].record;
        if (!hit && may_have(&lookup->query, record) && keep(lookup, record))
            hit = assess(lookup, &candidates[i]);
        if (hit && !chosen->record)
            *chosen = candidates[i];
        else
            sr_cache_record_unref(record);
    }
    return hit;
}

/* On the backend's thread. */
static void found(void *ctx, int status, struct sr_cache_candidate *candidates, size_t n)
{
    struct lookup *lookup = ctx;
    struct sr_task *task = &lookup->result.task;
    struct sr_cache_candidate chosen = {0};
    enum sr_cache_hit hit = choose(lookup, candidates, status == SR_OK ? n : 0, &chosen);
    if (!hit) {
        if (sr_task_state(task) == SR_TASK_PENDING && advance(lookup) == SR_OK)
            sr_task_complete(task, SR_OK);
    } else if (sr_flights_claim(&lookup->cache->flights, &lookup->waiter)) {
        settle(lookup, hit, chosen.record, hit == SR_CACHE_HIT_EXACT ? 1 : chosen.similarity);
        sr_task_complete(task, SR_OK);
    } else {
        sr_cache_record_unref(chosen.record);
    }
    sr_task_unref(task); /* of the call */
}

/* ---- the task ---- */

void sr_lookup_overdue(struct sr_waiter *waiter)
{
    struct lookup *lookup = lookup_of_waiter(waiter);
    settle(lookup, SR_CACHE_MISS, NULL, 0);
    sr_task_complete(&lookup->result.task, SR_OK);
}

static void on_stop(struct sr_task *task)
{
    struct lookup *lookup = lookup_of(task);
    if (sr_flights_claim(&lookup->cache->flights, &lookup->waiter))
        sr_task_complete(task, SR_ECANCELED);
}

static void on_expire(struct sr_task *task)
{
    struct lookup *lookup = lookup_of(task);
    if (sr_flights_claim(&lookup->cache->flights, &lookup->waiter))
        sr_lookup_overdue(&lookup->waiter);
}

static void on_free(struct sr_task *task)
{
    struct lookup *lookup = lookup_of(task);
    if (lookup->result.flight)
        sr_cache_land(lookup->cache, lookup->result.flight, NULL);
    sr_cache_record_unref(lookup->result.record);
    sr_mem_free(lookup);
}

static struct lookup *lookup_new(struct sr_cache *cache, const struct sr_cache_query *query)
{
    size_t dimensions = query->unit ? query->dimensions : 0, n = query->question.n;
    struct lookup *lookup = sr_mem_alloc(sizeof *lookup + dimensions * sizeof(float) + n);
    if (!lookup)
        return NULL;
    *lookup = (struct lookup){.cache = cache, .query = *query};
    char *question = (char *)(lookup->unit + dimensions);
    if (dimensions)
        memcpy(lookup->unit, query->unit, dimensions * sizeof(float));
    if (n)
        memcpy(question, query->question.p, n);
    lookup->query.unit = dimensions ? lookup->unit : NULL;
    lookup->query.question = sr_bytes_of(question, n);
    return lookup;
}

int sr_cache_lookup(struct sr_cache *cache, const struct sr_cache_query *query, struct sr_mailbox *mailbox,
                    void (*done)(struct sr_task *task, int status), void *ctx, struct sr_cache_lookup **out)
{
    static const struct sr_task_work work = {.stop = on_stop, .expire = on_expire};
    struct lookup *lookup = lookup_new(cache, query);
    float similarity = 1;
    *out = lookup ? &lookup->result : NULL;
    if (!lookup)
        return SR_ENOMEM;
    struct sr_task *task = &lookup->result.task;
    sr_task_init(task, done, on_free, mailbox);
    lookup->ctx = ctx;
    struct sr_cache_record *record = find_exact(lookup);
    enum sr_cache_hit hit = record ? SR_CACHE_HIT_EXACT : SR_CACHE_HIT_SEMANTIC;
    if (!record)
        record = find_similar(lookup, &similarity);
    if (record) {
        settle(lookup, hit, record, similarity);
        return SR_OK;
    }
    sr_task_ref(task); /* the producer's */
    sr_task_begin(task, &work);
    int rc = advance(lookup);
    if (rc == SR_OK)
        sr_task_unref(task);
    return rc == SR_OK ? SR_OK : SR_AGAIN;
}

void *sr_cache_lookup_ctx(const struct sr_task *task)
{
    return lookup_of(task)->ctx;
}

struct sr_cache_record *sr_cache_get(struct sr_cache *cache, const struct sr_cache_key *request,
                                     int64_t max_age_ms)
{
    struct sr_cache_record *record = sr_memory_get(&cache->memory, SR_MEMORY_REQUEST, request, max_age_ms);
    if (!record)
        return NULL;
    atomic_fetch_add(&cache->exact_hits, 1);
    tell_use(cache, record);
    return record;
}

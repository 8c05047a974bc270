/* Lookups that go beyond memory: a backend that the test plays, flights of identical requests, deadlines. */
#define CACHE_KIT_CLOCK
#include "tests/unit/cache_kit.h"

#include "cache/gate/gate.h"
#include "tests/unit/mail_kit.h"

#include <pthread.h>

/* ---- a backend whose answers the test gives ---- */

struct played {
    struct sr_cache_backend backend;
    sr_cache_found *found;
    void *ctx;
    size_t gets, searches, used;
    atomic_size_t puts, removes;
    bool busy, closed;
};

static struct played played;

static void play_close(struct sr_cache_backend *backend)
{
    (void)backend;
    played.closed = true;
    if (played.found)
        played.found(played.ctx, SR_ECLOSED, NULL, 0);
    played.found = NULL;
}

static int play_put(struct sr_cache_backend *backend, struct sr_cache_record *record)
{
    (void)backend, (void)record;
    played.puts++;
    return SR_OK;
}

static int play_remove(struct sr_cache_backend *backend, const struct sr_cache_selector *selector)
{
    (void)backend, (void)selector;
    played.removes++;
    return SR_OK;
}

static int ask(sr_cache_found *found, void *ctx, size_t *count)
{
    if (played.busy)
        return SR_EBUSY;
    assert_null(played.found);
    played.found = found;
    played.ctx = ctx;
    (*count)++;
    return SR_OK;
}

static int play_get(struct sr_cache_backend *backend, const struct sr_cache_key *key, uint64_t deadline_ns,
                    sr_cache_found *found, void *ctx)
{
    (void)backend, (void)key, (void)deadline_ns;
    return ask(found, ctx, &played.gets);
}

static int play_search(struct sr_cache_backend *backend, const struct sr_cache_key *partition,
                       const float *unit, size_t dimensions, size_t k, uint64_t deadline_ns,
                       sr_cache_found *found, void *ctx)
{
    (void)backend, (void)partition, (void)unit, (void)dimensions, (void)k, (void)deadline_ns;
    return ask(found, ctx, &played.searches);
}

static void play_used(struct sr_cache_backend *backend, const struct sr_cache_key *exact)
{
    (void)backend, (void)exact;
    played.used++;
}

static void play_health(struct sr_cache_backend *backend, struct sr_cache_backend_health *out)
{
    (void)backend;
    *out = (struct sr_cache_backend_health){.state = SR_CACHE_BACKEND_READY, .written = played.puts};
}

static const struct sr_cache_backend_ops play_ops = {
    .name = "played",
    .close = play_close,
    .put = play_put,
    .remove = play_remove,
    .get = play_get,
    .search = play_search,
    .used = play_used,
    .health = play_health,
};

static struct sr_cache *play(void)
{
    struct sr_cache *cache = kit_cache(100);
    played = (struct played){.backend.ops = &play_ops};
    sr_cache_set_backend(cache, &played.backend);
    return cache;
}

/* What the thread of a backend calls: a thread of its own each time. */
struct reply {
    int status;
    struct sr_cache_candidate candidates[4];
    size_t n;
};

static void *give_reply(void *arg)
{
    struct reply *reply = arg;
    sr_cache_found *found = played.found;
    played.found = NULL;
    found(played.ctx, reply->status, reply->candidates, reply->n);
    return NULL;
}

static void answer(struct reply reply)
{
    pthread_t thread;
    assert_non_null(played.found);
    assert_int_equal(pthread_create(&thread, NULL, give_reply, &reply), 0);
    pthread_join(thread, NULL);
}

static struct reply one(struct kit_record r, float similarity)
{
    return (struct reply){.candidates = {{kit_record(r), similarity}}, .n = 1};
}

/* ---- lookups with a mailbox ---- */

struct ended {
    int calls, status;
};

static void on_done(struct sr_task *task, int status)
{
    struct ended *ended = sr_cache_lookup_ctx(task);
    ended->calls++;
    ended->status = status;
}

static struct sr_cache_query asking(uint32_t partition, uint32_t question, const float *unit)
{
    struct sr_cache_query query = kit_query(partition, question, unit);
    query.store_deadline_ns = query.wait_deadline_ns = sr_clock_ns() + 3600 * SR_NS_PER_S;
    return query;
}

static struct sr_cache_lookup *begin(struct sr_cache *cache, const struct sr_cache_query *query,
                                     struct mail *mail, struct ended *ended)
{
    struct sr_cache_lookup *lookup;
    *ended = (struct ended){0};
    assert_int_equal(sr_cache_lookup(cache, query, mail->box, on_done, ended, &lookup), SR_AGAIN);
    return lookup;
}

static void await_end(struct mail *mail, struct ended *ended, int status)
{
    while (!ended->calls)
        mail_run(mail, true);
    assert_int_equal(ended->calls, 1);
    assert_int_equal(ended->status, status);
}

static void what_a_backend_has_is_a_hit_and_kept(void **state)
{
    struct sr_cache *cache = play();
    struct mail mail;
    struct ended ended;
    struct sr_cache_query query = asking(1, 10, NULL);
    (void)state;
    mail_open(&mail);
    struct sr_cache_lookup *lookup = begin(cache, &query, &mail, &ended);
    answer(one((struct kit_record){.partition = 1, .question = 10}, 1));
    await_end(&mail, &ended, SR_OK);
    assert_int_equal(lookup->hit, SR_CACHE_HIT_EXACT);
    assert_true(kit_is(lookup->record, 1, 10));
    assert_null(lookup->flight);
    sr_task_unref(&lookup->task);
    assert_true(kit_has(cache, 1, 10)); /* without the backend */
    assert_int_equal(played.gets, 1);
    assert_int_equal(played.puts, 0);
    assert_int_equal(played.used, 2);
    assert_string_equal(kit_stats(cache).backend_name, "played");
    mail_close(&mail);
    sr_cache_free(cache);
    assert_true(played.closed);
}

static void a_search_follows_and_its_candidates_pass_the_gate(void **state)
{
    struct sr_cache *cache = play();
    struct mail mail;
    struct ended ended;
    float unit[KIT_DIMENSIONS];
    (void)state;
    mail_open(&mail);
    kit_unit(11, unit);
    struct sr_cache_query query = asking(1, 11, unit);
    struct sr_cache_lookup *lookup = begin(cache, &query, &mail, &ended);
    answer((struct reply){0}); /* to the exact key */
    struct reply reply = {.n = 4};
    reply.candidates[0] = (struct sr_cache_candidate){kit_record((struct kit_record){2, 11}), 1};
    reply.candidates[1] = (struct sr_cache_candidate){kit_record((struct kit_record){1, 19}), 0.99f};
    reply.candidates[2] = (struct sr_cache_candidate){kit_record((struct kit_record){1, 13}), 0.95f};
    reply.candidates[3] = (struct sr_cache_candidate){kit_record((struct kit_record){1, 14}), 0.94f};
    answer(reply);
    await_end(&mail, &ended, SR_OK);
    assert_int_equal(lookup->hit, SR_CACHE_HIT_SEMANTIC);
    assert_true(kit_is(lookup->record, 1, 13));
    assert_true(lookup->similarity > 0.949f && lookup->similarity < 0.951f);
    assert_int_equal(lookup->rejected, 1u << SR_GATE_NEGATION);
    sr_task_unref(&lookup->task);
    assert_false(kit_has(cache, 2, 11)); /* of another partition: not even kept */
    assert_true(kit_has(cache, 1, 13));
    mail_close(&mail);
    sr_cache_free(cache);
}

static void a_backend_is_not_believed(void **state)
{
    struct sr_cache *cache = play();
    struct mail mail;
    struct ended ended;
    float unit[KIT_DIMENSIONS];
    int64_t now = kit_now_ms();
    const struct {
        struct kit_record record;
        float similarity;
    } wrong[] = {
        {{.partition = 2, .question = 10}, 1},                        /* of another partition */
        {{.partition = 1, .question = 12, .expires_ms = now - 1}, 1}, /* expired */
        {{.partition = 1, .question = 12}, 0.89f},                    /* below the threshold */
        {{.partition = 1, .question = 19}, 1},                        /* the opposite */
        {{.partition = 1, .question = 10, .created_ms = now - 7200000}, 1},
    };
    (void)state;
    mail_open(&mail);
    kit_unit(10, unit);
    struct sr_cache_query query = asking(1, 10, unit);
    query.max_age_ms = 3600000;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sr_cache_selector all = {0};
        struct sr_cache_lookup *lookup = begin(cache, &query, &mail, &ended);
        answer(one(wrong[i].record, wrong[i].similarity));
        answer(one(wrong[i].record, wrong[i].similarity));
        await_end(&mail, &ended, SR_OK);
        assert_int_equal(lookup->hit, SR_CACHE_MISS);
        assert_null(lookup->record);
        sr_task_unref(&lookup->task);
        sr_cache_remove(cache, &all, false);
    }
    mail_close(&mail);
    sr_cache_free(cache);
}

static void a_backend_that_is_away_is_a_miss(void **state)
{
    struct sr_cache *cache = play();
    struct mail mail;
    struct ended ended;
    struct sr_cache_query query = asking(1, 10, NULL);
    (void)state;
    mail_open(&mail);
    struct sr_cache_lookup *lookup = begin(cache, &query, &mail, &ended);
    answer((struct reply){.status = SR_ETIMEOUT});
    await_end(&mail, &ended, SR_OK);
    assert_int_equal(lookup->hit, SR_CACHE_MISS);
    sr_task_unref(&lookup->task);
    played.busy = true;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS); /* at once */
    played.busy = false;
    query.store_deadline_ns = 0;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS); /* it is not asked */
    assert_int_equal(played.gets, 1);
    mail_close(&mail);
    sr_cache_free(cache);
}

static void an_end_does_not_wait_for_the_backend(void **state)
{
    struct sr_cache *cache = play();
    struct mail mail;
    struct ended ended;
    struct sr_cache_query query = asking(1, 10, NULL);
    (void)state;
    mail_open(&mail);
    for (int cancels = 0; cancels < 2; cancels++) {
        struct sr_cache_lookup *lookup = begin(cache, &query, &mail, &ended);
        if (cancels)
            sr_task_cancel(&lookup->task);
        else
            sr_task_expire(&lookup->task);
        assert_int_equal(ended.calls, 1);
        assert_int_equal(ended.status, cancels ? SR_ECANCELED : SR_OK);
        assert_int_equal(lookup->hit, SR_CACHE_MISS);
        sr_task_unref(&lookup->task);
        answer(cancels ? one((struct kit_record){.partition = 1, .question = 10}, 1) : (struct reply){0});
        assert_int_equal(ended.calls, 1);
    }
    assert_true(kit_has(cache, 1, 10)); /* kept all the same */
    mail_close(&mail);
    sr_cache_free(cache);
}

static void what_is_removed_meanwhile_does_not_come_back(void **state)
{
    struct sr_cache *cache = play();
    struct mail mail;
    struct ended ended;
    struct sr_cache_query query = asking(1, 10, NULL);
    struct sr_cache_selector selector = {.tenant = kit_key(KIT_TENANT, 4)};
    (void)state;
    mail_open(&mail);
    struct sr_cache_lookup *lookup = begin(cache, &query, &mail, &ended);
    assert_int_equal(sr_cache_remove(cache, &selector, false), 0);
    assert_int_equal(played.removes, 1);
    answer(one((struct kit_record){.partition = 1, .question = 10, .tenant = 4}, 1));
    await_end(&mail, &ended, SR_OK);
    assert_int_equal(lookup->hit, SR_CACHE_MISS);
    sr_task_unref(&lookup->task);
    assert_int_equal(kit_stats(cache).entries, 0);
    mail_close(&mail);
    sr_cache_free(cache);
}

static void events_of_a_backend_change_memory(void **state)
{
    struct sr_cache *cache = play();
    const struct sr_cache_backend_events *events = sr_cache_events();
    int64_t now = kit_now_ms();
    (void)state;
    struct sr_cache_record *old = kit_record((struct kit_record){1, 10, .created_ms = now - 1000});
    kit_put(cache, (struct kit_record){1, 10, .answer = 200});
    events->loaded(cache, old); /* the one that is there is newer */
    struct sr_cache_query query = kit_query(1, 10, NULL);
    struct sr_cache_lookup *lookup = kit_lookup(cache, &query);
    assert_int_equal(lookup->record->f.answer.n, 200);
    sr_task_unref(&lookup->task);
    struct sr_cache_record *other = kit_record((struct kit_record){2, 20, .tenant = 3});
    events->loaded(cache, other);
    assert_true(kit_has(cache, 2, 20));
    events->removed(cache, &(struct sr_cache_selector){.tenant = kit_key(KIT_TENANT, 3)});
    assert_false(kit_has(cache, 2, 20));
    assert_int_equal(played.puts, 1); /* nothing went back */
    assert_int_equal(played.removes, 0);
    sr_cache_record_unref(old);
    sr_cache_record_unref(other);
    sr_cache_free(cache);
}

/* What another process has removed from a large memory goes in steps, on the cache's thread: what is put
 * after the event stays, and lookups go on. */
static void a_removal_of_others_goes_in_steps(void **state)
{
    struct sr_cache *cache = kit_cache(20000);
    const struct sr_cache_backend_events *events = sr_cache_events();
    char model[] = "model";
    (void)state;
    for (uint32_t i = 0; i < 5000; i++)
        kit_put(cache,
                (struct kit_record){
                    .partition = i % 7, .question = i, .tenant = 1 + i % 2, .model = model, .flat = true});
    for (uint32_t tenant = 1; tenant <= 2; tenant++) {
        struct sr_cache_selector which = {.tenant = kit_key(KIT_TENANT, tenant),
                                          .model = sr_bytes_str(model)};
        events->removed(cache, &which);
    }
    memset(model, 'x', sizeof model - 1); /* it was borrowed */
    for (uint32_t i = 0; i < 100; i++)
        kit_put(cache, (struct kit_record){
                           .partition = 9, .question = i, .tenant = 1, .model = "model", .flat = true});
    uint64_t patience = sr_clock_ns() + 120 * SR_NS_PER_S;
    while (kit_stats(cache).entries != 100) {
        assert_true(sr_clock_ns() < patience);
        assert_true(kit_has(cache, 9, 99));
    }
    assert_int_equal(kit_stats(cache).removed, 5000);
    for (uint32_t i = 0; i < 600; i++) /* more than wait at once, and some when it ends */
        events->removed(cache, &(struct sr_cache_selector){.tenant = kit_key(KIT_TENANT, 5)});
    sr_cache_free(cache);
}

/* ---- flights ---- */

static struct sr_cache_flight *lead(struct sr_cache *cache, const struct sr_cache_query *query)
{
    struct sr_cache_lookup *lookup = kit_lookup(cache, query);
    struct sr_cache_flight *flight = lookup->flight;
    assert_int_equal(lookup->hit, SR_CACHE_MISS);
    assert_non_null(flight);
    lookup->flight = NULL;
    sr_task_unref(&lookup->task);
    return flight;
}

static struct sr_cache_query joining(uint32_t partition, uint32_t question)
{
    struct sr_cache_query query = kit_query(partition, question, NULL);
    query.wait_deadline_ns = sr_clock_ns() + 3600 * SR_NS_PER_S;
    query.join = true;
    return query;
}

static void those_that_wait_get_what_the_leader_put(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_query query = joining(1, 10), other = joining(1, 11);
    struct sr_cache_lookup *waits[3];
    struct ended ended[3];
    struct mail mail;
    (void)state;
    mail_open(&mail);
    struct sr_cache_flight *flight = lead(cache, &query);
    for (int i = 0; i < 3; i++)
        waits[i] = begin(cache, &query, &mail, &ended[i]);
    assert_int_equal(kit_stats(cache).waiting, 3);
    sr_cache_land(cache, lead(cache, &other), NULL); /* another key, another flight */
    struct sr_cache_record *record = kit_record((struct kit_record){.partition = 1, .question = 10});
    assert_int_equal(sr_cache_put(cache, record), SR_OK);
    sr_cache_land(cache, flight, record);
    for (int i = 0; i < 3; i++) {
        await_end(&mail, &ended[i], SR_OK);
        assert_int_equal(waits[i]->hit, SR_CACHE_HIT_EXACT);
        assert_ptr_equal(waits[i]->record, record);
        sr_task_unref(&waits[i]->task);
    }
    assert_int_equal(kit_stats(cache).joined, 3);
    assert_int_equal(kit_stats(cache).waiting, 0);
    sr_cache_record_unref(record);
    mail_close(&mail);
    sr_cache_free(cache);
}

static void a_leader_without_an_answer_hands_over(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_query query = joining(1, 10);
    struct sr_cache_lookup *waits[4];
    struct ended ended[4];
    struct mail mail;
    (void)state;
    mail_open(&mail);
    struct sr_cache_flight *flight = lead(cache, &query);
    for (int i = 0; i < 4; i++)
        waits[i] = begin(cache, &query, &mail, &ended[i]);
    sr_task_cancel(&waits[0]->task);
    assert_int_equal(ended[0].status, SR_ECANCELED);
    sr_task_unref(&waits[0]->task);
    sr_cache_land(cache, flight, NULL);
    await_end(&mail, &ended[1], SR_OK);
    assert_int_equal(waits[1]->hit, SR_CACHE_MISS);
    assert_non_null(waits[1]->flight);
    assert_int_equal(ended[2].calls + ended[3].calls, 0);
    sr_task_unref(&waits[1]->task); /* it leads and is freed: the next one leads */
    /* This one does not want to lead: it is cancelled before it hears of it. */
    sr_task_cancel(&waits[2]->task);
    assert_int_equal(ended[2].status, SR_ECANCELED);
    sr_task_unref(&waits[2]->task);
    await_end(&mail, &ended[3], SR_OK);
    flight = waits[3]->flight;
    assert_non_null(flight);
    waits[3]->flight = NULL;
    sr_task_unref(&waits[3]->task);
    sr_cache_land(cache, flight, NULL);
    sr_cache_land(cache, lead(cache, &query), NULL);
    mail_close(&mail);
    sr_cache_free(cache);
}

static void who_does_not_wait_goes_alone(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_query query = joining(1, 10);
    (void)state;
    struct sr_cache_flight *flight = lead(cache, &query);
    query.wait_deadline_ns = 0;
    struct sr_cache_lookup *lookup = kit_lookup(cache, &query);
    assert_int_equal(lookup->hit, SR_CACHE_MISS);
    assert_null(lookup->flight);
    sr_task_unref(&lookup->task);
    query.join = false;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    sr_cache_land(cache, flight, NULL);
    sr_cache_free(cache);
}

static void waiting_ends_at_its_deadline(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_query query = joining(1, 10);
    struct ended ended[2];
    struct mail mail;
    (void)state;
    mail_open(&mail);
    struct sr_cache_flight *flight = lead(cache, &query);
    struct sr_cache_lookup *longer = begin(cache, &query, &mail, &ended[0]);
    query.wait_deadline_ns = sr_clock_ns() + 10 * SR_NS_PER_MS;
    struct sr_cache_lookup *shorter;
    ended[1] = (struct ended){0};
    int rc = sr_cache_lookup(cache, &query, mail.box, on_done, &ended[1], &shorter);
    if (rc == SR_AGAIN) /* else the machine was so slow that the deadline had passed */
        await_end(&mail, &ended[1], SR_OK);
    assert_int_equal(shorter->hit, SR_CACHE_MISS);
    assert_null(shorter->flight);
    sr_task_unref(&shorter->task);
    assert_int_equal(ended[0].calls, 0);
    sr_task_expire(&longer->task);
    assert_int_equal(ended[0].status, SR_OK);
    sr_task_unref(&longer->task);
    sr_cache_land(cache, flight, NULL);
    mail_close(&mail);
    sr_cache_free(cache);
}

static void a_lost_leader_blocks_nobody(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_query query = joining(1, 10);
    (void)state;
    struct sr_cache_flight *lost = lead(cache, &query);
    kit_mono_ms += SR_CACHE_LEASE_S * 1000 + 1;
    query = joining(1, 10);
    struct sr_cache_flight *flight = lead(cache, &query);
    sr_cache_land(cache, lost, NULL); /* late */
    query.wait_deadline_ns = 0;
    struct sr_cache_lookup *lookup = kit_lookup(cache, &query);
    assert_null(lookup->flight); /* the second flight is there */
    sr_task_unref(&lookup->task);
    sr_cache_land(cache, flight, NULL);
    sr_cache_free(cache);
}

/* ---- many threads ---- */

#define THREADS 6
#define ROUNDS  4000
#define KEYS    4

static struct sr_cache *shared;
static atomic_int leaders[KEYS];
static atomic_int hits, led;

static void fly(uint64_t *random)
{
    uint32_t key = (uint32_t)(kit_random(random) % KEYS), what = (uint32_t)(kit_random(random) % 8);
    struct sr_cache_query query = joining(1, key * 10);
    struct sr_cache_lookup *lookup;
    int rc = sr_cache_lookup(shared, &query, NULL, NULL, NULL, &lookup);
    assert_true(rc == SR_OK || rc == SR_AGAIN);
    if (rc == SR_AGAIN && what == 0)
        sr_task_cancel(&lookup->task);
    if (rc == SR_AGAIN && what == 1)
        sr_task_expire(&lookup->task);
    if (rc == SR_AGAIN && sr_task_wait(&lookup->task) != SR_OK) {
        sr_task_unref(&lookup->task);
        return;
    }
    struct sr_cache_flight *flight = lookup->flight;
    if (lookup->record) {
        assert_true(kit_is(lookup->record, 1, key * 10));
        hits++;
    } else if (flight) {
        assert_int_equal(atomic_fetch_add(&leaders[key], 1), 0); /* one at a time */
        led++;
        lookup->flight = what == 2 ? flight : NULL;
        struct sr_cache_record *record =
            kit_record((struct kit_record){.partition = 1, .question = key * 10});
        if (what > 4)
            assert_int_equal(sr_cache_put(shared, record), SR_OK);
        atomic_fetch_sub(&leaders[key], 1);
        if (what != 2)
            sr_cache_land(shared, flight, what > 4 ? record : NULL);
        sr_cache_record_unref(record);
    } else if (what > 5) {
        struct sr_cache_selector selector = {.exact = kit_key(KIT_EXACT, kit_exact(1, key * 10))};
        sr_cache_remove(shared, &selector, false);
    }
    sr_task_unref(&lookup->task);
    if (what == 7) {
        struct sr_cache_selector selector = {.partition = kit_key(KIT_PARTITION, 1)};
        sr_cache_remove(shared, &selector, false);
    }
}

static void *fly_often(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++)
        fly(&random);
    return NULL;
}

static void threads_agree_on_leaders(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    shared = kit_cache(10);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fly_often, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(hits > 0 && led > 0);
    assert_int_equal(kit_stats(shared).waiting, 0);
    sr_cache_free(shared);
}

/* Puts, searches and removals of all partitions at once, with room for few. */
static void *churn(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    float unit[KIT_DIMENSIONS];
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t p = (uint32_t)(kit_random(&random) % 3), q = (uint32_t)(kit_random(&random) % 50);
        kit_unit(q, unit);
        struct sr_cache_query query = kit_query(p, q, unit);
        struct sr_cache_lookup *lookup = kit_lookup(shared, &query);
        if (lookup->record)
            assert_memory_equal(lookup->record->f.partition.bytes, query.partition.bytes, SR_CACHE_KEY);
        sr_task_unref(&lookup->task);
        kit_put(shared,
                (struct kit_record){.partition = p, .question = q, .request = q + 1, .tenant = q % 3 + 1});
        if (i % 64 == 0) {
            struct sr_cache_selector selector = {.tenant = kit_key(KIT_TENANT, 1)};
            sr_cache_remove(shared, &selector, false);
        }
        if (i % 512 == 0) {
            struct sr_cache_limits limits = kit_limits(20 + q);
            limits.dimensions = i % 1024 ? KIT_DIMENSIONS : 8;
            sr_cache_set(shared, &limits);
        }
    }
    return NULL;
}

static void threads_share_the_memory(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    shared = kit_cache(30);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct sr_cache_selector all = {0};
    sr_cache_remove(shared, &all, false);
    struct sr_cache_stats stats = kit_stats(shared);
    assert_int_equal(stats.entries, 0);
    assert_int_equal(stats.partitions, 0);
    assert_true(stats.bytes < 8192);
    sr_cache_free(shared);
}

/* ---- a backend with a thread, asked by many ---- */

#define QUEUE 64

static struct {
    struct sr_cache_backend backend;
    pthread_mutex_t lock;
    pthread_cond_t added;
    pthread_t thread;
    struct {
        sr_cache_found *found;
        void *ctx;
        uint32_t number; /* of the key or the partition */
        bool search;
    } queue[QUEUE];
    size_t n;
    bool closing;
} busy;

static int busy_ask(const struct sr_cache_key *key, bool search, sr_cache_found *found, void *ctx)
{
    pthread_mutex_lock(&busy.lock);
    int rc = busy.n < QUEUE && !busy.closing ? SR_OK : SR_EBUSY;
    if (rc == SR_OK) {
        busy.queue[busy.n].found = found;
        busy.queue[busy.n].ctx = ctx;
        busy.queue[busy.n].search = search;
        memcpy(&busy.queue[busy.n++].number, key->bytes + 20, sizeof(uint32_t));
        pthread_cond_signal(&busy.added);
    }
    pthread_mutex_unlock(&busy.lock);
    return rc;
}

static int busy_get(struct sr_cache_backend *backend, const struct sr_cache_key *key, uint64_t deadline_ns,
                    sr_cache_found *found, void *ctx)
{
    (void)backend, (void)deadline_ns;
    return busy_ask(key, false, found, ctx);
}

static int busy_search(struct sr_cache_backend *backend, const struct sr_cache_key *partition,
                       const float *unit, size_t dimensions, size_t k, uint64_t deadline_ns,
                       sr_cache_found *found, void *ctx)
{
    (void)backend, (void)unit, (void)dimensions, (void)k, (void)deadline_ns;
    return busy_ask(partition, true, found, ctx);
}

/* Of three questions one is answered, one is not, and for one the answer is another partition's. */
static void *busy_run(void *arg)
{
    (void)arg;
    for (uint32_t i = 0;; i++) {
        pthread_mutex_lock(&busy.lock);
        while (!busy.n && !busy.closing)
            pthread_cond_wait(&busy.added, &busy.lock);
        bool any = busy.n > 0;
        size_t at = any ? busy.n - 1 : 0;
        sr_cache_found *found = busy.queue[at].found;
        void *ctx = busy.queue[at].ctx;
        uint32_t number = busy.queue[at].number, partition = busy.queue[at].search ? number : number >> 16;
        uint32_t question = busy.queue[at].search ? i % 40 : number & 0xffff;
        busy.n -= any;
        pthread_mutex_unlock(&busy.lock);
        if (!any)
            return NULL;
        struct reply reply = {0};
        if (i % 3)
            reply =
                one((struct kit_record){.partition = partition + (i % 3 == 1), .question = question}, 0.97f);
        found(ctx, i % 7 ? SR_OK : SR_ETIMEOUT, i % 7 ? reply.candidates : NULL, i % 7 ? reply.n : 0);
        if (i % 7 == 0)
            sr_cache_record_unref(reply.candidates[0].record);
    }
}

static void busy_close(struct sr_cache_backend *backend)
{
    (void)backend;
    pthread_mutex_lock(&busy.lock);
    busy.closing = true;
    pthread_cond_signal(&busy.added);
    pthread_mutex_unlock(&busy.lock);
    pthread_join(busy.thread, NULL);
}

static const struct sr_cache_backend_ops busy_ops = {
    .name = "busy",
    .close = busy_close,
    .put = play_put,
    .remove = play_remove,
    .get = busy_get,
    .search = busy_search,
    .health = play_health,
};

static void *ask_often(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    struct mail mail;
    mail_open(&mail);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t p = (uint32_t)(kit_random(&random) % 3), q = (uint32_t)(kit_random(&random) % 40);
        uint32_t what = (uint32_t)(kit_random(&random) % 8);
        struct ended ended = {0};
        struct sr_cache_lookup *lookup;
        float unit[KIT_DIMENSIONS];
        kit_unit(q, unit);
        struct sr_cache_query query = asking(p, q, unit);
        query.join = true;
        query.wait_deadline_ns = sr_clock_ns() + (1 + what) * SR_NS_PER_MS / 4;
        int rc = sr_cache_lookup(shared, &query, mail.box, on_done, &ended, &lookup);
        if (rc == SR_AGAIN && what == 0)
            sr_task_cancel(&lookup->task);
        else if (rc == SR_AGAIN && what == 1)
            sr_task_expire(&lookup->task);
        else if (rc == SR_AGAIN)
            while (!ended.calls)
                mail_run(&mail, true);
        assert_int_equal(ended.calls, rc == SR_AGAIN);
        if (ended.status == SR_OK && lookup->record)
            assert_memory_equal(lookup->record->f.partition.bytes, query.partition.bytes, SR_CACHE_KEY);
        if (ended.status == SR_OK && lookup->flight && what > 4) {
            struct sr_cache_flight *flight = lookup->flight;
            struct sr_cache_record *record = kit_record((struct kit_record){.partition = p, .question = q});
            lookup->flight = NULL;
            assert_int_equal(sr_cache_put(shared, record), SR_OK);
            sr_cache_land(shared, flight, record);
            sr_cache_record_unref(record);
        }
        sr_task_unref(&lookup->task);
        if (i % 50 == 0) {
            struct sr_cache_selector selector = {.partition = kit_key(KIT_PARTITION, p)};
            sr_cache_remove(shared, &selector, false);
        }
    }
    mail_close(&mail);
    return NULL;
}

static void threads_share_a_backend(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    played = (struct played){0};
    shared = kit_cache(30);
    memset(&busy, 0, sizeof busy);
    busy.backend.ops = &busy_ops;
    pthread_mutex_init(&busy.lock, NULL);
    pthread_cond_init(&busy.added, NULL);
    assert_int_equal(pthread_create(&busy.thread, NULL, busy_run, NULL), 0);
    sr_cache_set_backend(shared, &busy.backend);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(kit_stats(shared).waiting, 0);
    sr_cache_free(shared);
    pthread_cond_destroy(&busy.added);
    pthread_mutex_destroy(&busy.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_backend_has_is_a_hit_and_kept),
        cmocka_unit_test(a_search_follows_and_its_candidates_pass_the_gate),
        cmocka_unit_test(a_backend_is_not_believed),
        cmocka_unit_test(a_backend_that_is_away_is_a_miss),
        cmocka_unit_test(an_end_does_not_wait_for_the_backend),
        cmocka_unit_test(what_is_removed_meanwhile_does_not_come_back),
        cmocka_unit_test(events_of_a_backend_change_memory),
        cmocka_unit_test(a_removal_of_others_goes_in_steps),
        cmocka_unit_test(those_that_wait_get_what_the_leader_put),
        cmocka_unit_test(a_leader_without_an_answer_hands_over),
        cmocka_unit_test(who_does_not_wait_goes_alone),
        cmocka_unit_test(waiting_ends_at_its_deadline),
        cmocka_unit_test(a_lost_leader_blocks_nobody),
        cmocka_unit_test(threads_agree_on_leaders),
        cmocka_unit_test(threads_share_the_memory),
        cmocka_unit_test(threads_share_a_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The picking policies: what each prefers, what makes it leave that, and what it forgets. */
#include "base/mem.h"
#include "pool/blocks.h"
#include "pool/private.h"
#include "pool/report.h"
#include "pool/roster.h"
#include "pool/ticket.h"
#include "pool/topics.h"
#include "pool/warm.h"
#include "tests/unit/cmocka_all.h"

#include <math.h>
#include <stdio.h>

#define WORKERS 4
#define MS      UINT64_C(1000000)
#define BLOCKS  64

struct site {
    struct sr_pool *pool;
    struct sr_pool_group *group;
    struct sr_arena arena;
    char hosts[WORKERS][16];
    struct sr_pool_backend backends[WORKERS];
};

static void site_init(struct site *s, const char *policy, const struct sr_pool_settings *settings)
{
    struct sr_err err = {0};
    assert_int_equal(sr_pool_new(&s->pool), SR_OK);
    sr_arena_init(&s->arena, (size_t)16 << 20);
    for (size_t i = 0; i < WORKERS; i++) {
        snprintf(s->hosts[i], sizeof s->hosts[i], "w%zu", i);
        s->backends[i] = (struct sr_pool_backend){
            .scheme = "http", .host = s->hosts[i], .base_path = "", .port = 8000, .weight = 1};
    }
    assert_int_equal(
        sr_pool_group_get(s->pool, &s->group, "m", policy, settings, NULL, NULL, s->backends, WORKERS, &err),
        SR_OK);
}

static void site_dispose(struct site *s)
{
    sr_pool_group_unref(s->group);
    assert_null(s->pool->groups);
    sr_arena_dispose(&s->arena);
    sr_pool_free(s->pool);
}

/* A request that is in progress. */
static int begin(struct site *s, struct sr_ticket *ticket, const struct sr_pool_ask *ask)
{
    assert_int_equal(sr_ticket_open(ticket, s->group, &s->arena), SR_OK);
    sr_ticket_ask(ticket, ask);
    int at = sr_ticket_choose(ticket);
    assert_in_range(at, 0, WORKERS - 1);
    sr_ticket_begin(ticket, (size_t)at);
    return at;
}

/* A request from its begin to its end. */
static int ask_once(struct site *s, const struct sr_pool_ask *ask)
{
    struct sr_ticket ticket;
    int at = begin(s, &ticket, ask);
    sr_ticket_report(&ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
    sr_ticket_dispose(&ticket);
    return at;
}

/* Blocks of a prompt: `shared` of them are those of `family`, the rest are `own`. */
static void prompt(uint64_t *blocks, size_t n, size_t shared, uint64_t family, uint64_t own)
{
    for (size_t i = 0; i < n; i++)
        blocks[i] = (i < shared ? family : own) * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)(i + 1) * UINT64_C(0xd6e8feb86659fd93);
}

static struct sr_pool_ask ask_of(const uint64_t *blocks, size_t n)
{
    return (struct sr_pool_ask){
        .blocks = blocks, .n_blocks = n, .prompt_tokens = n * 16, .answer_tokens = 64};
}

/* ---- blocks ---- */

/* A model of one worker: blocks in the order of use, the newest first. */
struct model {
    uint64_t hashes[128];
    size_t n;
};

static void model_use(struct model *m, const uint64_t *hashes, size_t n, size_t most)
{
    n = n < most ? n : most;
    for (size_t i = n; i-- > 0;) {
        size_t at = 0;
        while (at < m->n && m->hashes[at] != hashes[i])
            at++;
        if (at == m->n && m->n < most)
            m->n++;
        else if (at == m->n)
            at--;
        memmove(m->hashes + 1, m->hashes, (at < m->n ? at : m->n - 1) * sizeof m->hashes[0]);
        m->hashes[0] = hashes[i];
    }
}

static bool model_has(const struct model *m, uint64_t hash)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->hashes[i] == hash)
            return true;
    return false;
}

static void model_remove(struct model *m, uint64_t hash)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->hashes[i] == hash) {
            memmove(m->hashes + i, m->hashes + i + 1, (m->n - i - 1) * sizeof m->hashes[0]);
            m->n--;
            return;
        }
    }
}

static void test_blocks_are_as_a_plain_list(void **state)
{
    (void)state;
    enum { SLOTS = 70, MOST = 100 };
    struct sr_pool_blocks *blocks;
    struct model *models = sr_mem_calloc(SLOTS, sizeof *models);
    uint64_t x = 88172645463325252u, hashes[24];
    assert_int_equal(sr_pool_blocks_new(&blocks, MOST), SR_OK);
    for (uint32_t i = 0; i < SLOTS; i++)
        assert_int_equal(sr_pool_blocks_join(blocks, i), SR_OK);
    for (int round = 0; round < 20000; round++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        uint32_t slot = (uint32_t)(x % SLOTS);
        size_t n = 1 + (x >> 8) % 24, shared = (x >> 16) % 24;
        prompt(hashes, n, shared, (x >> 24) % 5, (x >> 32) % 40);
        if (x >> 60 == 0) {
            sr_pool_blocks_clear(blocks, slot);
            models[slot].n = 0;
        } else if (x >> 60 < 3) {
            sr_pool_blocks_remove(blocks, slot, hashes[n - 1]);
            model_remove(&models[slot], hashes[n - 1]);
        } else {
            sr_pool_blocks_use(blocks, slot, hashes, n);
            model_use(&models[slot], hashes, n, MOST);
        }
        assert_int_equal(sr_pool_blocks_count(blocks, slot), models[slot].n);
        const uint32_t *depths = sr_pool_blocks_match(blocks, hashes, n);
        for (uint32_t i = 0; i < SLOTS; i++) {
            size_t depth = 0;
            while (depth < n && model_has(&models[i], hashes[depth]))
                depth++;
            if (depth != depths[i]) /* a gap is the only way to differ */
                assert_true(depths[i] > depth && model_has(&models[i], hashes[depths[i] - 1]));
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        sr_pool_blocks_leave(blocks, i);
    sr_pool_blocks_free(blocks);
    sr_mem_free(models);
}

/* ---- least_load ---- */

static void test_least_load_reads_reports(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "least_load", NULL);
    struct sr_pool_reported busy = {.running = 8, .waiting = 4, .kv_usage = 0.3};
    struct sr_pool_reported idle = {.running = 0, .waiting = 0, .kv_usage = 0.1};
    struct sr_pool_reported full = {.running = 0, .waiting = 0, .kv_usage = 0.99};
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[0], &busy), SR_OK);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[1], &idle), SR_OK);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[2], &full), SR_OK);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[3], &busy), SR_OK);
    struct sr_pool_ask ask = {0};
    assert_int_equal(ask_once(&s, &ask), 1);
    assert_int_equal(ask_once(&s, &ask), 1);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[1], &busy), SR_OK);
    assert_int_equal(ask_once(&s, &ask), 2);
    /* what is stale does not count any more: all are equal */
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(sr_pool_report_load(s.pool, &s.backends[i], NULL), SR_OK);
    unsigned seen = 0;
    for (size_t i = 0; i < WORKERS; i++)
        seen |= 1u << ask_once(&s, &ask);
    assert_int_equal(seen, (1u << WORKERS) - 1);
    site_dispose(&s);
}

/* The worker's report holds this process's own requests too: they count once. */
static void test_own_requests_count_once(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "least_load", NULL);
    struct sr_ticket tickets[3];
    struct sr_pool_ask ask = {0};
    for (size_t i = 0; i < 3; i++)
        begin(&s, &tickets[i], &ask);
    size_t at = (size_t)tickets[0].at;
    struct sr_pool_reported own = {.running = 1, .waiting = 0, .kv_usage = -1};
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[at], &own), SR_OK);
    assert_true(fabs(sr_pool_member_load(tickets[0].candidates[at].member) - 2) < 1e-9);
    for (size_t i = 0; i < 3; i++)
        sr_ticket_dispose(&tickets[i]);
    site_dispose(&s);
}

/* ---- session ---- */

static void test_sessions_stay(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "session", NULL);
    int at[200], counts[WORKERS] = {0}, moved = 0;
    for (uint64_t i = 0; i < 200; i++) {
        struct sr_pool_ask ask = {.session = i * 2654435761u + 1};
        at[i] = ask_once(&s, &ask);
        counts[at[i]]++;
        assert_int_equal(ask_once(&s, &ask), at[i]);
    }
    for (size_t i = 0; i < WORKERS; i++)
        assert_in_range(counts[i], 25, 80);
    /* without a worker only its own sessions move */
    struct sr_err err = {0};
    sr_pool_group_unref(s.group);
    assert_int_equal(
        sr_pool_group_get(s.pool, &s.group, "m", "session", NULL, NULL, NULL, s.backends, WORKERS - 1, &err),
        SR_OK);
    for (uint64_t i = 0; i < 200; i++) {
        struct sr_pool_ask ask = {.session = i * 2654435761u + 1};
        int now = ask_once(&s, &ask);
        moved += now != at[i];
        assert_true(at[i] == WORKERS - 1 || now == at[i]);
    }
    assert_int_equal(moved, counts[WORKERS - 1]);
    site_dispose(&s);
}

static void test_session_has_a_bound(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "session", NULL);
    enum { N = 40 };
    struct sr_ticket tickets[N];
    struct sr_pool_ask ask = {.session = 7};
    unsigned counts[WORKERS] = {0};
    for (size_t i = 0; i < N; i++)
        counts[begin(&s, &tickets[i], &ask)]++;
    for (size_t i = 0; i < WORKERS; i++)
        assert_in_range(counts[i], 1, 13); /* 1.25 times 40 / 4, and one for the rounding */
    for (size_t i = 0; i < N; i++)
        sr_ticket_dispose(&tickets[i]);
    site_dispose(&s);
}

/* ---- prefix ---- */

static void test_prefix_is_followed(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    site_init(&s, "prefix", NULL);
    int of[8];
    for (uint64_t family = 0; family < 8; family++) {
        prompt(blocks, BLOCKS, BLOCKS, family + 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        of[family] = ask_once(&s, &ask);
    }
    for (uint64_t family = 0; family < 8; family++) {
        prompt(blocks, BLOCKS, 48, family + 1, 100 + family);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        struct sr_ticket ticket;
        assert_int_equal(begin(&s, &ticket, &ask), of[family]);
        assert_int_equal(ticket.why.overlap, 48);
        assert_int_equal(ticket.why.blocks, BLOCKS);
        assert_string_equal(ticket.why.reason, "prefix");
        sr_ticket_dispose(&ticket);
    }
    site_dispose(&s);
}

static void test_prefix_is_forgotten_when_it_was_evicted(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    settings.blocks = BLOCKS; /* one prompt fills a worker */
    site_init(&s, "prefix", &settings);
    for (uint64_t family = 0; family < 2 * WORKERS; family++) {
        prompt(blocks, BLOCKS, BLOCKS, family + 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        ask_once(&s, &ask);
    }
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    struct sr_ticket ticket;
    begin(&s, &ticket, &ask);
    assert_int_equal(ticket.why.overlap, 0);
    sr_ticket_dispose(&ticket);
    site_dispose(&s);
}

static void test_a_loaded_worker_is_left(void **state)
{
    (void)state;
    static const char *const policies[] = {"prefix", "kv", "auto"};
    for (size_t p = 0; p < 3; p++) {
        struct site s;
        enum { N = 40 };
        struct sr_ticket tickets[N];
        uint64_t blocks[BLOCKS];
        unsigned counts[WORKERS] = {0};
        site_init(&s, policies[p], NULL);
        prompt(blocks, BLOCKS, BLOCKS, 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        for (size_t i = 0; i < N; i++)
            counts[begin(&s, &tickets[i], &ask)]++;
        for (size_t i = 0; i < WORKERS; i++)
            assert_in_range(counts[i], 0, N / 2);
        for (size_t i = 0; i < N; i++)
            sr_ticket_dispose(&tickets[i]);
        site_dispose(&s);
    }
}

/* ---- kv ---- */

struct tokens {
    uint32_t ids[BLOCKS * 16];
    uint64_t own[BLOCKS], engine[BLOCKS];
};

static void tokens_init(struct tokens *t, uint32_t seed)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < BLOCKS * 16; i++)
        t->ids[i] = seed * 7919 + (uint32_t)i;
    for (size_t i = 0; i < BLOCKS; i++) {
        hash = sr_pool_kv_hash(hash, t->ids + i * 16, 16);
        t->own[i] = hash;
        t->engine[i] = seed * 1000 + i + 1;
    }
}

static void store(struct site *s, size_t worker, const struct tokens *t, size_t from, size_t n)
{
    struct sr_pool_kv_event event = {.kind = SR_POOL_KV_STORED,
                                     .hashes = t->engine + from,
                                     .n = n,
                                     .has_parent = from > 0,
                                     .parent = from ? t->engine[from - 1] : 0,
                                     .tokens = t->ids + from * 16,
                                     .block_size = 16};
    assert_int_equal(sr_pool_report_kv(s->pool, &s->backends[worker], &event), SR_OK);
}

static uint32_t overlap_of(struct site *s, const struct tokens *t, int *at)
{
    struct sr_ticket ticket;
    uint64_t blocks[BLOCKS];
    static uint64_t unique;
    prompt(blocks, BLOCKS, 0, 0, 500 + unique++);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    ask.kv_blocks = t->own;
    ask.n_kv_blocks = BLOCKS;
    *at = begin(s, &ticket, &ask);
    uint32_t overlap = ticket.why.overlap;
    sr_ticket_dispose(&ticket);
    return overlap;
}

static void test_kv_follows_events(void **state)
{
    (void)state;
    static const char *const policies[] = {"kv", "cost", "auto"};
    for (size_t p = 0; p < 3; p++) {
        struct site s;
        struct tokens *t = sr_mem_alloc(sizeof *t);
        int at;
        site_init(&s, policies[p], NULL);
        tokens_init(t, 3);
        store(&s, 2, t, 0, 40);
        assert_int_equal(overlap_of(&s, t, &at), 40);
        assert_int_equal(at, 2);
        store(&s, 2, t, 40, 10); /* goes on after a block that is known */
        assert_int_equal(overlap_of(&s, t, &at), 50);
        store(&s, 1, t, 20, 30); /* after one that is not */
        assert_int_equal(overlap_of(&s, t, &at), 50);
        assert_int_equal(at, 2);
        struct sr_pool_kv_event removed = {.kind = SR_POOL_KV_REMOVED, .hashes = t->engine + 10, .n = 40};
        assert_int_equal(sr_pool_report_kv(s.pool, &s.backends[2], &removed), SR_OK);
        assert_int_equal(overlap_of(&s, t, &at), 10);
        struct sr_pool_kv_event cleared = {.kind = SR_POOL_KV_CLEARED};
        assert_int_equal(sr_pool_report_kv(s.pool, &s.backends[2], &cleared), SR_OK);
        assert_int_equal(overlap_of(&s, t, &at), 0);
        sr_mem_free(t);
        site_dispose(&s);
    }
}

static void tell(struct site *s, size_t worker, enum sr_pool_kv_kind kind)
{
    struct sr_pool_kv_event event = {.kind = kind};
    assert_int_equal(sr_pool_report_kv(s->pool, &s->backends[worker], &event), SR_OK);
}

/* Workers that tell are not estimated by what was sent there, but by what requests in progress will leave. */
static void test_what_comes_counts_until_it_is_told(void **state)
{
    (void)state;
    static const char *const policies[] = {"kv", "cost", "auto"};
    for (size_t p = 0; p < 3; p++) {
        struct site s;
        struct sr_ticket first, second;
        struct tokens *t = sr_mem_alloc(sizeof *t);
        uint64_t blocks[BLOCKS];
        site_init(&s, policies[p], NULL);
        tokens_init(t, 3);
        prompt(blocks, BLOCKS, BLOCKS, 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        ask.kv_blocks = t->own;
        ask.n_kv_blocks = BLOCKS;
        for (size_t i = 0; i < WORKERS; i++)
            tell(&s, i, SR_POOL_KV_CLEARED);
        int at = begin(&s, &first, &ask);
        assert_int_equal(first.why.overlap, 0);
        assert_int_equal(sr_ticket_open(&second, s.group, &s.arena), SR_OK);
        sr_ticket_ask(&second, &ask);
        for (int i = 0; i < WORKERS; i++)
            second.candidates[i].tried = i != at;
        assert_int_equal(sr_ticket_choose(&second), at);
        assert_int_equal(second.why.overlap, BLOCKS);
        sr_ticket_dispose(&second);
        sr_ticket_dispose(&first); /* it was not computed: nothing is told, and nothing comes any more */
        int again;
        assert_int_equal(overlap_of(&s, t, &again), 0);
        sr_mem_free(t);
        site_dispose(&s);
    }
}

/* What was told is not relied on any more: what was sent counts again. */
static void test_a_worker_that_tells_no_more_is_estimated(void **state)
{
    (void)state;
    struct site s;
    struct tokens *t = sr_mem_alloc(sizeof *t);
    uint64_t blocks[BLOCKS];
    int at;
    site_init(&s, "kv", NULL);
    tokens_init(t, 3);
    store(&s, 2, t, 0, 40);
    assert_int_equal(overlap_of(&s, t, &at), 40);
    tell(&s, 2, SR_POOL_KV_UNKNOWN);
    assert_int_equal(overlap_of(&s, t, &at), 0);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    at = ask_once(&s, &ask);
    assert_int_equal(ask_once(&s, &ask), at);
    tell(&s, (size_t)at, SR_POOL_KV_CLEARED); /* its process ended: what was sent is gone too */
    tell(&s, (size_t)at, SR_POOL_KV_UNKNOWN);
    struct sr_ticket ticket;
    begin(&s, &ticket, &ask);
    assert_int_equal(ticket.why.overlap, 0);
    sr_ticket_dispose(&ticket);
    sr_mem_free(t);
    site_dispose(&s);
}

/* Over the limit blocks are not known, and those that are known stay. */
static void test_events_are_bounded(void **state)
{
    (void)state;
    struct site s;
    struct tokens *t = sr_mem_alloc(sizeof *t);
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    int at;
    settings.kv_blocks = 24;
    site_init(&s, "kv", &settings);
    tokens_init(t, 3);
    store(&s, 1, t, 0, 40);
    assert_int_equal(overlap_of(&s, t, &at), 24);
    struct sr_pool_kv_event removed = {.kind = SR_POOL_KV_REMOVED, .hashes = t->engine + 20, .n = 4};
    assert_int_equal(sr_pool_report_kv(s.pool, &s.backends[1], &removed), SR_OK);
    store(&s, 1, t, 20, 20);
    assert_int_equal(overlap_of(&s, t, &at), 24);
    sr_mem_free(t);
    site_dispose(&s);
}

/* Of a prompt only the beginning is known: what a worker has of it is not all of the prompt. */
static void test_a_part_of_the_tokens_counts_as_a_part(void **state)
{
    (void)state;
    struct site s;
    struct sr_ticket ticket;
    struct tokens *t = sr_mem_alloc(sizeof *t);
    uint64_t blocks[BLOCKS];
    site_init(&s, "kv", NULL);
    tokens_init(t, 3);
    store(&s, 1, t, 0, BLOCKS / 4);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    ask.kv_blocks = t->own;
    ask.n_kv_blocks = BLOCKS / 4;
    ask.kv_total = BLOCKS;
    assert_int_equal(begin(&s, &ticket, &ask), 1);
    assert_int_equal(ticket.why.overlap, BLOCKS / 4);
    sr_ticket_dispose(&ticket);
    sr_mem_free(t);
    site_dispose(&s);
}

/* ---- auto ---- */

/* Sessions that begin with the same instructions: where a cache holds one of them, each has a worker of its
 * own, from the first ones on, and stays there. */
static void test_auto_spreads_what_does_not_fit(void **state)
{
    (void)state;
    enum { SHARED = 40, TURNS = 5 };
    struct site s;
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    struct sr_ticket tickets[WORKERS];
    uint64_t blocks[WORKERS][BLOCKS];
    int homes[WORKERS];
    settings.blocks = BLOCKS + 8;
    settings.guard = 100;
    site_init(&s, "auto", &settings);
    for (size_t turn = 0; turn < TURNS; turn++) {
        struct sr_pool_ask asks[WORKERS];
        for (size_t i = 0; i < WORKERS; i++) {
            prompt(blocks[i], BLOCKS, SHARED, 1, 100 + i);
            asks[i] = ask_of(blocks[i], BLOCKS - TURNS + turn + 1);
            int at = begin(&s, &tickets[i], &asks[i]);
            for (size_t k = 0; k < i; k++)
                assert_int_not_equal(at, homes[k]);
            assert_true(turn == 0 || at == homes[i]);
            homes[i] = at;
        }
        for (size_t i = 0; i < WORKERS; i++) {
            sr_ticket_report(&tickets[i], (size_t)homes[i], SR_TICKET_ANSWERED, 200);
            sr_ticket_dispose(&tickets[i]);
        }
    }
    site_dispose(&s);
}

/* ---- cost ---- */

static void test_cost_weighs_overlap_and_load(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    struct sr_ticket first, second;
    site_init(&s, "cost", NULL);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    int warm = begin(&s, &first, &ask);
    /* its prefill waits there: the same prompt goes elsewhere */
    assert_int_not_equal(begin(&s, &second, &ask), warm);
    sr_ticket_dispose(&second);
    sr_ticket_dispose(&first);
    /* idle, it is the cheapest */
    assert_int_equal(ask_once(&s, &ask), warm);
    site_dispose(&s);
}

static void test_temperature_spreads(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    unsigned counts[WORKERS] = {0};
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    settings.temperature = 5;
    site_init(&s, "cost", &settings);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    for (size_t i = 0; i < 400; i++)
        counts[ask_once(&s, &ask)]++;
    for (size_t i = 0; i < WORKERS; i++)
        assert_in_range(counts[i], 40, 200);
    site_dispose(&s);
}

/* ---- meaning ---- */

static void vector_of(float *v, size_t d, uint32_t topic, float noise, uint32_t seed)
{
    double sum = 0;
    uint32_t x = topic * 2654435761u + 1, y = seed * 40503u + 77;
    for (size_t i = 0; i < d; i++) {
        x = x * 1664525u + 1013904223u;
        y = y * 1664525u + 1013904223u;
        v[i] = (float)(x >> 8) / (1 << 24) - 0.5f + noise * ((float)(y >> 8) / (1 << 24) - 0.5f);
        sum += (double)v[i] * (double)v[i];
    }
    for (size_t i = 0; i < d; i++)
        v[i] /= (float)sqrt(sum);
}

static void test_meaning_goes_to_the_similar(void **state)
{
    (void)state;
    static const char *const policies[] = {"meaning", "auto"};
    enum { D = 384, TOPICS = 8 };
    for (size_t p = 0; p < 2; p++) {
        struct site s;
        float v[D];
        int of[TOPICS];
        uint64_t blocks[BLOCKS];
        site_init(&s, policies[p], NULL);
        for (uint32_t i = 0; i < TOPICS * 4; i++) {
            vector_of(v, D, i % TOPICS, 0.4f, i);
            prompt(blocks, BLOCKS, 0, 0, 900 + i);
            struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
            ask.vector = v;
            ask.dimensions = D;
            struct sr_ticket ticket;
            int at = begin(&s, &ticket, &ask);
            if (i >= TOPICS) {
                assert_int_equal(at, of[i % TOPICS]);
                assert_string_equal(ticket.why.reason, "meaning");
                assert_true(ticket.why.similarity > 0.8f);
            }
            of[i % TOPICS] = at;
            sr_ticket_dispose(&ticket);
        }
        site_dispose(&s);
    }
}

static void test_topics_are_bounded(void **state)
{
    (void)state;
    enum { D = 100 };
    struct sr_topics *topics;
    struct sr_topics_seat seat = {0};
    float v[D], old[D];
    assert_int_equal(sr_topics_new(&topics), SR_OK);
    vector_of(old, D, 1, 0, 0);
    sr_topics_add(topics, &seat, old, D);
    sr_topics_compare(topics, old, D);
    assert_true(sr_topics_similarity(topics, &seat, 64) > 0.99f);
    size_t bytes = sr_topics_bytes(topics);
    for (uint32_t i = 2; i < 60; i++) {
        vector_of(v, D, i, 0, 0);
        sr_topics_add(topics, &seat, v, D);
    }
    sr_topics_compare(topics, old, D);
    assert_true(sr_topics_similarity(topics, &seat, 64) > 0.99f);
    assert_true(sr_topics_similarity(topics, &seat, 20) < 0.9f); /* not recent */
    for (uint32_t i = 60; i < 400; i++) {
        vector_of(v, D, i, 0, 0);
        sr_topics_add(topics, &seat, v, D);
    }
    sr_topics_compare(topics, old, D);
    assert_true(sr_topics_similarity(topics, &seat, 1000000) < 0.9f); /* another topic has its place */
    assert_int_equal(sr_topics_bytes(topics), bytes);
    sr_topics_compare(topics, old, D - 1); /* another encoder */
    assert_true(sr_topics_similarity(topics, &seat, 1000000) < 0.01f);
    sr_topics_free(topics);
}

/* ---- all ---- */

/* A reload that changes the workers keeps what is known of those that stay. */
static void test_reload_keeps_what_is_known(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    struct sr_err err = {0};
    site_init(&s, "prefix", NULL);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    struct sr_ticket ticket, after;
    int at = begin(&s, &ticket, &ask);
    struct sr_pool_group *before = s.group;
    struct sr_pool_backend other[] = {s.backends[(at + 1) % WORKERS], s.backends[at]};
    assert_int_equal(sr_pool_group_get(s.pool, &s.group, "m", "prefix", NULL, NULL, NULL, other, 2, &err),
                     SR_OK);
    sr_ticket_dispose(&ticket); /* ends in the group before */
    sr_pool_group_unref(before);
    assert_int_equal(begin(&s, &after, &ask), 1);
    assert_int_equal(after.why.overlap, BLOCKS);
    sr_ticket_dispose(&after);
    site_dispose(&s);
}

struct totals {
    size_t members;
    uint64_t blocks, asked, expected, bytes;
};

static void add(void *ctx, const struct sr_pool_member_view *view)
{
    struct totals *t = ctx;
    t->members++;
    t->blocks += view->seat.blocks;
    t->asked += view->seat.asked;
    t->expected += view->seat.expected;
    t->bytes += view->seat.bytes;
}

static void test_what_is_known_is_shown_and_bounded(void **state)
{
    (void)state;
    static const char *const policies[] = {"prefix", "kv", "cost", "auto"};
    for (size_t p = 0; p < 4; p++) {
        struct site s;
        uint64_t blocks[BLOCKS];
        struct totals t = {0};
        struct sr_pool_settings settings = sr_pool_settings_defaults();
        settings.blocks = 1000;
        site_init(&s, policies[p], &settings);
        for (uint64_t i = 0; i < 1000; i++) {
            prompt(blocks, BLOCKS, BLOCKS / 2, 1, i + 2);
            struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
            ask_once(&s, &ask);
        }
        sr_pool_each_member(s.pool, add, &t);
        assert_int_equal(t.members, WORKERS);
        assert_true(t.blocks <= WORKERS * 1000);
        assert_int_equal(t.asked, 1000 * BLOCKS);
        assert_in_range(t.expected, (1000 - WORKERS) * BLOCKS / 2, 1000 * BLOCKS / 2);
        assert_true(t.bytes > 0 && t.bytes < 1 << 20);
        site_dispose(&s);
    }
}

#define THREADS 4

static void *thread_main(void *arg)
{
    struct site *s = arg;
    struct sr_arena arena;
    uint64_t blocks[BLOCKS];
    float v[64];
    struct tokens *t = sr_mem_alloc(sizeof *t);
    tokens_init(t, 5);
    sr_arena_init(&arena, (size_t)16 << 20);
    for (uint64_t i = 0; i < 400; i++) {
        struct sr_ticket ticket;
        prompt(blocks, BLOCKS, BLOCKS / 2, i % 7, i);
        vector_of(v, 64, (uint32_t)i % 9, 0.3f, (uint32_t)i);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        ask.session = i % 11 + 1;
        ask.vector = v;
        ask.dimensions = 64;
        ask.kv_blocks = t->own;
        ask.n_kv_blocks = BLOCKS;
        struct sr_pool_reported load = {.running = (uint32_t)i % 5, .kv_usage = 0.5};
        assert_int_equal(sr_ticket_open(&ticket, s->group, &arena), SR_OK);
        sr_ticket_ask(&ticket, &ask);
        int at = sr_ticket_choose(&ticket);
        sr_ticket_begin(&ticket, (size_t)at);
        assert_int_equal(sr_pool_report_load(s->pool, &s->backends[i % WORKERS], i % 8 ? &load : NULL),
                         SR_OK);
        store(s, i % WORKERS, t, 0, 1 + i % BLOCKS);
        sr_ticket_report(&ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
        sr_ticket_dispose(&ticket);
        struct totals totals = {0};
        sr_pool_each_member(s->pool, add, &totals);
        sr_arena_dispose(&arena);
    }
    sr_mem_free(t);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static const char *const policies[] = {"least_load", "session", "prefix", "kv",
                                           "cost",       "meaning", "auto"};
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        struct site s;
        pthread_t threads[THREADS];
        site_init(&s, policies[p], NULL);
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, thread_main, &s), 0);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        site_dispose(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_as_a_plain_list),
        cmocka_unit_test(test_least_load_reads_reports),
        cmocka_unit_test(test_own_requests_count_once),
        cmocka_unit_test(test_sessions_stay),
        cmocka_unit_test(test_session_has_a_bound),
        cmocka_unit_test(test_prefix_is_followed),
        cmocka_unit_test(test_prefix_is_forgotten_when_it_was_evicted),
        cmocka_unit_test(test_a_loaded_worker_is_left),
        cmocka_unit_test(test_kv_follows_events),
        cmocka_unit_test(test_what_comes_counts_until_it_is_told),
        cmocka_unit_test(test_a_worker_that_tells_no_more_is_estimated),
        cmocka_unit_test(test_events_are_bounded),
        cmocka_unit_test(test_a_part_of_the_tokens_counts_as_a_part),
        cmocka_unit_test(test_auto_spreads_what_does_not_fit),
        cmocka_unit_test(test_cost_weighs_overlap_and_load),
        cmocka_unit_test(test_temperature_spreads),
        cmocka_unit_test(test_meaning_goes_to_the_similar),
        cmocka_unit_test(test_topics_are_bounded),
        cmocka_unit_test(test_reload_keeps_what_is_known),
        cmocka_unit_test(test_what_is_known_is_shown_and_bounded),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A pool of four workers that are picked by one policy, and what requests bring: prompts, tokens, vectors. */
#ifndef TESTS_UNIT_POLICY_KIT_H
#define TESTS_UNIT_POLICY_KIT_H

#include "cmocka_all.h"

#include "pool/private.h"
#include "pool/report.h"
#include "pool/ticket.h"
#include "pool/warm/warm.h"

#include <math.h>
#include <stdio.h>

#define WORKERS 4
#define BLOCKS  64

struct site {
    struct sr_pool *pool;
    struct sr_pool_group *group;
    struct sr_arena arena;
    char hosts[WORKERS][16];
    struct sr_pool_backend backends[WORKERS];
};

static inline void site_init(struct site *s, const char *policy, const struct sr_pool_settings *settings)
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

static inline void site_dispose(struct site *s)
{
    sr_pool_group_unref(s->group);
    assert_null(s->pool->groups);
    sr_arena_dispose(&s->arena);
    sr_pool_free(s->pool);
}

/* A request that is in progress. */
static inline int begin(struct site *s, struct sr_ticket *ticket, const struct sr_pool_ask *ask)
{
    assert_int_equal(sr_ticket_open(ticket, s->group, &s->arena), SR_OK);
    sr_ticket_ask(ticket, ask);
    int at = sr_ticket_choose(ticket);
    assert_in_range(at, 0, WORKERS - 1);
    sr_ticket_begin(ticket, (size_t)at);
    return at;
}

/* A request from its begin to its end. */
static inline int ask_once(struct site *s, const struct sr_pool_ask *ask)
{
    struct sr_ticket ticket;
    int at = begin(s, &ticket, ask);
    sr_ticket_report(&ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
    sr_ticket_dispose(&ticket);
    return at;
}

/* Blocks of a prompt: `shared` of them are those of `family`, the rest are `own`. */
static inline void prompt(uint64_t *blocks, size_t n, size_t shared, uint64_t family, uint64_t own)
{
    for (size_t i = 0; i < n; i++)
        blocks[i] = (i < shared ? family : own) * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)(i + 1) * UINT64_C(0xd6e8feb86659fd93);
}

static inline struct sr_pool_ask ask_of(const uint64_t *blocks, size_t n)
{
    return (struct sr_pool_ask){
        .blocks = blocks, .n_blocks = n, .prompt_tokens = n * 16, .answer_tokens = 64};
}

/* The tokens of a prompt: what they are called by us and by an engine. */
struct tokens {
    uint32_t ids[BLOCKS * 16];
    uint64_t own[BLOCKS], engine[BLOCKS];
};

static inline void tokens_init(struct tokens *t, uint32_t seed)
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

static inline void store(struct site *s, size_t worker, const struct tokens *t, size_t from, size_t n)
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

/* A vector near that of its topic. */
static inline void vector_of(float *v, size_t d, uint32_t topic, float noise, uint32_t seed)
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

#endif

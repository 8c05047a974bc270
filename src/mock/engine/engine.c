/* Steps: what is admitted, what each computes, how long it lasts, what it produced. */
#include "mock/engine/engine.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define NS_PER_S 1e9

const double sr_mock_time_bounds[SR_MOCK_TIME_BUCKETS] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                                                          0.25,  0.5,   0.75, 1.0,  2.5,  5.0,  10.0};

struct list {
    struct sr_mock_sequence *first, *last;
    size_t n;
};

struct sr_mock_engine {
    struct sr_mock_engine_settings settings;
    struct sr_mock_cache *cache;
    struct list waiting, running;
    struct sr_mock_sequence *news_first, *news_last;
    uint64_t clock, step_end; /* step_end SR_MOCK_NEVER: no step is in progress */
    double factor;
    struct sr_mock_engine_stats stats;
};

struct sr_mock_engine_settings sr_mock_engine_settings_defaults(void)
{
    return (struct sr_mock_engine_settings){.blocks = 8192,
                                            .max_running = 256,
                                            .step_tokens = 2048,
                                            .prefill_token_ns = 100000,
                                            .step_ns = 10000000,
                                            .step_sequence_ns = 100000};
}

/* ---- lists and counts ------------------------------------------------------------------------------- */

/* Before `before`; NULL: at the end. */
static void put_in(struct list *list, struct sr_mock_sequence *s, struct sr_mock_sequence *before)
{
    s->next = before;
    s->prev = before ? before->prev : list->last;
    *(s->prev ? &s->prev->next : &list->first) = s;
    *(before ? &before->prev : &list->last) = s;
    list->n++;
}

static void take_out(struct list *list, struct sr_mock_sequence *s)
{
    *(s->prev ? &s->prev->next : &list->first) = s->next;
    *(s->next ? &s->next->prev : &list->last) = s->prev;
    list->n--;
}

static void observe(struct sr_mock_times *times, uint64_t from, uint64_t to)
{
    double seconds = (double)(to - from) / NS_PER_S;
    size_t at = 0;
    while (at < SR_MOCK_TIME_BUCKETS && seconds > sr_mock_time_bounds[at])
        at++;
    times->buckets[at]++;
    times->count++;
    times->sum += seconds;
}

static void add_news(struct sr_mock_engine *engine, struct sr_mock_sequence *s)
{
    if (s->news)
        return;
    s->news = true;
    s->next_news = NULL;
    *(engine->news_last ? &engine->news_last->next_news : &engine->news_first) = s;
    engine->news_last = s;
}

struct sr_mock_sequence *sr_mock_engine_take(struct sr_mock_engine *engine)
{
    struct sr_mock_sequence *s = engine->news_first;
    if (!s)
        return NULL;
    engine->news_first = s->next_news;
    if (!engine->news_first)
        engine->news_last = NULL;
    s->news = false;
    return s;
}

static void drop_news(struct sr_mock_engine *engine, struct sr_mock_sequence *s)
{
    struct sr_mock_sequence **at = &engine->news_first, *before = NULL;
    for (; *at && *at != s; at = &(*at)->next_news)
        before = *at;
    if (!*at)
        return;
    *at = s->next_news;
    if (engine->news_last == s)
        engine->news_last = before;
    s->news = false;
}

/* ---- life ------------------------------------------------------------------------------------------- */

int sr_mock_engine_new(struct sr_mock_engine **out, const struct sr_mock_engine_settings *settings,
                       struct sr_mock_events *events)
{
    *out = NULL;
    if (settings->max_running < 1 || settings->step_tokens < 1)
        return SR_EINVAL;
    struct sr_mock_engine *engine = sr_mem_calloc(1, sizeof *engine);
    if (!engine)
        return SR_ENOMEM;
    engine->settings = *settings;
    engine->step_end = SR_MOCK_NEVER;
    engine->factor = 1;
    int rc = sr_mock_cache_new(&engine->cache, settings->blocks, events);
    if (rc != SR_OK) {
        sr_mem_free(engine);
        return rc;
    }
    *out = engine;
    return SR_OK;
}

void sr_mock_engine_free(struct sr_mock_engine *engine)
{
    if (!engine)
        return;
    sr_mock_cache_free(engine->cache);
    sr_mem_free(engine);
}

static void free_parts(struct sr_mock_sequence *s)
{
    sr_mem_free(s->tokens);
    sr_mem_free(s->hashes);
    sr_mem_free(s->table);
    s->tokens = s->table = NULL;
    s->hashes = NULL;
}

/* Hashes of the full blocks among the tokens that are there now. */
static void hash_blocks(struct sr_mock_sequence *s)
{
    size_t full = (s->prompt + s->produced) / SR_MOCK_BLOCK;
    for (; s->n_hashes < full; s->n_hashes++)
        s->hashes[s->n_hashes] = sr_mock_block_hash(s->n_hashes ? &s->hashes[s->n_hashes - 1] : NULL,
                                                    &s->tokens[s->n_hashes * SR_MOCK_BLOCK]);
}

static void leave(struct sr_mock_engine *engine, struct sr_mock_sequence *s)
{
    sr_mock_cache_release(engine->cache, s->table, s->n_table);
    s->n_table = 0;
    take_out(s->running ? &engine->running : &engine->waiting, s);
    s->running = false;
}

void sr_mock_engine_remove(struct sr_mock_engine *engine, struct sr_mock_sequence *s)
{
    if (!s->submitted)
        return;
    if (s->news)
        drop_news(engine, s);
    if (!s->finished)
        leave(engine, s);
    s->submitted = false;
    free_parts(s);
}

/* ---- the beginning of a step ------------------------------------------------------------------------ */

static void preempt(struct sr_mock_engine *engine, struct sr_mock_sequence *s)
{
    leave(engine, s);
    s->computed = s->chunk = 0;
    engine->stats.preempted++;
    put_in(&engine->waiting, s, engine->waiting.first);
}

/* The blocks for the first `tokens` tokens. SR_AGAIN when there are not enough; it keeps what it got. */
static int extend(struct sr_mock_engine *engine, struct sr_mock_sequence *s, size_t tokens)
{
    size_t blocks = (tokens + SR_MOCK_BLOCK - 1) / SR_MOCK_BLOCK;
    int rc = SR_OK;
    while (s->n_table < blocks && rc == SR_OK) {
        rc = sr_mock_cache_take(engine->cache, &s->table[s->n_table]);
        s->n_table += rc == SR_OK;
    }
    return rc;
}

/* As vLLM does, blocks are findable from the beginning of the step that fills them. */
static void plan_chunk(struct sr_mock_engine *engine, struct sr_mock_sequence *s, size_t chunk)
{
    s->chunk = chunk;
    sr_mock_cache_commit(engine->cache, s->table, s->hashes, s->tokens, s->computed / SR_MOCK_BLOCK,
                         (s->computed + chunk) / SR_MOCK_BLOCK);
}

static size_t tokens_left(const struct sr_mock_sequence *s)
{
    return s->prompt + s->produced - s->computed;
}

/* Running sequences, in the order of their admission. True when one had to make room. */
static bool plan_running(struct sr_mock_engine *engine, size_t *room)
{
    bool preempted = false;
    for (struct sr_mock_sequence *s = engine->running.first; s; s = s->next) {
        size_t chunk = tokens_left(s) < *room ? tokens_left(s) : *room;
        s->chunk = 0;
        if (chunk == 0)
            continue;
        while (extend(engine, s, s->computed + chunk) == SR_AGAIN) {
            struct sr_mock_sequence *victim = engine->running.last;
            bool itself = victim == s;
            preempt(engine, victim);
            preempted = true;
            if (itself)
                return preempted;
        }
        plan_chunk(engine, s, chunk);
        *room -= chunk;
    }
    return preempted;
}

/* The first waiting sequence; false when it cannot run now. */
static bool admit(struct sr_mock_engine *engine, struct sr_mock_sequence *s, size_t *room)
{
    size_t total = s->prompt + s->produced, idle = 0;
    size_t hits = sr_mock_cache_match(engine->cache, s->hashes, (total - 1) / SR_MOCK_BLOCK, &idle);
    size_t computed = hits * SR_MOCK_BLOCK, left = total - computed;
    size_t chunk = left < *room ? left : *room;
    size_t blocks = (computed + chunk + SR_MOCK_BLOCK - 1) / SR_MOCK_BLOCK - hits;
    if (sr_mock_cache_available(engine->cache) < idle + blocks)
        return false;
    take_out(&engine->waiting, s);
    put_in(&engine->running, s, NULL);
    s->running = true;
    sr_mock_cache_hold(engine->cache, s->hashes, hits, s->table);
    s->n_table = hits;
    s->computed = computed;
    if (extend(engine, s, computed + chunk) != SR_OK) {
        preempt(engine, s);
        return false;
    }
    if (!s->admitted) {
        s->admitted = engine->clock;
        s->cached = computed;
        engine->stats.cache_queries += s->prompt;
        engine->stats.cache_hits += computed;
        observe(&engine->stats.queued, s->arrived, s->admitted);
    }
    plan_chunk(engine, s, chunk);
    *room -= chunk;
    return true;
}

/* The chunk that only computes the token produced before it is a decode; all others are prefill. */
static bool decodes(const struct sr_mock_sequence *s)
{
    return s->chunk == 1 && s->produced > 0 && tokens_left(s) == 1 && s->computed >= s->prompt;
}

static uint64_t step_length(const struct sr_mock_engine *engine)
{
    uint64_t prefill = 0, decoding = 0;
    for (const struct sr_mock_sequence *s = engine->running.first; s; s = s->next)
        if (decodes(s))
            decoding++;
        else
            prefill += s->chunk;
    uint64_t ns = prefill * engine->settings.prefill_token_ns + decoding * engine->settings.step_sequence_ns +
                  (decoding ? engine->settings.step_ns : 0);
    return (uint64_t)((double)ns * engine->factor);
}

static void begin_step(struct sr_mock_engine *engine, uint64_t now)
{
    size_t room = engine->settings.step_tokens;
    engine->clock = now;
    engine->step_end = SR_MOCK_NEVER;
    bool preempted = plan_running(engine, &room);
    while (!preempted && room > 0 && engine->waiting.first &&
           engine->running.n < engine->settings.max_running)
        if (!admit(engine, engine->waiting.first, &room))
            break;
    if (engine->running.n > 0)
        engine->step_end = now + step_length(engine);
}

/* ---- the end of a step ------------------------------------------------------------------------------ */

static void produce(struct sr_mock_engine *engine, struct sr_mock_sequence *s)
{
    uint64_t now = engine->clock;
    size_t at = s->prompt + s->produced++;
    uint32_t before[2] = {s->tokens[at - 1], (uint32_t)at};
    s->tokens[at] = 1000 + (uint32_t)(sr_hash64(sr_bytes_of((const char *)before, sizeof before), 0) % 1000);
    hash_blocks(s);
    engine->stats.answer_tokens++;
    if (!s->first) {
        s->first = now;
        observe(&engine->stats.first_token, s->arrived, now);
    } else {
        observe(&engine->stats.between_tokens, s->last, now);
    }
    s->last = now;
    add_news(engine, s);
    if (s->produced < s->wanted)
        return;
    leave(engine, s);
    s->finished = true;
    engine->stats.finished++;
    engine->stats.prompt_tokens += s->prompt;
    observe(&engine->stats.whole, s->arrived, now);
}

static void end_step(struct sr_mock_engine *engine)
{
    engine->clock = engine->step_end;
    engine->stats.steps++;
    for (struct sr_mock_sequence *s = engine->running.first, *next; s; s = next) {
        next = s->next;
        s->computed += s->chunk;
        bool complete = s->chunk > 0 && tokens_left(s) == 0;
        s->chunk = 0;
        if (complete)
            produce(engine, s);
    }
}

static void complete_steps(struct sr_mock_engine *engine, uint64_t now)
{
    while (engine->step_end != SR_MOCK_NEVER && engine->step_end <= now) {
        end_step(engine);
        begin_step(engine, engine->clock);
    }
}

int sr_mock_engine_submit(struct sr_mock_engine *engine, struct sr_mock_sequence *s, const uint32_t *tokens,
                          uint64_t now)
{
    if (s->prompt < 1 || s->wanted < 1)
        return SR_EINVAL;
    size_t room = engine->settings.blocks * SR_MOCK_BLOCK;
    if (s->prompt > room || s->wanted > room - s->prompt)
        return SR_ELIMIT;
    complete_steps(engine, now);
    if (engine->settings.max_waiting && engine->waiting.n >= engine->settings.max_waiting) {
        engine->stats.refused++;
        return SR_AGAIN;
    }
    size_t all = s->prompt + s->wanted, blocks = (all + SR_MOCK_BLOCK - 1) / SR_MOCK_BLOCK;
    s->tokens = sr_mem_alloc(all * sizeof *s->tokens);
    s->hashes = sr_mem_alloc(blocks * sizeof *s->hashes);
    s->table = sr_mem_alloc(blocks * sizeof *s->table);
    if (!s->tokens || !s->hashes || !s->table) {
        free_parts(s);
        return SR_ENOMEM;
    }
    memcpy(s->tokens, tokens, s->prompt * sizeof *tokens);
    hash_blocks(s);
    s->arrived = now;
    s->submitted = true;
    put_in(&engine->waiting, s, NULL);
    return SR_OK;
}

uint64_t sr_mock_engine_advance(struct sr_mock_engine *engine, uint64_t now)
{
    complete_steps(engine, now);
    if (engine->step_end == SR_MOCK_NEVER && engine->waiting.first)
        begin_step(engine, now);
    return engine->step_end;
}

/* ---- orders and state ------------------------------------------------------------------------------- */

void sr_mock_engine_slow(struct sr_mock_engine *engine, double factor)
{
    engine->factor = factor > 0 ? factor : 1;
}

void sr_mock_engine_evict(struct sr_mock_engine *engine)
{
    sr_mock_cache_clear(engine->cache);
}

void sr_mock_engine_stats(const struct sr_mock_engine *engine, struct sr_mock_engine_stats *out)
{
    *out = engine->stats;
    out->running = engine->running.n;
    out->waiting = engine->waiting.n;
    out->blocks = engine->settings.blocks;
    out->blocks_held = out->blocks - sr_mock_cache_available(engine->cache);
    out->blocks_stored = sr_mock_cache_stored(engine->cache);
}

/*
 * One loop over what happens next: a turn that is due, or a step of an engine that ends. A request goes
 * through a ticket as in a door, with up to as many tries as there are workers.
 */
#include "bench/pool_sim.h"

#include "base/mem.h"
#include "bench/pool_sim_ask.h"
#include "bench/pool_site.h"
#include "mock/engine/engine.h"
#include "pool/clock.h"
#include "pool/report.h"
#include "pool/ticket.h"
#include "serve/kv/batch.h"

#include <stdio.h>

#define WORKERS       SR_BENCH_POOL_WORKERS
#define BEGINS_NS     UINT64_C(1000000000) /* the clock's first time: 0 is none */
#define REPORTS_NS    UINT64_C(1000000000) /* between two reports of load */
#define LOOKS_NS      UINT64_C(25000000) /* between two looks for requests to take back, as the gateway has */
#define NS_PER_MS     1000000u
#define ARENA_MAX     ((size_t)64 << 20)
#define BLOCKS_LEAST  ((size_t)64) /* that a policy can be told of */
#define RETRIES       1            /* after which no request is taken back, as in the gateway */
#define SLOW_FACTOR   4
#define KILLED_WORKER 1
#define SLOW_WORKER   2

struct sim;

struct session {
    struct sim *sim;
    const struct sr_bench_session *of;
    size_t index, turn;
    uint64_t due, sent; /* SR_MOCK_NEVER: none is */
    struct sr_bench_answer *answer;
    struct sr_arena arena; /* of the turn in progress */
    struct sr_sim_ask ask;
    struct sr_ticket ticket;
    struct sr_mock_sequence sequence;
    size_t worker;
    int tries;
};

struct worker {
    struct sim *sim;
    struct sr_mock_engine *engine;
    struct sr_mock_events events;
    struct sr_pool_backend backend;
    char host[16];
    uint64_t next; /* when its step ends */
    bool dead;
};

struct sim {
    struct sr_bench_run *run;
    struct sr_pool *pool;
    struct sr_pool_group *group;
    struct sr_sim_asks *asks;
    struct worker workers[WORKERS];
    struct session *sessions;
    struct sr_buf batch;
    size_t open, sent;
    uint64_t now, reports, looks, last;
    int rc;
};

static void fail(struct sim *sim, int rc)
{
    sim->rc = sim->rc ? sim->rc : rc;
}

/* ---- what workers tell ------------------------------------------------------------------------------ */

static void tell(void *ctx, const struct sr_pool_kv_event *event)
{
    struct worker *w = ctx;
    int rc = sr_pool_report_kv(w->sim->pool, &w->backend, event);
    if (rc)
        fail(w->sim, rc);
}

static void publish(struct worker *w)
{
    struct sr_kv_read read = {0};
    if (w->events.n == 0)
        return;
    sr_buf_clear(&w->sim->batch);
    int rc = sr_mock_events_take(&w->events, 0, &w->sim->batch);
    if (rc == SR_OK)
        rc = sr_kv_batch_read(sr_buf_view(&w->sim->batch), tell, w, &read);
    if (rc)
        fail(w->sim, rc);
}

static void report(struct sim *sim)
{
    for (size_t i = 0; i < WORKERS; i++) {
        struct sr_mock_engine_stats stats;
        sr_mock_engine_stats(sim->workers[i].engine, &stats);
        struct sr_pool_reported load = {.running = (uint32_t)stats.running,
                                        .waiting = (uint32_t)stats.waiting,
                                        .kv_usage = (double)stats.blocks_held / (double)stats.blocks};
        int rc =
            sr_pool_report_load(sim->pool, &sim->workers[i].backend, sim->workers[i].dead ? NULL : &load);
        if (rc)
            fail(sim, rc);
    }
}

/* ---- one request ------------------------------------------------------------------------------------ */

/* The turn is over; the next one follows after its pause, also when this one was lost. */
static void finish(struct session *s)
{
    struct sim *sim = s->sim;
    sr_ticket_dispose(&s->ticket);
    sr_mock_engine_remove(sim->workers[s->worker].engine, &s->sequence);
    sr_sim_ask_dispose(&s->ask);
    sr_arena_reset(&s->arena);
    sim->last = sim->now;
    if (++s->turn < s->of->n)
        s->due = sim->now + (uint64_t)s->of->turns[s->turn].pause_ms * NS_PER_MS;
    else
        sim->open--;
}

static void submit(struct session *s)
{
    struct worker *w = &s->sim->workers[s->worker];
    s->sequence = (struct sr_mock_sequence){
        .ctx = s, .prompt = s->ask.tokens.n, .wanted = s->of->turns[s->turn].answer};
    int rc = sr_mock_engine_submit(w->engine, &s->sequence, s->ask.tokens.ids, s->sim->now);
    if (rc)
        fail(s->sim, rc);
    w->next = s->sim->now; /* a step may begin */
}

/* At this worker, or, where it cannot be reached, at the next ones. */
static void begin_at(struct session *s, int at)
{
    for (; at >= 0; at = sr_ticket_choose(&s->ticket)) {
        sr_ticket_begin(&s->ticket, (size_t)at);
        s->worker = (size_t)at;
        s->tries++;
        if (!s->sim->workers[at].dead) {
            submit(s);
            return;
        }
        sr_ticket_report(&s->ticket, (size_t)at, SR_TICKET_UNREACHABLE, 0);
    }
    finish(s);
}

static void send_to(struct session *s)
{
    begin_at(s, sr_ticket_choose(&s->ticket));
}

/* A request whose worker was found to be slow or gone before its first token goes to another one. */
static void take_back(struct session *s)
{
    struct sim *sim = s->sim;
    if (!s->sequence.submitted || s->sequence.produced > 0 || s->tries > RETRIES ||
        !sr_ticket_left_behind(&s->ticket))
        return;
    int at = sr_ticket_choose_well(&s->ticket);
    if (at < 0)
        return;
    sr_mock_engine_remove(sim->workers[s->worker].engine, &s->sequence);
    sim->run->taken_back++;
    begin_at(s, at);
}

static void kill_worker(struct sim *sim, size_t worker)
{
    sim->workers[worker].dead = true;
    sim->workers[worker].next = SR_MOCK_NEVER;
    for (size_t i = 0; i < sim->run->workload->n; i++) {
        struct session *s = &sim->sessions[i];
        if (!s->sequence.submitted || s->worker != worker)
            continue;
        s->answer->partial = s->sequence.produced > 0;
        sr_mock_engine_remove(sim->workers[worker].engine, &s->sequence);
        sr_ticket_report(&s->ticket, worker, SR_TICKET_LOST, 0);
        if (s->answer->partial)
            finish(s);
        else
            send_to(s);
    }
}

static void send_turn(struct session *s)
{
    struct sim *sim = s->sim;
    s->due = SR_MOCK_NEVER;
    s->sent = sim->now;
    s->tries = 0;
    s->answer = &sim->run->answers[sim->sent++];
    int rc = sr_sim_ask_make(&s->ask, sim->asks, &s->of->turns[s->turn], s->index, &s->arena);
    if (rc == SR_OK)
        rc = sr_ticket_open(&s->ticket, sim->group, &s->arena);
    if (rc) {
        fail(sim, rc);
        return;
    }
    sr_ticket_ask(&s->ticket, &s->ask.ask);
    if (sim->run->faults && sim->sent == sim->run->n / 3) {
        kill_worker(sim, KILLED_WORKER);
        sr_mock_engine_slow(sim->workers[SLOW_WORKER].engine, SLOW_FACTOR);
    }
    send_to(s);
}

static void take_news(struct worker *w)
{
    struct sr_mock_sequence *sequence;
    while ((sequence = sr_mock_engine_take(w->engine)) != NULL) {
        struct session *s = sequence->ctx;
        if (!s->ticket.answered)
            sr_ticket_report(&s->ticket, s->worker, SR_TICKET_ANSWERED, 200);
        sr_ticket_first_byte(&s->ticket);
        if (!sequence->finished)
            continue;
        *s->answer = (struct sr_bench_answer){.answered = true,
                                              .status = 200,
                                              .worker = (uint32_t)s->worker,
                                              .prompt_tokens = (uint32_t)sequence->prompt,
                                              .cached_tokens = (uint32_t)sequence->cached,
                                              .answer_tokens = (uint32_t)sequence->produced,
                                              .ttft_ms = (double)(sequence->first - s->sent) / NS_PER_MS};
        finish(s);
    }
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static uint64_t next_time(const struct sim *sim)
{
    uint64_t next = sim->reports < sim->looks ? sim->reports : sim->looks;
    for (size_t i = 0; i < WORKERS; i++)
        next = sim->workers[i].next < next ? sim->workers[i].next : next;
    for (size_t i = 0; i < sim->run->workload->n; i++)
        next = sim->sessions[i].due < next ? sim->sessions[i].due : next;
    return next;
}

static void run_all(struct sim *sim)
{
    while (sim->open > 0 && sim->rc == SR_OK) {
        sim->now = next_time(sim);
        sr_pool_clock_set(sim->now);
        for (size_t i = 0; i < WORKERS; i++) {
            struct worker *w = &sim->workers[i];
            if (w->dead || w->next > sim->now)
                continue;
            w->next = sr_mock_engine_advance(w->engine, sim->now);
            publish(w);
            take_news(w);
        }
        for (size_t i = 0; i < sim->run->workload->n; i++)
            if (sim->sessions[i].due <= sim->now)
                send_turn(&sim->sessions[i]);
        if (sim->looks <= sim->now) {
            for (size_t i = 0; i < sim->run->workload->n; i++)
                take_back(&sim->sessions[i]);
            sim->looks += LOOKS_NS;
        }
        if (sim->reports <= sim->now) {
            report(sim);
            sim->reports += REPORTS_NS;
        }
    }
}

static int open_workers(struct sim *sim, const char *policy, size_t blocks)
{
    struct sr_mock_engine_settings settings = sr_mock_engine_settings_defaults();
    struct sr_pool_settings picking = sr_pool_settings_defaults();
    struct sr_pool_ejection ejection = {5, UINT64_C(30) * 1000 * NS_PER_MS, 50, SR_POOL_SLOW_TIMES,
                                        SR_POOL_RECOVERY_NS};
    struct sr_pool_backend backends[WORKERS];
    struct sr_err err = {0};
    int rc = SR_OK;
    settings.blocks = blocks;
    picking.blocks = blocks < BLOCKS_LEAST ? BLOCKS_LEAST : blocks;
    for (size_t i = 0; i < WORKERS && rc == SR_OK; i++) {
        struct worker *w = &sim->workers[i];
        w->sim = sim;
        w->next = SR_MOCK_NEVER;
        snprintf(w->host, sizeof w->host, "w%zu", i);
        w->backend = (struct sr_pool_backend){
            .scheme = "http", .host = w->host, .base_path = "", .port = 8000, .weight = 1};
        backends[i] = w->backend;
        sr_mock_events_init(&w->events, SR_MOCK_EVENTS_ARRAYS);
        rc = sr_mock_engine_new(&w->engine, &settings, &w->events);
    }
    if (rc == SR_OK)
        rc = sr_pool_new(&sim->pool);
    if (rc == SR_OK)
        rc = sr_pool_group_get(sim->pool, &sim->group, "pool", policy, &picking, &ejection, NULL, backends,
                               WORKERS, &err);
    return rc;
}

static int open_sessions(struct sim *sim)
{
    const struct sr_bench_workload *workload = sim->run->workload;
    sim->sessions = sr_mem_calloc(workload->n + 1, sizeof *sim->sessions);
    sim->run->answers = sr_mem_calloc(sim->run->n + 1, sizeof *sim->run->answers);
    if (!sim->sessions || !sim->run->answers)
        return SR_ENOMEM;
    for (size_t i = 0; i < workload->n; i++) {
        struct session *s = &sim->sessions[i];
        *s = (struct session){.sim = sim, .of = &workload->sessions[i], .index = i, .due = SR_MOCK_NEVER};
        sr_arena_init(&s->arena, ARENA_MAX);
        if (s->of->n == 0)
            continue;
        s->due = BEGINS_NS + s->of->start_ms * NS_PER_MS;
        sim->open++;
    }
    return sr_sim_asks_new(&sim->asks);
}

static void add_slowed(void *ctx, const struct sr_pool_worker_count *count)
{
    *(size_t *)ctx += count->slowed;
}

static void no_queue(void *ctx, const char *group, uint32_t waiting)
{
    (void)ctx;
    (void)group;
    (void)waiting;
}

static void close_all(struct sim *sim)
{
    for (size_t i = 0; sim->sessions && i < sim->run->workload->n; i++) {
        struct session *s = &sim->sessions[i];
        sr_ticket_dispose(&s->ticket);
        if (s->sequence.submitted)
            sr_mock_engine_remove(sim->workers[s->worker].engine, &s->sequence);
        sr_sim_ask_dispose(&s->ask);
        sr_arena_dispose(&s->arena);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        sr_mock_engine_free(sim->workers[i].engine);
        sr_mock_events_dispose(&sim->workers[i].events);
    }
    sr_pool_group_unref(sim->group);
    sr_pool_free(sim->pool);
    sr_sim_asks_free(sim->asks);
    sr_buf_dispose(&sim->batch);
    sr_mem_free(sim->sessions);
    sr_pool_clock_set(0);
}

int sr_bench_sim_trace(struct sr_bench_run *run, const char *policy, size_t blocks)
{
    struct sim *sim = sr_mem_calloc(1, sizeof *sim);
    if (!sim)
        return SR_ENOMEM;
    sim->run = run;
    sim->reports = sim->looks = BEGINS_NS;
    run->n = run->workload->requests;
    sr_pool_clock_set(BEGINS_NS);
    sr_buf_init(&sim->batch, SR_MOCK_EVENTS_MAX + 64);
    int rc = open_workers(sim, policy, blocks);
    if (rc == SR_OK)
        rc = open_sessions(sim);
    if (rc == SR_OK) {
        run_all(sim);
        rc = sim->rc;
        sr_pool_count(sim->pool, add_slowed, no_queue, &run->slowed);
    }
    run->seconds = (double)(sim->last - BEGINS_NS) / 1e9;
    close_all(sim);
    sr_mem_free(sim);
    return rc;
}

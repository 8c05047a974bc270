/*
 * The inference engine's queue: batches, priorities, lanes, limits, cancellation, shutdown.
 *
 * The encoder is this file's own: it has the symbols of infer/encoder/encoder.h, remembers what it was given
 * and can be held at a gate, so that nothing here depends on time.
 */
#include "tests/unit/cmocka_all.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/ref.h"
#include "infer/engine/engine.h"
#include "observe/exposition.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCHES_MAX 4096
#define JOBS_MAX    4096

/* ---- the encoder ---- */

struct sr_encoder {
    struct sr_ref ref;
    struct sr_encoder_info info;
};

struct sr_encoder_work {
    size_t bytes;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;     /* batches wait at the gate */
    unsigned inside; /* batches that wait there */
    size_t n_batches;
    struct {
        const struct sr_encoder *encoder;
        size_t jobs, tokens;
        int32_t first;
    } batches[BATCHES_MAX];
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct sr_encoder *sr_encoder_ref(struct sr_encoder *encoder)
{
    sr_ref_get(&encoder->ref);
    return encoder;
}

void sr_encoder_unref(struct sr_encoder *encoder)
{
    if (encoder && sr_ref_put(&encoder->ref))
        sr_mem_free(encoder);
}

const struct sr_encoder_info *sr_encoder_info(const struct sr_encoder *encoder)
{
    return &encoder->info;
}

size_t sr_encoder_need(const struct sr_encoder *encoder, size_t tokens)
{
    (void)encoder;
    return tokens * 1024;
}

int sr_encoder_work_new(struct sr_encoder_work **out, size_t max_bytes)
{
    (void)max_bytes;
    *out = sr_mem_calloc(1, sizeof **out);
    return *out ? SR_OK : SR_ENOMEM;
}

void sr_encoder_work_free(struct sr_encoder_work *work)
{
    sr_mem_free(work);
}

size_t sr_encoder_work_bytes(const struct sr_encoder_work *work)
{
    return work->bytes;
}

/* As between two layers: not under the gate's lock, as it may wait. */
static bool gate_stops(const struct sr_encoder_between *between)
{
    pthread_mutex_unlock(&gate.lock);
    bool stops = between->stops(between->ctx);
    pthread_mutex_lock(&gate.lock);
    return stops;
}

/* What it answers: the sum of the ids. An id of -1 is a broken job. */
int sr_encoder_run(const struct sr_encoder *encoder, struct sr_team *team, struct sr_encoder_work *work,
                   const struct sr_encoder_item *items, size_t n_items,
                   const struct sr_encoder_between *between)
{
    (void)team;
    size_t tokens = 0;
    for (size_t i = 0; i < n_items; i++)
        tokens += items[i].n_ids;
    work->bytes = tokens * 1024;
    pthread_mutex_lock(&gate.lock);
    if (gate.n_batches < BATCHES_MAX) {
        gate.batches[gate.n_batches].encoder = encoder;
        gate.batches[gate.n_batches].jobs = n_items;
        gate.batches[gate.n_batches].tokens = tokens;
        gate.batches[gate.n_batches++].first = items[0].ids[0];
    }
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    bool stopped = gate_stops(between);
    while (gate.closed && !stopped) {
        pthread_cond_wait(&gate.changed, &gate.lock);
        stopped = gate_stops(between);
    }
    gate.inside--;
    pthread_mutex_unlock(&gate.lock);
    if (stopped)
        return SR_ECANCELED;
    for (size_t i = 0; i < n_items; i++) {
        float sum = 0;
        for (size_t k = 0; k < items[i].n_ids; k++) {
            if (items[i].ids[k] < 0)
                return SR_EINVAL;
            sum += (float)items[i].ids[k];
        }
        items[i].out[0][0] = sum;
    }
    return SR_OK;
}

static struct sr_encoder *encoder_new(size_t max_tokens)
{
    struct sr_encoder *encoder = sr_mem_calloc(1, sizeof *encoder);
    assert_non_null(encoder);
    sr_ref_init(&encoder->ref);
    encoder->info.max_tokens = max_tokens;
    return encoder;
}

static void gate_close(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = true;
    gate.n_batches = 0;
    pthread_mutex_unlock(&gate.lock);
}

static void gate_open(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = false;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* What waits at the closed gate looks at its stop flag. */
static void gate_look(void)
{
    pthread_mutex_lock(&gate.lock);
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* Lets it look until it is gone. */
static void *gate_nudge(void *arg)
{
    for (bool inside = true; inside; usleep(100)) {
        pthread_mutex_lock(&gate.lock);
        inside = gate.inside > 0;
        pthread_cond_broadcast(&gate.changed);
        pthread_mutex_unlock(&gate.lock);
    }
    return arg;
}

static void gate_await(unsigned inside)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.inside != inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* ---- jobs ---- */

struct job {
    struct sr_infer_job job;
    int32_t *ids;
    float out;
    int order;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done, status[JOBS_MAX]; /* in the order of their ends */
} ends = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void job_done(struct sr_infer_job *base, int status)
{
    struct job *job = (struct job *)base;
    pthread_mutex_lock(&ends.lock);
    job->order = ends.done;
    ends.status[ends.done++] = status;
    pthread_cond_broadcast(&ends.changed);
    pthread_mutex_unlock(&ends.lock);
}

static void await_ends(int n)
{
    pthread_mutex_lock(&ends.lock);
    while (ends.done < n)
        pthread_cond_wait(&ends.changed, &ends.lock);
    pthread_mutex_unlock(&ends.lock);
}

static int status_of(const struct job *job)
{
    return job->order < 0 ? 1 : ends.status[job->order];
}

static struct job *job_new(struct sr_encoder *encoder, int32_t id, size_t n, enum sr_infer_priority priority)
{
    struct job *job = sr_mem_calloc(1, sizeof *job);
    assert_non_null(job);
    job->ids = sr_mem_calloc(n, sizeof *job->ids);
    assert_non_null(job->ids);
    for (size_t i = 0; i < n; i++)
        job->ids[i] = id;
    job->order = -1;
    job->job = (struct sr_infer_job){.encoder = encoder, .priority = priority, .done = job_done};
    job->job.item = (struct sr_encoder_item){.ids = job->ids, .n_ids = n, .heads = 1, .out = {&job->out}};
    return job;
}

static void job_free(struct job *job)
{
    sr_mem_free(job->ids);
    sr_mem_free(job);
}

static struct sr_infer *engine(struct sr_infer_options options)
{
    struct sr_infer *infer = NULL;
    struct sr_err err = {0};
    if (options.threads == 0)
        options.threads = 1;
    if (sr_infer_new(&infer, &options, &err))
        fail_msg("%s", err.message);
    pthread_mutex_lock(&ends.lock);
    ends.done = 0;
    pthread_mutex_unlock(&ends.lock);
    return infer;
}

static struct job *put(struct sr_infer *infer, struct sr_encoder *encoder, int32_t id, size_t n,
                       enum sr_infer_priority priority)
{
    struct job *job = job_new(encoder, id, n, priority);
    assert_int_equal(sr_infer_submit(infer, &job->job), SR_OK);
    return job;
}

/* ---- the fixture: an engine, an encoder and what was put to them ---- */

#define BENCH_JOBS 128

struct bench {
    struct sr_encoder *encoder;
    struct sr_infer_options options; /* as they are when `start` is called */
    struct sr_infer *infer;
    struct job *jobs[BENCH_JOBS];
    size_t n;
};

static int set_up(void **state)
{
    struct bench *bench = sr_mem_calloc(1, sizeof *bench);
    bench->encoder = encoder_new(4096);
    bench->options = sr_infer_defaults();
    bench->options.wait_ns = 0;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    gate_open(); /* a test that failed left it closed */
    sr_infer_free(bench->infer);
    sr_metrics_free(bench->options.metrics);
    for (size_t i = 0; i < bench->n; i++)
        job_free(bench->jobs[i]);
    sr_encoder_unref(bench->encoder);
    sr_mem_free(bench);
    return 0;
}

/* A job that is not submitted. */
static struct job *make(struct bench *bench, int32_t id, size_t n, enum sr_infer_priority priority)
{
    assert_true(bench->n < BENCH_JOBS);
    return bench->jobs[bench->n++] = job_new(bench->encoder, id, n, priority);
}

static struct job *add(struct bench *bench, int32_t id, size_t n, enum sr_infer_priority priority)
{
    struct job *job = make(bench, id, n, priority);
    assert_int_equal(sr_infer_submit(bench->infer, &job->job), SR_OK);
    return job;
}

/* The engine runs, and a first job stands at the closed gate. */
static struct job *start(struct bench *bench, size_t n, enum sr_infer_priority priority)
{
    bench->infer = engine(bench->options);
    gate_close();
    struct job *first = add(bench, 1, n, priority);
    gate_await(1);
    return first;
}

/* ---- tests ---- */

static void test_batches_form_while_one_runs(void **state)
{
    struct bench *bench = *state;
    bench->options.batch_tokens = 100;
    start(bench, 10, SR_INFER_INTERACTIVE);
    struct sr_encoder *other = encoder_new(4096);
    struct job *second = add(bench, 2, 40, SR_INFER_INTERACTIVE);
    struct job *alone = put(bench->infer, other, 3, 10, SR_INFER_INTERACTIVE);
    add(bench, 4, 50, SR_INFER_INTERACTIVE); /* does not fit with the others */
    add(bench, 5, 20, SR_INFER_INTERACTIVE);
    add(bench, 6, 10, SR_INFER_INTERACTIVE);
    struct sr_infer_stats stats = sr_infer_stats(bench->infer);
    assert_int_equal(stats.jobs, 5);
    assert_int_equal(stats.tokens, 130);
    gate_open();
    await_ends(6);
    for (size_t i = 0; i < bench->n; i++) {
        struct job *job = bench->jobs[i];
        assert_int_equal(status_of(job), SR_OK);
        assert_true(job->out == (float)job->ids[0] * (float)job->job.item.n_ids);
    }
    assert_int_equal(status_of(alone), SR_OK);
    assert_true(alone->out == 30);
    assert_int_equal(gate.n_batches, 4);
    assert_ptr_equal(gate.batches[1].encoder, other);
    assert_int_equal(gate.batches[2].jobs, 3);
    assert_int_equal(gate.batches[2].tokens, 70);
    assert_int_equal(gate.batches[3].first, 4);
    assert_int_equal(second->job.batch_jobs, 3);
    assert_int_equal(second->job.batch_tokens, 70);
    job_free(alone);
    sr_encoder_unref(other);
}

static void test_interactive_first(void **state)
{
    struct bench *bench = *state;
    bench->options.long_tokens = 3; /* all in one lane */
    start(bench, 4, SR_INFER_BULK);
    add(bench, 2, 4, SR_INFER_BULK);
    add(bench, 3, 4, SR_INFER_INTERACTIVE);
    gate_open();
    await_ends(3);
    assert_int_equal(gate.batches[1].first, 3);
    assert_int_equal(gate.batches[2].first, 2);
}

/* Bulk jobs that have waited long enough take turns with interactive ones; neither is starved. */
static void test_bulk_takes_turns(void **state)
{
    struct bench *bench = *state;
    bench->options.batch_tokens = 4;
    bench->options.long_tokens = 3;
    start(bench, 4, SR_INFER_INTERACTIVE);
    for (int32_t i = 2; i < 6; i++)
        add(bench, i, 4, SR_INFER_BULK);
    usleep(600000); /* more than their patience */
    for (int32_t i = 6; i < 8; i++)
        add(bench, i, 4, SR_INFER_INTERACTIVE);
    gate_open();
    await_ends(7);
    static const int32_t order[] = {1, 2, 6, 3, 7, 4, 5};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(gate.batches[i].first, order[i]);
}

static const struct sr_span_ref NOBODY;

/* What the engine told of batches; guarded by the gate's lock. */
static struct {
    size_t n, jobs, tokens, n_origins, more;
    uint8_t spans[SR_INFER_ORIGINS_MAX];
    bool in_time;
} told;

static void on_batch(void *ctx, const struct sr_infer_batch *batch)
{
    (void)ctx;
    pthread_mutex_lock(&gate.lock);
    told.n++;
    told.jobs = batch->jobs;
    told.tokens = batch->tokens;
    told.n_origins = batch->n_origins;
    told.more = batch->more;
    told.in_time = batch->began_ns && batch->began_ns <= batch->ended_ns;
    for (size_t i = 0; i < batch->n_origins; i++)
        told.spans[i] = batch->origins[i].span[0];
    pthread_mutex_unlock(&gate.lock);
}

static struct job *add_for(struct bench *bench, int32_t id, uint8_t request)
{
    struct job *job = make(bench, id, 4, SR_INFER_INTERACTIVE);
    job->job.origin.known = request != 0;
    job->job.origin.span[0] = request;
    assert_int_equal(sr_infer_submit(bench->infer, &job->job), SR_OK);
    return job;
}

/* Each request once; those whose job was cancelled, and jobs of no request, are not among them. */
static void test_a_batch_names_its_requests(void **state)
{
    struct bench *bench = *state;
    memset(&told, 0, sizeof told);
    bench->options.batch = on_batch;
    start(bench, 4, SR_INFER_INTERACTIVE);
    for (uint8_t i = 0; i < 6; i++)
        add_for(bench, i + 2, i % 3);
    gate_open();
    await_ends(7);
    assert_int_equal(told.n, 1); /* not of the first, which has no request */
    assert_true(told.in_time);
    assert_int_equal(told.jobs, 6);
    assert_int_equal(told.tokens, 24);
    assert_int_equal(told.n_origins, 2);
    assert_int_equal(told.more, 0);
    assert_int_equal(told.spans[0] + told.spans[1], 3);
}

static void test_origins_of_a_batch_are_bounded(void **state)
{
    struct bench *bench = *state;
    memset(&told, 0, sizeof told);
    bench->options.batch = on_batch;
    start(bench, 4, SR_INFER_INTERACTIVE);
    for (uint8_t i = 1; i <= SR_INFER_ORIGINS_MAX + 10; i++)
        add_for(bench, i + 2, i);
    gate_open();
    await_ends(SR_INFER_ORIGINS_MAX + 11);
    assert_int_equal(told.n_origins, SR_INFER_ORIGINS_MAX);
    assert_int_equal(told.more, 10);
}

/* What nobody waits for comes last, until somebody does; the queue keeps room for others. */
static void test_ahead_comes_last(void **state)
{
    struct bench *bench = *state;
    struct job *ahead[4];
    bench->options.batch_tokens = 32; /* eight in this lane */
    bench->options.long_tokens = 3;
    bench->options.queue_jobs = 20;
    start(bench, 4, SR_INFER_BULK);
    for (int i = 0; i < 4; i++)
        ahead[i] = add(bench, i + 2, 4, SR_INFER_PREFETCH);
    add(bench, 6, 4, SR_INFER_BULK);
    struct job *refused = make(bench, 7, 4, SR_INFER_PREFETCH); /* a quarter is full */
    struct sr_infer_job *list[] = {&refused->job};
    assert_int_equal(sr_infer_submit_list(bench->infer, list, 1), SR_EBUSY);
    add(bench, 8, 4, SR_INFER_INTERACTIVE);
    sr_infer_hasten(bench->infer, &ahead[3]->job, SR_INFER_INTERACTIVE, 0, &NOBODY, 4);
    gate_open();
    await_ends(7);
    assert_int_equal(gate.n_batches, 5);
    assert_int_equal(gate.batches[1].first, 8);
    assert_int_equal(gate.batches[1].jobs, 2); /* with the one that was hastened */
    assert_int_equal(gate.batches[2].first, 6);
    assert_int_equal(gate.batches[3].first, 2);
    assert_int_equal(gate.batches[3].jobs, 2);
    sr_infer_hasten(bench->infer, &ahead[0]->job, SR_INFER_BULK, 0, &NOBODY,
                    4); /* too late: nothing happens */
}

/* What a request waits for now goes to the lane of its text. */
static void test_hastened_to_its_lane(void **state)
{
    struct bench *bench = *state;
    start(bench, 4, SR_INFER_BULK);
    struct job *brief = add(bench, 2, 4, SR_INFER_PREFETCH), *part = add(bench, 3, 4, SR_INFER_PREFETCH);
    sr_infer_hasten(bench->infer, &part->job, SR_INFER_INTERACTIVE, 0, &NOBODY, 100000);
    sr_infer_hasten(bench->infer, &brief->job, SR_INFER_INTERACTIVE, 0, &NOBODY, 4);
    gate_await(2); /* the short one */
    assert_int_equal(gate.batches[1].first, 2);
    gate_open();
    await_ends(3);
}

/* A client's jobs as a text: submitted together. */
static void put_text(struct sr_infer *infer, struct sr_encoder *encoder, struct job *jobs[], int32_t id,
                     size_t n, uint64_t client)
{
    struct sr_infer_job *list[SR_INFER_MANY + 1];
    for (size_t i = 0; i < n; i++) {
        jobs[i] = job_new(encoder, id, 4, SR_INFER_INTERACTIVE);
        jobs[i]->job.client = client;
        list[i] = &jobs[i]->job;
    }
    assert_int_equal(sr_infer_submit_list(infer, list, n), SR_OK);
}

static struct sr_infer *one_at_a_time(void)
{
    struct sr_infer_options options = sr_infer_defaults();
    options.wait_ns = 0;
    options.batch_tokens = 4; /* one job */
    options.long_tokens = 3;  /* one lane */
    options.queue_jobs = 80;
    return engine(options);
}

static void check_order(const char *order)
{
    for (size_t i = 0; order[i]; i++)
        assert_int_equal(gate.batches[i].first, order[i] - '0');
    assert_int_equal(gate.n_batches, strlen(order));
}

/* Of a client's texts the one with the fewest tokens left is first, but a long text is overtaken only until
 * it would have been done if all had shared. */
static void test_the_shortest_is_first(void **state)
{
    (void)state;
    struct sr_encoder *a = encoder_new(4096);
    struct sr_infer *infer = one_at_a_time();
    struct job *jobs[20];
    gate_close();
    put_text(infer, a, jobs, 1, 1, 7);
    gate_await(1);
    put_text(infer, a, jobs + 1, 2, 5, 7);
    put_text(infer, a, jobs + 6, 3, 2, 7);
    put_text(infer, a, jobs + 8, 4, 1, 7);
    put_text(infer, a, jobs + 9, 5, 5, 7); /* as long as the first: after it */
    gate_open();
    await_ends(14);
    check_order("14332222255555");
    sr_infer_free(infer);
    for (int i = 0; i < 14; i++)
        job_free(jobs[i]);
    sr_encoder_unref(a);
}

/* New short texts do not keep a long one waiting for ever. */
static void test_long_texts_age(void **state)
{
    (void)state;
    struct sr_encoder *a = encoder_new(4096);
    struct sr_infer *infer = one_at_a_time();
    struct job *jobs[80];
    int n = 0, brief = 0;
    gate_close();
    put_text(infer, a, jobs, 1, 1, 7);
    gate_await(1);
    put_text(infer, a, jobs + 1, 2, 4, 7);
    n = 5;
    for (; jobs[4]->order < 0 && brief < 60; brief++) { /* one more whenever one is done */
        put_text(infer, a, jobs + n, 3, 1, 7);
        n++;
        gate_open();
        await_ends(brief + 1);
    }
    assert_true(brief < 60);
    await_ends(n);
    sr_infer_free(infer);
    for (int i = 0; i < n; i++)
        job_free(jobs[i]);
    sr_encoder_unref(a);
}

/* Clients share alike, however much each has. */
static void test_clients_share(void **state)
{
    (void)state;
    struct sr_encoder *a = encoder_new(4096);
    struct sr_infer *infer = one_at_a_time();
    struct job *jobs[20];
    gate_close();
    put_text(infer, a, jobs, 1, 1, 1);
    gate_await(1);
    put_text(infer, a, jobs + 1, 2, 4, 1);
    put_text(infer, a, jobs + 5, 3, 4, 1);
    put_text(infer, a, jobs + 9, 4, 4, 2);
    gate_open();
    await_ends(13);
    size_t second = 0;
    for (size_t i = 0; i < 8; i++)
        second += gate.batches[i].first == 4;
    assert_true(second >= 3); /* four of the first nine are the second client's */
    assert_int_equal(gate.batches[12].first, 3);
    sr_infer_free(infer);
    for (int i = 0; i < 13; i++)
        job_free(jobs[i]);
    sr_encoder_unref(a);
}

/* A text that others leave no time is refused at once; one that is too long anyway is taken while little
 * waits. */
static void test_deadlines_refuse(void **state)
{
    struct bench *bench = *state;
    bench->options.long_tokens = 3;
    bench->infer = engine(bench->options);
    struct job *before = add(bench, 1, 4, SR_INFER_INTERACTIVE), *late;
    await_ends(1);
    assert_int_equal(status_of(before), SR_OK);
    gate_close();
    before = add(bench, 1, 4000, SR_INFER_INTERACTIVE);
    gate_await(1);
    add(bench, 2, 4000, SR_INFER_INTERACTIVE);
    late = make(bench, 3, 4001, SR_INFER_INTERACTIVE);
    late->job.deadline_ns = 1; /* long ago */
    assert_int_equal(sr_infer_submit(bench->infer, &late->job), SR_EBUSY);
    late->job.deadline_ns = UINT64_MAX;
    assert_int_equal(sr_infer_submit(bench->infer, &late->job), SR_OK);
    struct job *brief = make(bench, 4, 4, SR_INFER_INTERACTIVE); /* it is before both */
    brief->job.deadline_ns = 1;
    assert_int_equal(sr_infer_submit(bench->infer, &brief->job), SR_OK);
    assert_true(sr_infer_stats(bench->infer).rest_ns > 0);
    gate_open();
    await_ends(5);
}

/* The windows of long texts leave room for others. */
static void test_long_texts_leave_room(void **state)
{
    (void)state;
    struct sr_encoder *a = encoder_new(4096);
    struct sr_infer *infer = one_at_a_time();
    struct job *jobs[SR_INFER_MANY + 1];
    struct sr_infer_job *list[SR_INFER_MANY + 1];
    gate_close();
    for (size_t i = 0; i <= SR_INFER_MANY; i++) {
        jobs[i] = job_new(a, 1, 4, SR_INFER_INTERACTIVE);
        list[i] = &jobs[i]->job;
    }
    assert_int_equal(sr_infer_submit_list(infer, list, SR_INFER_MANY + 1),
                     SR_ELIMIT); /* three quarters are 60 */
    assert_int_equal(sr_infer_submit_list(infer, list, SR_INFER_MANY), SR_OK);
    gate_open();
    await_ends((int)SR_INFER_MANY);
    sr_infer_free(infer);
    for (size_t i = 0; i <= SR_INFER_MANY; i++)
        job_free(jobs[i]);
    sr_encoder_unref(a);
}

static void test_long_ones_have_their_lane(void **state)
{
    struct bench *bench = *state;
    bench->encoder->info.max_tokens = 1 << 20;
    struct job *document = start(bench, 32768, SR_INFER_INTERACTIVE);
    struct job *other = add(bench, 2, 32768, SR_INFER_INTERACTIVE);
    struct job *brief = add(bench, 3, 12, SR_INFER_INTERACTIVE);
    gate_await(2); /* the short one runs beside the document, the second document does not */
    assert_int_equal(gate.batches[1].first, 3);
    assert_int_equal(sr_infer_stats(bench->infer).jobs, 1);
    gate_open();
    await_ends(3);
    assert_int_equal(status_of(document) | status_of(other) | status_of(brief), SR_OK);
}

static void test_limits(void **state)
{
    struct bench *bench = *state;
    bench->options.queue_jobs = 2;
    bench->options.queue_tokens = 100;
    bench->options.memory_max = 2000 * 1024; /* 1,500 tokens for the lane of long ones */
    assert_int_equal(sr_metrics_new(&bench->options.metrics), SR_OK);
    start(bench, 10, SR_INFER_INTERACTIVE);
    add(bench, 2, 90, SR_INFER_INTERACTIVE);
    struct job *tokens = make(bench, 3, 11, SR_INFER_INTERACTIVE);
    assert_int_equal(sr_infer_submit(bench->infer, &tokens->job), SR_EBUSY);
    add(bench, 4, 10, SR_INFER_INTERACTIVE);
    struct job *large = make(bench, 5, 0, SR_INFER_INTERACTIVE);
    large->job.item.n_ids = 4097;
    assert_int_equal(sr_infer_submit(bench->infer, &large->job), SR_EINVAL);
    large->job.item.n_ids = 1501;
    assert_int_equal(sr_infer_submit(bench->infer, &large->job), SR_ELIMIT);
    struct job *third = make(bench, 6, 1, SR_INFER_BULK);
    assert_int_equal(sr_infer_submit(bench->infer, &third->job), SR_EBUSY); /* jobs */
    assert_int_equal(sr_infer_run(bench->infer, &third->job, 1), SR_EBUSY);
    gate_open();
    await_ends(3);
    sr_infer_free(bench->infer);
    bench->infer = NULL;
    for (size_t i = 0; i < bench->n; i++) {
        const struct job *job = bench->jobs[i];
        assert_int_equal(status_of(job), job == tokens || job == large || job == third ? 1 : SR_OK);
    }
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    assert_int_equal(sr_expose_metrics(bench->options.metrics, SR_EXPOSITION_TEXT, &text), SR_OK);
    assert_non_null(strstr(text.data, "semroute_inference_refused_total{reason=\"busy\"} 3\n"));
    assert_non_null(strstr(text.data, "semroute_inference_refused_total{reason=\"limit\"} 1\n"));
    assert_non_null(strstr(text.data, "semroute_inference_queue_length 0\n"));
    assert_non_null(strstr(text.data, "semroute_inference_wait_seconds_count{lane=\"short\"} 3\n"));
    assert_non_null(strstr(text.data, "semroute_inference_batch_tokens_sum{lane=\"short\"} 110\n"));
    sr_buf_dispose(&text);
}

static void test_cancel(void **state)
{
    struct bench *bench = *state;
    struct job *runs = start(bench, 4, SR_INFER_INTERACTIVE);
    struct job *waits = add(bench, 2, 4, SR_INFER_INTERACTIVE);
    struct job *stays = add(bench, 3, 4, SR_INFER_INTERACTIVE);
    sr_infer_cancel(bench->infer, &waits->job);
    assert_int_equal(status_of(waits), SR_ECANCELED);
    sr_infer_cancel(bench->infer, &waits->job);
    sr_infer_cancel(bench->infer, &runs->job); /* alone */
    sr_infer_cancel(bench->infer, &runs->job);
    gate_look();
    await_ends(2);
    assert_int_equal(status_of(runs), SR_ECANCELED);
    gate_await(1);
    add(bench, 4, 4, SR_INFER_INTERACTIVE);
    add(bench, 5, 4, SR_INFER_INTERACTIVE);
    gate_open();
    await_ends(5);
    assert_int_equal(status_of(stays), SR_OK);
    sr_infer_cancel(bench->infer, &stays->job); /* done */
    assert_int_equal(ends.done, 5);
}

static void test_one_of_a_batch_is_dropped(void **state)
{
    struct bench *bench = *state;
    struct job *first = start(bench, 4, SR_INFER_INTERACTIVE);
    struct job *dropped = add(bench, 2, 4, SR_INFER_INTERACTIVE);
    struct job *other = add(bench, 3, 4, SR_INFER_INTERACTIVE);
    sr_infer_cancel(bench->infer, &first->job);
    gate_look();
    await_ends(1);
    gate_await(1); /* the batch of two */
    sr_infer_cancel(bench->infer, &dropped->job);
    gate_open();
    await_ends(3);
    assert_int_equal(status_of(dropped), SR_ECANCELED);
    assert_int_equal(status_of(other), SR_OK);
}

static void test_a_broken_job_spoils_nothing(void **state)
{
    struct bench *bench = *state;
    start(bench, 4, SR_INFER_INTERACTIVE);
    struct job *before = add(bench, 2, 4, SR_INFER_INTERACTIVE);
    struct job *broken = add(bench, -1, 4, SR_INFER_INTERACTIVE);
    struct job *behind = add(bench, 3, 4, SR_INFER_INTERACTIVE);
    gate_open();
    await_ends(4);
    assert_int_equal(status_of(before), SR_OK);
    assert_int_equal(status_of(broken), SR_EINVAL);
    assert_int_equal(status_of(behind), SR_OK);
}

static void test_the_end(void **state)
{
    struct bench *bench = *state;
    start(bench, 4, SR_INFER_INTERACTIVE);
    add(bench, 2, 4, SR_INFER_INTERACTIVE);
    add(bench, 3, 4, SR_INFER_INTERACTIVE);
    sr_encoder_unref(bench->encoder); /* the jobs hold it */
    bench->encoder = NULL;
    pthread_t waker;
    assert_int_equal(pthread_create(&waker, NULL, gate_nudge, NULL), 0);
    sr_infer_free(bench->infer);
    bench->infer = NULL;
    pthread_join(waker, NULL);
    assert_int_equal(ends.done, 3);
    for (size_t i = 0; i < bench->n; i++)
        assert_int_equal(status_of(bench->jobs[i]), SR_ECLOSED);
}

static struct sr_infer *last_user_of;

/* The last user ends where its job does: on a lane's thread. */
static void free_engine(struct sr_infer_job *base, int status)
{
    sr_infer_free(last_user_of);
    job_done(base, status);
}

static void test_freed_by_its_own_thread(void **state)
{
    struct bench *bench = *state;
    struct job *last = start(bench, 4, SR_INFER_INTERACTIVE);
    last->job.done = free_engine;
    last_user_of = bench->infer;
    add(bench, 2, 4, SR_INFER_INTERACTIVE);
    add(bench, 3, 4, SR_INFER_BULK);
    bench->infer = NULL;
    gate_open();
    await_ends(3);
    assert_int_equal(status_of(last), SR_OK);
    for (size_t i = 1; i < bench->n; i++)
        assert_int_equal(status_of(bench->jobs[i]), SR_ECLOSED);
}

/* With a long wait: a batch that expects no more jobs starts at once, one that does waits until all are back.
 */
static void test_company(void **state)
{
    struct bench *bench = *state;
    bench->options.wait_ns = UINT64_C(3600) * 1000000000;
    start(bench, 4, SR_INFER_INTERACTIVE); /* idle: started at once */
    add(bench, 2, 4, SR_INFER_INTERACTIVE);
    add(bench, 3, 4, SR_INFER_INTERACTIVE);
    gate_open();
    /* Three were here at the end of the first batch: the two that wait expect a third. */
    await_ends(1);
    add(bench, 4, 4, SR_INFER_INTERACTIVE);
    await_ends(4);
    assert_int_equal(gate.n_batches, 2);
    assert_int_equal(gate.batches[1].jobs, 3);
    /* A full batch waits for nobody. */
    add(bench, 5, bench->options.batch_tokens, SR_INFER_INTERACTIVE);
    await_ends(5);
}

static void test_windows_of_one_text(void **state)
{
    struct bench *bench = *state;
    bench->options.queue_jobs = 4;
    struct sr_infer *infer = bench->infer = engine(bench->options);
    struct sr_infer_job jobs[64];
    int32_t ids[64];
    float out[64];
    for (int i = 0; i < 64; i++) {
        ids[i] = i + 1;
        jobs[i] =
            (struct sr_infer_job){.encoder = bench->encoder, .priority = SR_INFER_BULK, .done = job_done};
        jobs[i].item = (struct sr_encoder_item){.ids = &ids[i], .n_ids = 1, .heads = 1, .out = {&out[i]}};
    }
    assert_int_equal(sr_infer_submit_all(infer, jobs, 5), SR_ELIMIT); /* none of them, ever */
    assert_int_equal(sr_infer_stats(infer).jobs, 0);
    assert_int_equal(sr_infer_run(infer, jobs, 64), SR_OK); /* one after the other, as room is made */
    for (int i = 0; i < 64; i++)
        assert_true(out[i] == (float)(i + 1));
    ids[7] = -1;
    assert_int_equal(sr_infer_run(infer, jobs, 64), SR_EINVAL);
    assert_int_equal(sr_infer_run(infer, jobs, 0), SR_OK);
}

/* What a request has asked for before counts: texts one by one are as many as all at once. */
static void test_never_fits(void **state)
{
    struct bench *bench = *state;
    bench->options.queue_jobs = 4;
    bench->options.queue_tokens = 100;
    struct sr_infer *infer = bench->infer = engine(bench->options);
    int32_t ids[60] = {1};
    float out;
    struct sr_infer_job job = {.encoder = bench->encoder, .done = job_done};
    job.item = (struct sr_encoder_item){.ids = ids, .n_ids = 60, .heads = 1, .out = {&out}};
    job.before_jobs = 4;
    assert_int_equal(sr_infer_submit(infer, &job), SR_ELIMIT);
    job.before_jobs = 3;
    job.before = 41;
    assert_int_equal(sr_infer_submit(infer, &job), SR_ELIMIT);
    assert_int_equal(sr_infer_stats(infer).jobs, 0);
    assert_int_equal(sr_infer_room(infer, 0, 1 << 30, 1), SR_OK); /* nothing was measured yet */
}

static void test_options(void **state)
{
    (void)state;
    static const char *const bad[] = {"x", "3-1", "0,", "0-", "-1", "0 1", "99999", "1023"};
    struct sr_infer_options options = sr_infer_defaults();
    struct sr_infer *infer = NULL;
    struct sr_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.cpus = bad[i];
        assert_int_equal(sr_infer_new(&infer, &options, &err), SR_EINVAL);
        assert_non_null(strstr(err.message, bad[i]));
    }
    cpu_set_t mine;
    char list[64];
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    size_t first = 0;
    while (!CPU_ISSET(first, &mine))
        first++;
    snprintf(list, sizeof list, "%zu,%zu-%zu", first, first, first);
    options.cpus = list;
    assert_int_equal(sr_infer_new(&infer, &options, &err), SR_OK);
    assert_int_equal(sr_infer_stats(infer).threads, 1);
    sr_infer_free(infer);
    options.cpus = NULL;
    assert_int_equal(sr_infer_new(&infer, &options, &err), SR_OK);
    assert_int_equal(sr_infer_stats(infer).threads, sr_cpu_cores());
    sr_infer_free(infer);
    options.batch_tokens = 0;
    assert_int_equal(sr_infer_new(&infer, &options, &err), SR_EINVAL);
}

static void test_other_options_while_it_runs(void **state)
{
    struct bench *bench = *state;
    start(bench, 10, SR_INFER_INTERACTIVE);
    bench->options.threads = 3;
    bench->options.batch_tokens = 10;
    assert_int_equal(sr_infer_adjust(bench->infer, &bench->options, NULL), SR_OK);
    assert_int_equal(sr_infer_stats(bench->infer).threads, 3);
    add(bench, 2, 10, SR_INFER_INTERACTIVE);
    add(bench, 3, 10, SR_INFER_INTERACTIVE);
    bench->options.queue_jobs = 0;
    assert_int_equal(sr_infer_adjust(bench->infer, &bench->options, NULL), SR_EINVAL);
    gate_open();
    await_ends(3);
    assert_int_equal(gate.n_batches, 3);
}

/* Many threads submit, wait, cancel; every job ends exactly once and says the right thing. */
#define CLIENTS 8
#define ROUNDS  300

struct client {
    struct sr_infer *infer;
    struct sr_encoder *encoders[2];
    unsigned seed;
    size_t answered, canceled, busy;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t under_way;
};

struct client_job {
    struct sr_infer_job job;
    int32_t ids[16];
    float out;
    int status;
};

static void client_done(struct sr_infer_job *base, int status)
{
    struct client_job *job = (struct client_job *)base;
    struct client *client = base->owner;
    pthread_mutex_lock(&client->lock);
    job->status = status;
    client->under_way--;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

static void client_submit(struct client *client, struct client_job *job)
{
    size_t n = 1 + (size_t)rand_r(&client->seed) % 16;
    *job = (struct client_job){.status = 1};
    for (size_t i = 0; i < n; i++)
        job->ids[i] = rand_r(&client->seed) % 100;
    job->job =
        (struct sr_infer_job){.encoder = client->encoders[rand_r(&client->seed) % 2],
                              .priority = rand_r(&client->seed) % 2 ? SR_INFER_BULK : SR_INFER_INTERACTIVE,
                              .done = client_done,
                              .owner = client};
    job->job.item = (struct sr_encoder_item){.ids = job->ids, .n_ids = n, .heads = 1, .out = {&job->out}};
    pthread_mutex_lock(&client->lock);
    client->under_way++;
    pthread_mutex_unlock(&client->lock);
    if (sr_infer_submit(client->infer, &job->job)) {
        client->busy++;
        pthread_mutex_lock(&client->lock);
        client->under_way--;
        pthread_mutex_unlock(&client->lock);
    }
}

static void *client_main(void *arg)
{
    struct client *client = arg;
    struct client_job jobs[8];
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = 1 + (size_t)rand_r(&client->seed) % 8;
        for (size_t i = 0; i < n; i++)
            client_submit(client, &jobs[i]);
        if (rand_r(&client->seed) % 4 == 0)
            sr_infer_cancel(client->infer, &jobs[rand_r(&client->seed) % n].job);
        pthread_mutex_lock(&client->lock);
        while (client->under_way)
            pthread_cond_wait(&client->changed, &client->lock);
        pthread_mutex_unlock(&client->lock);
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (size_t k = 0; k < jobs[i].job.item.n_ids; k++)
                sum += (float)jobs[i].ids[k];
            assert_true(jobs[i].status == SR_OK || jobs[i].status == SR_ECANCELED || jobs[i].status == 1);
            assert_true(jobs[i].status != SR_OK || jobs[i].out == sum);
            client->answered += jobs[i].status == SR_OK;
            client->canceled += jobs[i].status == SR_ECANCELED;
        }
    }
    return NULL;
}

static void test_stress(void **state)
{
    (void)state;
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    struct sr_infer_options options = sr_infer_defaults();
    options.queue_jobs = 24;
    options.batch_tokens = 64;
    options.long_tokens = 12;
    options.wait_ns = 20000;
    struct sr_infer *infer = engine(options);
    struct sr_encoder *a = encoder_new(16), *b = encoder_new(16);
    gate_open();
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.infer = infer, .encoders = {a, b}, .seed = i + 1};
        pthread_mutex_init(&clients[i].lock, NULL);
        pthread_cond_init(&clients[i].changed, NULL);
        assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
    }
    size_t answered = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        answered += clients[i].answered;
        pthread_cond_destroy(&clients[i].changed);
        pthread_mutex_destroy(&clients[i].lock);
    }
    assert_true(answered > ROUNDS);
    assert_int_equal(sr_infer_stats(infer).jobs, 0);
    assert_int_equal(sr_infer_stats(infer).tokens, 0);
    sr_infer_free(infer);
    assert_int_equal(atomic_load(&a->ref.count), 1);
    sr_encoder_unref(a);
    sr_encoder_unref(b);
}

#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BENCH(test_batches_form_while_one_runs),
        ON_BENCH(test_interactive_first),
        ON_BENCH(test_bulk_takes_turns),
        ON_BENCH(test_a_batch_names_its_requests),
        ON_BENCH(test_origins_of_a_batch_are_bounded),
        ON_BENCH(test_ahead_comes_last),
        ON_BENCH(test_hastened_to_its_lane),
        cmocka_unit_test(test_the_shortest_is_first),
        cmocka_unit_test(test_long_texts_age),
        cmocka_unit_test(test_clients_share),
        ON_BENCH(test_deadlines_refuse),
        cmocka_unit_test(test_long_texts_leave_room),
        ON_BENCH(test_long_ones_have_their_lane),
        ON_BENCH(test_limits),
        ON_BENCH(test_cancel),
        ON_BENCH(test_one_of_a_batch_is_dropped),
        ON_BENCH(test_a_broken_job_spoils_nothing),
        ON_BENCH(test_the_end),
        ON_BENCH(test_freed_by_its_own_thread),
        ON_BENCH(test_company),
        ON_BENCH(test_windows_of_one_text),
        ON_BENCH(test_never_fits),
        cmocka_unit_test(test_options),
        ON_BENCH(test_other_options_while_it_runs),
        cmocka_unit_test(test_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

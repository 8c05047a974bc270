/* The thread, its queue of jobs, and the way through the lines of a job. */
#include "serve/warm/warm.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/read_file.h"
#include "base/task.h"
#include "base/thread.h"
#include "serve/post.h"
#include "serve/warm/report.h"
#include "serve/warm/run.h"

#include <inttypes.h>
#include <stddef.h>

#define LINES_A_TURN 64  /* then other callbacks of the loop run */
#define TRIES        20  /* of a line that finds no room */
#define PAUSE_MS     250 /* between them */
#define ANSWER_MAX   ((size_t)256 << 10)
#define READ_MS      10000
#define LOGGED       10 /* problems of a file that the log tells */
#define LINE_ARENA   ((size_t)16 << 20)

struct sr_warm_job {
    struct sr_task task;
    struct sr_message message; /* to the warming thread */
    struct sr_warm *warm;
    struct sr_warm_job *next;
    struct sr_mailbox *mailbox; /* NULL: a file's */
    void (*done)(void *ctx, int status, struct sr_bytes answer);
    void *ctx;
    char *path; /* of a file, for the log; NULL */
    atomic_bool cancelled;
    struct sr_buf lines, answer;
    int status;

    /* the warming thread's */
    size_t at;        /* of the next line */
    uint64_t number;  /* of the current line */
    uint64_t evicted; /* of the cache before */
    struct sr_warm_report report;
};

struct sr_warm {
    sr_runtime *runtime;
    struct sr_loop *loop;
    pthread_mutex_t lock; /* of the next three */
    pthread_t thread;
    bool started, stopped;
    atomic_int jobs; /* accepted and not ended */

    /* the thread's */
    struct sr_warm_job *first, **tail;
    struct sr_warm_run run;
    struct sr_deferred turn;
    struct sr_timer pause;
    struct sr_arena arena; /* of the line */
    struct sr_warm_line line;
    bool has_line, streamed; /* a line is in progress, in this form */
    uint64_t kept;           /* entries of the line so far */
    unsigned tries;
};

static struct sr_warm_job *job_of(struct sr_task *task)
{
    return (struct sr_warm_job *)((char *)task - offsetof(struct sr_warm_job, task));
}

/* ---- the end of a job ---- */

static void job_free(struct sr_task *task)
{
    struct sr_warm_job *job = job_of(task);
    sr_warm_report_dispose(&job->report);
    sr_buf_dispose(&job->lines);
    sr_buf_dispose(&job->answer);
    sr_mem_free(job->path);
    sr_mem_free(job);
}

static void stop(struct sr_task *task)
{
    atomic_store(&job_of(task)->cancelled, true);
}

static const struct sr_task_work work = {.stop = stop};

/* The consumer's thread. */
static void job_done(struct sr_task *task, int status)
{
    struct sr_warm_job *job = job_of(task);
    if (status == SR_OK && job->done)
        job->done(job->ctx, job->status, sr_buf_view(&job->answer));
    sr_mailbox_close(job->mailbox);
    sr_task_unref(task);
}

static void log_report(const struct sr_warm_job *job)
{
    const struct sr_warm_report *r = &job->report;
    for (size_t i = 0; i < r->n_problems && i < LOGGED; i++)
        sr_log(SR_LOG_WARN, "cache_warm", "%s:%" PRIu64 ": %s", job->path, r->problems[i].line,
               r->problems[i].message);
    sr_log(SR_LOG_INFO, "cache_warm",
           "%s: %" PRIu64 " of %" PRIu64 " lines taken, %" PRIu64 " skipped, %" PRIu64 " invalid", job->path,
           r->taken, r->lines, r->skipped, r->invalid);
}

/* Ends the first job, and drops it from the queue. */
static void end_job(struct sr_warm *warm, int status)
{
    struct sr_warm_job *job = warm->first;
    struct sr_cache_stats stats;
    sr_cache_stats(sr_runtime_cache(warm->runtime), &stats);
    warm->first = job->next;
    if (!warm->first)
        warm->tail = &warm->first;
    job->status = status;
    if (sr_warm_report_write(&job->report, stats.entries, stats.evicted - job->evicted, &job->answer))
        job->status = 503;
    if (job->path && status == 200)
        log_report(job);
    atomic_fetch_sub(&warm->jobs, 1);
    sr_task_complete(&job->task, SR_OK);
}

/* ---- lines ---- */

/* The next line that is not empty; false: there is none. */
static bool next_line(struct sr_warm_job *job, struct sr_bytes *out)
{
    while (job->at < job->lines.len) {
        const char *start = job->lines.data + job->at;
        const char *end = memchr(start, '\n', job->lines.len - job->at);
        size_t n = end ? (size_t)(end - start) : job->lines.len - job->at;
        job->at += n + (end != NULL);
        job->number++;
        *out = sr_bytes_trim(sr_bytes_of(start, n));
        if (out->n)
            return true;
    }
    return false;
}

/* Takes the next line; false: there is none. Lines that cannot be read are noted. */
static bool take_line(struct sr_warm *warm, struct sr_warm_job *job)
{
    struct sr_bytes text;
    struct sr_err err = {0};
    if (!next_line(job, &text))
        return false;
    sr_arena_dispose(&warm->arena);
    job->report.lines++;
    int rc = sr_warm_line_read(&warm->line, text, &warm->arena, &err);
    warm->has_line = rc == SR_OK;
    warm->streamed = rc == SR_OK && !warm->line.plain;
    warm->kept = warm->tries = 0;
    if (rc) {
        job->report.invalid++;
        sr_warm_report_note(&job->report, job->number, "invalid",
                            err.message[0] ? err.message : sr_strerror(rc));
    }
    return true;
}

/* One form of the line has its outcome: the next form, or the next line. */
static void take_outcome(struct sr_warm *warm, struct sr_warm_job *job)
{
    const struct sr_warm_outcome *outcome = &warm->run.outcome;
    if (outcome->again && ++warm->tries < TRIES) {
        sr_timer_start(&warm->pause, PAUSE_MS);
        return;
    }
    warm->tries = 0;
    if (outcome->code) {
        warm->has_line = false;
        job->report.skipped++;
        sr_warm_report_note(&job->report, job->number, outcome->code, outcome->message);
        return;
    }
    warm->kept++;
    job->report.entries++;
    job->report.exact_only += !outcome->by_meaning;
    if (!warm->streamed && warm->line.streamed) {
        warm->streamed = true;
        return;
    }
    warm->has_line = false;
    job->report.taken++;
}

/* Works until something is waited for. */
static void on_turn(void *ctx)
{
    struct sr_warm *warm = ctx;
    for (int n = 0; warm->first && n < LINES_A_TURN; n++) {
        struct sr_warm_job *job = warm->first;
        bool cancelled = !warm->has_line && atomic_load(&job->cancelled);
        if (cancelled || (!warm->has_line && !take_line(warm, job))) {
            end_job(warm, 200);
            continue;
        }
        if (!warm->has_line)
            continue;
        if (sr_warm_run_start(&warm->run, &warm->line, warm->streamed) == SR_AGAIN)
            return;
        take_outcome(warm, job);
        if (warm->pause.armed)
            return;
    }
    if (warm->first)
        sr_loop_defer(warm->loop, &warm->turn);
}

static void on_run_done(void *ctx)
{
    struct sr_warm *warm = ctx;
    take_outcome(warm, warm->first);
    if (!warm->pause.armed)
        sr_loop_defer(warm->loop, &warm->turn);
}

/* ---- jobs ---- */

/* On the warming thread. */
static void on_job(struct sr_message *message, bool closed)
{
    struct sr_warm_job *job = (struct sr_warm_job *)((char *)message - offsetof(struct sr_warm_job, message));
    struct sr_warm *warm = job->warm;
    struct sr_cache_stats stats;
    if (closed) {
        sr_task_complete(&job->task, SR_ECANCELED);
        return;
    }
    sr_cache_stats(sr_runtime_cache(warm->runtime), &stats);
    job->evicted = stats.evicted;
    bool idle = !warm->first;
    *warm->tail = job;
    warm->tail = &job->next;
    if (idle)
        sr_loop_defer(warm->loop, &warm->turn);
}

static void *run_loop(void *arg)
{
    struct sr_warm *warm = arg;
    sr_thread_name("sr-warm");
    sr_loop_run(warm->loop);
    return NULL;
}

/* Makes the loop and its thread, once; with the lock. */
static int make_thread(struct sr_warm *warm)
{
    int rc = warm->loop ? SR_OK : sr_loop_new(&warm->loop);
    if (rc)
        return rc;
    sr_timer_init(&warm->pause, warm->loop, on_turn, warm);
    sr_warm_run_init(&warm->run, warm->runtime, warm->loop, on_run_done, warm);
    warm->started = pthread_create(&warm->thread, NULL, run_loop, warm) == 0;
    return warm->started ? SR_OK : SR_EIO;
}

static int start_thread(struct sr_warm *warm)
{
    int rc = SR_OK;
    pthread_mutex_lock(&warm->lock);
    if (warm->stopped)
        rc = SR_ECLOSED;
    else if (!warm->started)
        rc = make_thread(warm);
    pthread_mutex_unlock(&warm->lock);
    return rc;
}

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    sr_serve_post(ctx, task, arg);
}

/* loop NULL: no caller waits for its end. */
static int job_new(struct sr_warm_job **out, struct sr_warm *warm, struct sr_loop *loop)
{
    struct sr_warm_job *job = sr_mem_calloc(1, sizeof *job);
    *out = job;
    if (!job || (loop && sr_mailbox_new(&job->mailbox, post, loop))) {
        sr_mem_free(job);
        return SR_ENOMEM;
    }
    sr_task_init(&job->task, job_done, job_free, job->mailbox);
    job->warm = warm;
    job->message.run = on_job;
    sr_buf_init(&job->answer, ANSWER_MAX);
    sr_buf_init(&job->lines, 0);
    return SR_OK;
}

/* Gives the job to the thread. On failure it is freed, and its lines are given back. */
static int job_send(struct sr_warm *warm, struct sr_warm_job *job, struct sr_buf *lines)
{
    int rc = atomic_fetch_add(&warm->jobs, 1) >= SR_WARM_JOBS_MAX ? SR_EBUSY : start_thread(warm);
    job->lines = *lines;
    sr_task_ref(&job->task); /* the producer's */
    sr_task_begin(&job->task, &work);
    if (!rc)
        rc = sr_loop_post(warm->loop, &job->message);
    if (!rc) {
        sr_buf_init(lines, lines->max);
        return SR_OK;
    }
    atomic_fetch_sub(&warm->jobs, 1);
    sr_buf_init(&job->lines, 0);
    sr_mailbox_close(job->mailbox);
    sr_task_unref(&job->task);
    sr_task_unref(&job->task);
    return rc;
}

int sr_warm_start(struct sr_warm_job **out, struct sr_warm *warm, struct sr_buf *lines, struct sr_loop *loop,
                  void (*done)(void *ctx, int status, struct sr_bytes answer), void *ctx)
{
    int rc = job_new(out, warm, loop);
    if (rc)
        return rc;
    (*out)->done = done;
    (*out)->ctx = ctx;
    rc = job_send(warm, *out, lines);
    if (rc)
        *out = NULL;
    return rc;
}

void sr_warm_cancel(struct sr_warm_job *job)
{
    if (job)
        sr_task_cancel(&job->task);
}

void sr_warm_file(struct sr_warm *warm, const char *path)
{
    struct sr_warm_job *job = NULL;
    struct sr_buf lines;
    struct sr_err err = {0};
    sr_buf_init(&lines, SR_WARM_FILE_MAX);
    int rc = sr_read_file(&lines, path, READ_MS, &err);
    if (!rc)
        rc = job_new(&job, warm, NULL);
    if (!rc) {
        job->path = sr_mem_dup(path, strlen(path));
        rc = job_send(warm, job, &lines);
    }
    if (rc)
        sr_log(SR_LOG_ERROR, "cache_warm", "%s: %s", path, err.message[0] ? err.message : sr_strerror(rc));
    sr_buf_dispose(&lines);
}

/* ---- life ---- */

int sr_warm_new(struct sr_warm **out, sr_runtime *runtime)
{
    struct sr_warm *warm = sr_mem_calloc(1, sizeof *warm);
    *out = warm;
    if (!warm)
        return SR_ENOMEM;
    pthread_mutex_init(&warm->lock, NULL);
    warm->runtime = runtime;
    warm->tail = &warm->first;
    warm->turn = (struct sr_deferred){.run = on_turn, .ctx = warm};
    sr_arena_init(&warm->arena, LINE_ARENA);
    return SR_OK;
}

void sr_warm_stop(struct sr_warm *warm)
{
    if (!warm)
        return;
    pthread_mutex_lock(&warm->lock);
    bool started = warm->started;
    warm->stopped = true;
    pthread_mutex_unlock(&warm->lock);
    if (!started)
        return;
    sr_loop_stop(warm->loop);
    pthread_join(warm->thread, NULL);
    sr_warm_run_dispose(&warm->run);
    sr_timer_stop(&warm->pause);
    sr_deferred_cancel(&warm->turn);
    while (warm->first)
        end_job(warm, 503);
}

void sr_warm_free(struct sr_warm *warm)
{
    if (!warm)
        return;
    sr_loop_free(warm->loop);
    sr_arena_dispose(&warm->arena);
    pthread_mutex_destroy(&warm->lock);
    sr_mem_free(warm);
}

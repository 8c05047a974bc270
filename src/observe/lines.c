/*
 * The line sink: two buffers that swap roles. Callers append to one under the lock; the writer thread takes
 * it whole, replaces it with the empty one, and writes without the lock.
 *
 * No call can make a write return (a stopped terminal, a dead mount), so the sink has two owners, the program
 * and the writer thread: the last one to let go of it frees it.
 */
#include "observe/lines.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_NS  (20 * SR_NS_PER_MS) /* time to collect lines before a write */
#define REPORT_NS SR_NS_PER_S         /* at most one line a second about lines that were dropped */

struct sr_lines {
    pthread_mutex_t lock;
    pthread_cond_t wake;        /* for the writer thread */
    pthread_cond_t idle;        /* the writer thread has written all, or has ended */
    struct sr_buf queue;        /* under the lock */
    size_t queued_lines;        /* under the lock */
    bool busy;                  /* under the lock: the writer thread has lines */
    bool ended;                 /* under the lock: the writer thread has ended */
    bool abandoned;             /* under the lock: the program does not wait for the writer thread */
    uint64_t closing_until_ns;  /* under the lock; 0: not closing */
    struct sr_metrics *metrics; /* under the lock */
    struct sr_buf writing;      /* this and the following: used by the writer thread only */
    uint64_t reported, report_ns;
    bool torn; /* the last bytes written were not a whole line */
    int fd;
    atomic_bool reopen;
    _Atomic uint64_t dropped;
    const char *log;
    char *path; /* NULL: a standard stream */
};

/* Under the lock. */
static void count(struct sr_lines *lines, bool written, size_t n)
{
    if (n == 0)
        return;
    if (!written)
        atomic_fetch_add_explicit(&lines->dropped, n, memory_order_relaxed);
    struct sr_bytes labels[] = {sr_bytes_str(lines->log), written ? SR_LIT("written") : SR_LIT("dropped")};
    sr_metrics_add(lines->metrics, SR_METRIC_LOG_LINES, (double)n, labels);
}

/* Without waiting for the reader of a FIFO. */
static int file_open(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
}

static void reopen_if_asked(struct sr_lines *lines)
{
    if (!atomic_exchange_explicit(&lines->reopen, false, memory_order_relaxed) || !lines->path)
        return;
    int fd = file_open(lines->path);
    if (fd < 0) {
        sr_log(SR_LOG_WARN, "access_log_reopen_failed", "%s: %s; writing on to the old file", lines->path,
               strerror(errno));
        return;
    }
    close(lines->fd);
    lines->fd = fd;
    lines->torn = false;
}

static bool gave_up(struct sr_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    uint64_t until = lines->closing_until_ns;
    pthread_mutex_unlock(&lines->lock);
    return until && sr_clock_ns() >= until;
}

/* How much to write to a pipe at once: whole lines where they fit, so that two writers of one pipe do not mix
 * theirs. */
static size_t piece(struct sr_bytes rest)
{
    if (rest.n <= PIPE_BUF)
        return rest.n;
    const char *end = memrchr(rest.p, '\n', PIPE_BUF);
    return end ? (size_t)(end - rest.p) + 1 : PIPE_BUF;
}

/* Writes of at most PIPE_BUF after poll do not block on a pipe that has no other writer. Returns the bytes
 * written. */
static size_t write_all(struct sr_lines *lines, struct sr_bytes all)
{
    struct stat st;
    bool regular = fstat(lines->fd, &st) == 0 && S_ISREG(st.st_mode);
    struct sr_bytes rest = all;
    while (rest.n > 0 && !gave_up(lines)) {
        struct pollfd ready = {.fd = lines->fd, .events = POLLOUT};
        if (!regular && poll(&ready, 1, 100) <= 0)
            continue;
        ssize_t n = write(lines->fd, rest.p, regular ? rest.n : piece(rest));
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            if (lines->path)
                sr_log(SR_LOG_WARN, "log_write_failed", "%s: %s", lines->path, strerror(errno));
            break;
        }
        if (n > 0)
            rest = sr_bytes_of(rest.p + n, rest.n - (size_t)n);
    }
    return all.n - rest.n;
}

static size_t lines_in(struct sr_bytes text)
{
    size_t n = 0;
    for (const char *at = text.p; text.n && (at = memchr(at, '\n', (size_t)(text.p + text.n - at)));
         at++, n++)
        ;
    return n;
}

/* Writes the batch of `n` lines; *written is the number of those that are there as a whole. */
static void write_batch(struct sr_lines *lines, size_t n, size_t *written)
{
    if (lines->torn && write_all(lines, SR_LIT("\n")) == 1)
        lines->torn = false;
    struct sr_bytes all = sr_buf_view(&lines->writing);
    size_t done = write_all(lines, all);
    *written = done == all.n ? n : lines_in(sr_bytes_of(all.p, done));
    lines->torn = done > 0 ? all.p[done - 1] != '\n' : lines->torn;
    sr_buf_clear(&lines->writing);
}

/* After lines were lost and others are written again: one line of the process log. */
static void report(struct sr_lines *lines)
{
    uint64_t dropped = sr_lines_dropped(lines), now = sr_clock_ns();
    if (dropped == lines->reported || now - lines->report_ns < REPORT_NS)
        return;
    sr_log(SR_LOG_WARN, "log_dropped",
           "%llu lines of the %s log are lost: they came faster than they could be written",
           (unsigned long long)(dropped - lines->reported), lines->log);
    lines->reported = dropped;
    lines->report_ns = now;
}

/* Waits for lines, collects more for a short time, and takes them all. Returns their number, 0 at the end. */
static size_t take(struct sr_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    lines->busy = false;
    if (lines->queue.len == 0)
        pthread_cond_broadcast(&lines->idle);
    while (lines->queue.len == 0 && !lines->closing_until_ns)
        pthread_cond_wait(&lines->wake, &lines->lock);
    uint64_t until = sr_clock_ns() + BATCH_NS;
    struct timespec deadline = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
    while (!lines->closing_until_ns && lines->queue.len < lines->queue.max / 2)
        if (pthread_cond_timedwait(&lines->wake, &lines->lock, &deadline) == ETIMEDOUT)
            break;
    struct sr_buf full = lines->queue;
    lines->queue = lines->writing;
    lines->writing = full;
    size_t n = lines->queued_lines;
    lines->queued_lines = 0;
    lines->busy = n > 0;
    pthread_mutex_unlock(&lines->lock);
    return n;
}

static void dispose(struct sr_lines *lines)
{
    if (lines->path && lines->fd >= 0)
        close(lines->fd);
    sr_buf_dispose(&lines->queue);
    sr_buf_dispose(&lines->writing);
    pthread_cond_destroy(&lines->wake);
    pthread_cond_destroy(&lines->idle);
    pthread_mutex_destroy(&lines->lock);
    sr_mem_free(lines->path);
    sr_mem_free(lines);
}

static void *writer_main(void *ctx)
{
    struct sr_lines *lines = ctx;
    sr_thread_name("sr-log");
    for (size_t n, written; (n = take(lines)) > 0;) {
        reopen_if_asked(lines);
        write_batch(lines, n, &written);
        pthread_mutex_lock(&lines->lock);
        count(lines, true, written);
        count(lines, false, n - written);
        pthread_mutex_unlock(&lines->lock);
        if (written == n)
            report(lines);
    }
    pthread_mutex_lock(&lines->lock);
    lines->ended = true;
    bool last = lines->abandoned;
    pthread_cond_broadcast(&lines->idle);
    pthread_mutex_unlock(&lines->lock);
    if (last)
        dispose(lines);
    return NULL;
}

static int open_target(struct sr_lines *lines, const char *target, struct sr_err *err)
{
    bool error = strcmp(target, "stderr") == 0;
    lines->fd = error ? STDERR_FILENO : STDOUT_FILENO;
    if (error || strcmp(target, "stdout") == 0)
        return SR_OK;
    lines->path = sr_mem_dup(target, strlen(target));
    lines->fd = lines->path ? file_open(lines->path) : -1;
    if (!lines->path)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    if (lines->fd < 0)
        return sr_err_set(err, SR_EIO, "cannot open %s: %s%s", target, strerror(errno),
                          errno == ENXIO ? " (a FIFO without a reader)" : "");
    return SR_OK;
}

static bool start_writer(struct sr_lines *lines)
{
    pthread_attr_t attr;
    pthread_t writer;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&writer, &attr, writer_main, lines) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

int sr_lines_open(struct sr_lines **out, const char *log, const char *target, size_t queue_bytes,
                  struct sr_err *err)
{
    *out = NULL;
    if (strcmp(target, "off") == 0)
        return SR_OK;
    struct sr_lines *lines = sr_mem_calloc(1, sizeof *lines);
    if (!lines)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&lines->lock, NULL);
    pthread_cond_init(&lines->wake, &attr);
    pthread_cond_init(&lines->idle, &attr);
    pthread_condattr_destroy(&attr);
    sr_buf_init(&lines->queue, queue_bytes);
    sr_buf_init(&lines->writing, queue_bytes);
    lines->log = log;
    int rc = open_target(lines, target, err);
    if (rc == SR_OK && !start_writer(lines))
        rc = sr_err_set(err, SR_ENOMEM, "cannot start a thread");
    if (rc != SR_OK)
        dispose(lines);
    else
        *out = lines;
    return rc;
}

void sr_lines_count_in(struct sr_lines *lines, struct sr_metrics *metrics)
{
    if (!lines)
        return;
    pthread_mutex_lock(&lines->lock);
    lines->metrics = metrics;
    pthread_mutex_unlock(&lines->lock);
}

static struct timespec after_ms(unsigned ms)
{
    uint64_t ns = sr_clock_ns() + ms * SR_NS_PER_MS;
    return (struct timespec){(time_t)(ns / SR_NS_PER_S), (long)(ns % SR_NS_PER_S)};
}

bool sr_lines_close(struct sr_lines *lines, unsigned wait_ms)
{
    if (!lines)
        return true;
    /* The thread itself stops at a pipe without a reader; only one that is inside a write is left behind. */
    struct timespec until = after_ms(wait_ms + 500);
    uint64_t dropped = sr_lines_dropped(lines);
    pthread_mutex_lock(&lines->lock);
    lines->closing_until_ns = sr_clock_ns() + wait_ms * SR_NS_PER_MS;
    pthread_cond_signal(&lines->wake);
    while (!lines->ended && pthread_cond_timedwait(&lines->idle, &lines->lock, &until) != ETIMEDOUT)
        ;
    bool ended = lines->ended;
    lines->abandoned = !ended;
    lines->metrics = NULL;
    pthread_mutex_unlock(&lines->lock);
    bool whole = ended && sr_lines_dropped(lines) == dropped;
    if (ended)
        dispose(lines);
    return whole;
}

void sr_lines_flush(struct sr_lines *lines, unsigned wait_ms)
{
    if (!lines)
        return;
    struct timespec until = after_ms(wait_ms);
    pthread_mutex_lock(&lines->lock);
    while ((lines->queue.len || lines->busy) && !lines->ended &&
           pthread_cond_timedwait(&lines->idle, &lines->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&lines->lock);
}

void sr_lines_write(struct sr_lines *lines, struct sr_bytes line)
{
    if (!lines)
        return;
    pthread_mutex_lock(&lines->lock);
    size_t before = lines->queue.len;
    bool kept = line.n < lines->queue.max && sr_buf_reserve(&lines->queue, line.n + 1) == SR_OK &&
                sr_buf_append_bytes(&lines->queue, line) == SR_OK &&
                sr_buf_append(&lines->queue, "\n", 1) == SR_OK;
    lines->queued_lines += kept;
    size_t half = lines->queue.max / 2;
    if (kept && (before == 0 || (before < half && lines->queue.len >= half)))
        pthread_cond_signal(&lines->wake);
    if (!kept)
        count(lines, false, 1);
    pthread_mutex_unlock(&lines->lock);
}

void sr_lines_reopen(struct sr_lines *lines)
{
    if (lines)
        atomic_store_explicit(&lines->reopen, true, memory_order_relaxed);
}

uint64_t sr_lines_dropped(const struct sr_lines *lines)
{
    return lines ? atomic_load_explicit(&lines->dropped, memory_order_relaxed) : 0;
}

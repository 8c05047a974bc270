/*
 * The line sink: two buffers that swap roles. Callers append to one under the lock; the writer thread takes
 * it whole, replaces it with the empty one, and writes without the lock.
 */
#include "observe/lines.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_NS      (20 * SR_NS_PER_MS) /* time to collect lines before a write */
#define CLOSE_WAIT_NS (2 * SR_NS_PER_S)

struct sr_lines {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t writer;
    struct sr_buf queue;   /* under the lock */
    size_t queued_lines;   /* under the lock */
    struct sr_buf writing; /* used by the writer thread only */
    uint64_t closing_ns;   /* under the lock; time of the call of sr_lines_close, 0 before */
    atomic_bool reopen;
    _Atomic uint64_t dropped;
    struct sr_metrics *metrics;
    char *path; /* NULL: standard output */
    int fd;
};

static void count(struct sr_lines *lines, bool written, size_t n)
{
    if (n == 0)
        return;
    if (!written)
        atomic_fetch_add_explicit(&lines->dropped, n, memory_order_relaxed);
    sr_metrics_add(lines->metrics, SR_METRIC_ACCESS_LOG_LINES, (double)n,
                   written ? &SR_LIT("written") : &SR_LIT("dropped"));
}

static int file_open(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
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
}

static uint64_t closing_since(struct sr_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    uint64_t ns = lines->closing_ns;
    pthread_mutex_unlock(&lines->lock);
    return ns;
}

/* A pipe without a reader must not delay the end of the program: writes of at most PIPE_BUF after poll never
 * block. */
static bool write_all(struct sr_lines *lines, struct sr_bytes rest)
{
    struct stat st;
    bool regular = fstat(lines->fd, &st) == 0 && S_ISREG(st.st_mode);
    while (rest.n > 0) {
        struct pollfd ready = {.fd = lines->fd, .events = POLLOUT};
        if (!regular && poll(&ready, 1, 100) <= 0) {
            uint64_t since = closing_since(lines);
            if (since && sr_clock_ns() - since > CLOSE_WAIT_NS)
                return false;
            continue;
        }
        ssize_t n = write(lines->fd, rest.p, regular || rest.n < PIPE_BUF ? rest.n : PIPE_BUF);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n > 0)
            rest = sr_bytes_of(rest.p + n, rest.n - (size_t)n);
    }
    return true;
}

/* Waits for lines, collects more for a short time, and takes them all. Returns their number, 0 at the end. */
static size_t take(struct sr_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    while (lines->queue.len == 0 && !lines->closing_ns)
        pthread_cond_wait(&lines->wake, &lines->lock);
    uint64_t until = sr_clock_ns() + BATCH_NS;
    struct timespec deadline = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
    while (!lines->closing_ns && lines->queue.len < lines->queue.max / 2)
        if (pthread_cond_timedwait(&lines->wake, &lines->lock, &deadline) == ETIMEDOUT)
            break;
    struct sr_buf full = lines->queue;
    lines->queue = lines->writing;
    lines->writing = full;
    size_t n = lines->queued_lines;
    lines->queued_lines = 0;
    pthread_mutex_unlock(&lines->lock);
    return n;
}

static void *writer_main(void *ctx)
{
    struct sr_lines *lines = ctx;
    for (size_t n; (n = take(lines)) > 0;) {
        reopen_if_asked(lines);
        count(lines, write_all(lines, sr_buf_view(&lines->writing)), n);
        sr_buf_clear(&lines->writing);
    }
    return NULL;
}

static void dispose(struct sr_lines *lines)
{
    if (lines->path && lines->fd >= 0)
        close(lines->fd);
    sr_buf_dispose(&lines->queue);
    sr_buf_dispose(&lines->writing);
    pthread_cond_destroy(&lines->wake);
    pthread_mutex_destroy(&lines->lock);
    sr_mem_free(lines->path);
    sr_mem_free(lines);
}

int sr_lines_open(struct sr_lines **out, const char *target, size_t queue_bytes, struct sr_metrics *metrics,
                  struct sr_err *err)
{
    *out = NULL;
    if (strcmp(target, "off") == 0)
        return SR_OK;
    bool to_file = strcmp(target, "stdout") != 0;
    struct sr_lines *lines = sr_mem_calloc(1, sizeof *lines);
    if (!lines)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&lines->lock, NULL);
    pthread_cond_init(&lines->wake, &attr);
    pthread_condattr_destroy(&attr);
    sr_buf_init(&lines->queue, queue_bytes);
    sr_buf_init(&lines->writing, queue_bytes);
    lines->metrics = metrics;
    lines->fd = STDOUT_FILENO;
    int rc = SR_OK;
    if (to_file) {
        lines->path = sr_mem_dup(target, strlen(target));
        lines->fd = lines->path ? file_open(lines->path) : -1;
        if (!lines->path)
            rc = sr_err_set(err, SR_ENOMEM, "out of memory");
        else if (lines->fd < 0)
            rc = sr_err_set(err, SR_EIO, "cannot open %s: %s", target, strerror(errno));
    }
    if (rc == SR_OK && pthread_create(&lines->writer, NULL, writer_main, lines) != 0)
        rc = sr_err_set(err, SR_ENOMEM, "cannot start a thread");
    if (rc != SR_OK)
        dispose(lines);
    else
        *out = lines;
    return rc;
}

void sr_lines_close(struct sr_lines *lines)
{
    if (!lines)
        return;
    pthread_mutex_lock(&lines->lock);
    lines->closing_ns = sr_clock_ns();
    pthread_cond_signal(&lines->wake);
    pthread_mutex_unlock(&lines->lock);
    pthread_join(lines->writer, NULL);
    dispose(lines);
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
    pthread_mutex_unlock(&lines->lock);
    if (!kept)
        count(lines, false, 1);
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

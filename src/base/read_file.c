/*
 * A job with two owners: the thread that reads and the caller that waits. The last one to let go of it frees
 * it, so a caller whose deadline passed leaves the thread behind with memory of its own.
 */
#include "base/read_file.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#define READ_SIZE ((size_t)64 << 10)

struct job {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int owners;    /* under the lock */
    bool finished; /* under the lock */
    uint64_t deadline_ns;
    struct sr_buf text; /* one read longer than `max`, to notice what is larger */
    size_t max;
    int rc;
    struct sr_err err;
    char path[];
};

/* Waits until a FIFO or socket has something to read; a regular file always has. A FIFO that had no writer
 * yet would read as empty. */
static int wait_readable(struct job *job, int fd)
{
    uint64_t now = sr_clock_ns();
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int wait = now < job->deadline_ns ? (int)((job->deadline_ns - now) / SR_NS_PER_MS) + 1 : 0;
    int n = poll(&ready, 1, wait);
    if (n == 0)
        return sr_err_set(&job->err, SR_ETIMEOUT,
                          "cannot be read: nothing was written to it in time (a FIFO without a writer?)");
    return n < 0 && errno != EINTR ? sr_err_set(&job->err, SR_EIO, "cannot be read: %s", strerror(errno))
                                   : SR_OK;
}

static int read_all(struct job *job, int fd)
{
    for (;;) {
        int rc = wait_readable(job, fd);
        if (rc == SR_OK)
            rc = sr_buf_reserve(&job->text, READ_SIZE);
        if (rc != SR_OK)
            return rc;
        ssize_t got = read(fd, job->text.data + job->text.len, READ_SIZE);
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return sr_err_set(&job->err, SR_EIO, "cannot be read: %s", strerror(errno));
        job->text.len += got > 0 ? (size_t)got : 0;
        job->text.data[job->text.len] = 0;
        if (job->text.len > job->max)
            return sr_err_set(&job->err, SR_ELIMIT, "larger than %zu MiB", job->max >> 20);
        if (got == 0)
            return SR_OK;
    }
}

static int read_job(struct job *job)
{
    int fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sr_err_set(&job->err, errno == ENOENT ? SR_ENOENT : SR_EIO, "cannot be opened: %s",
                          strerror(errno));
    int rc = read_all(job, fd);
    close(fd);
    return rc;
}

static void let_go(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    bool last = --job->owners == 0;
    pthread_mutex_unlock(&job->lock);
    if (!last)
        return;
    sr_buf_dispose(&job->text);
    pthread_cond_destroy(&job->done);
    pthread_mutex_destroy(&job->lock);
    sr_mem_free(job);
}

static void *thread_main(void *arg)
{
    struct job *job = arg;
    sr_thread_name("sr-file");
    int rc = read_job(job);
    pthread_mutex_lock(&job->lock);
    job->rc = rc;
    job->finished = true;
    pthread_cond_signal(&job->done);
    pthread_mutex_unlock(&job->lock);
    let_go(job);
    return NULL;
}

static struct job *job_new(const char *path, size_t max, uint64_t deadline_ns)
{
    size_t n = strlen(path) + 1;
    struct job *job = sr_mem_calloc(1, sizeof *job + n);
    if (!job)
        return NULL;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->done, &attr);
    pthread_condattr_destroy(&attr);
    job->owners = 2;
    job->deadline_ns = deadline_ns;
    job->max = max;
    sr_buf_init(&job->text, max + READ_SIZE);
    memcpy(job->path, path, n);
    return job;
}

static bool start(struct job *job)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attr, thread_main, job) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

/* The thread's own deadline is the same; what it says about a FIFO is better than "does not answer". */
static int wait_for(struct job *job, uint64_t deadline_ns, struct sr_err *err)
{
    uint64_t until = deadline_ns + SR_NS_PER_S / 4;
    struct timespec ts = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
    pthread_mutex_lock(&job->lock);
    while (!job->finished && pthread_cond_timedwait(&job->done, &job->lock, &ts) != ETIMEDOUT)
        ;
    bool finished = job->finished;
    pthread_mutex_unlock(&job->lock);
    if (!finished)
        return sr_err_set(err, SR_ETIMEOUT, "cannot be read: the file system does not answer");
    if (job->rc != SR_OK && job->err.code != 0)
        return sr_err_set(err, job->rc, "%s", job->err.message);
    return job->rc == SR_OK ? SR_OK : sr_err_set(err, job->rc, "cannot be read: %s", sr_strerror(job->rc));
}

int sr_read_file(struct sr_buf *out, const char *path, uint64_t limit_ms, struct sr_err *err)
{
    uint64_t deadline_ns = sr_clock_ns() + limit_ms * SR_NS_PER_MS;
    struct job *job = job_new(path, out->max, deadline_ns);
    if (!job)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    if (!start(job)) {
        job->owners = 1;
        let_go(job);
        return sr_err_set(err, SR_ENOMEM, "cannot start a thread to read it");
    }
    int rc = wait_for(job, deadline_ns, err);
    if (rc == SR_OK) {
        sr_buf_dispose(out);
        *out = job->text;
        out->max = job->max;
        sr_buf_init(&job->text, 0);
    }
    let_go(job);
    return rc;
}

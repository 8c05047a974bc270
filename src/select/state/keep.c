/* One thread that sleeps until it is time to write, or until it is told to end. */
#include "select/state/keep.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/read_file.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define READ_MS        10000
#define PATH_MAX_BYTES 4096

struct sr_arms_keeper {
    struct sr_select_arms *arms;
    char *path;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ends;
    uint64_t written; /* the changes that the file has */
    bool failed;      /* the last write: it is said once */
};

static int write_all(int fd, struct sr_bytes text)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SR_EIO;
        text = sr_bytes_of(text.p + n, text.n - (size_t)n);
    }
    return fsync(fd) == 0 ? SR_OK : SR_EIO;
}

static int write_file(const char *path, struct sr_bytes text)
{
    char beside[PATH_MAX_BYTES];
    if ((size_t)snprintf(beside, sizeof beside, "%s.new", path) >= sizeof beside)
        return SR_ELIMIT;
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return SR_EIO;
    int rc = write_all(fd, text);
    if (close(fd) != 0)
        rc = SR_EIO;
    if (rc == SR_OK && rename(beside, path) != 0)
        rc = SR_EIO;
    if (rc)
        (void)unlink(beside);
    return rc;
}

static void save(struct sr_arms_keeper *keeper)
{
    struct sr_buf text;
    uint64_t changes = sr_arms_changes(keeper->arms);
    if (changes == keeper->written)
        return;
    sr_buf_init(&text, SR_ARMS_FILE_MAX);
    int rc = sr_arms_write(keeper->arms, &text);
    if (rc == SR_OK)
        rc = write_file(keeper->path, sr_buf_view(&text));
    sr_buf_dispose(&text);
    if (rc == SR_OK)
        keeper->written = changes;
    else if (!keeper->failed)
        sr_log(SR_LOG_WARN, "selection_state_failed", "%s cannot be written: %s", keeper->path,
               sr_strerror(rc));
    keeper->failed = rc != SR_OK;
}

static void *run(void *arg)
{
    struct sr_arms_keeper *keeper = arg;
    sr_thread_name("sr-arms");
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->ends) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += SR_KEEP_MS / 1000;
        pthread_cond_timedwait(&keeper->wake, &keeper->lock, &until);
        pthread_mutex_unlock(&keeper->lock);
        save(keeper);
        pthread_mutex_lock(&keeper->lock);
    }
    pthread_mutex_unlock(&keeper->lock);
    save(keeper);
    return NULL;
}

static int read_state(struct sr_select_arms *arms, const char *path, struct sr_err *err)
{
    struct sr_buf text;
    struct sr_err why = {0};
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return SR_OK;
    sr_buf_init(&text, SR_ARMS_FILE_MAX);
    int rc = sr_read_file(&text, path, READ_MS, &why);
    if (rc == SR_OK)
        rc = sr_arms_read(arms, sr_buf_view(&text), &why);
    sr_buf_dispose(&text);
    return rc ? sr_err_set(err, rc, "%.120s: %.180s", path, why.message[0] ? why.message : sr_strerror(rc))
              : SR_OK;
}

static void keeper_free(struct sr_arms_keeper *keeper)
{
    pthread_cond_destroy(&keeper->wake);
    pthread_mutex_destroy(&keeper->lock);
    sr_mem_free(keeper->path);
    sr_mem_free(keeper);
}

int sr_arms_keep(struct sr_arms_keeper **out, struct sr_select_arms *arms, const char *path,
                 struct sr_err *err)
{
    pthread_condattr_t clock;
    int rc = read_state(arms, path, err);
    struct sr_arms_keeper *keeper = rc ? NULL : sr_mem_calloc(1, sizeof *keeper);
    *out = NULL;
    if (!keeper)
        return rc ? rc : sr_err_set(err, SR_ENOMEM, "out of memory");
    keeper->arms = arms;
    keeper->path = sr_mem_dup(path, strlen(path));
    keeper->written = sr_arms_changes(arms);
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->wake, &clock);
    pthread_condattr_destroy(&clock);
    if (!keeper->path || pthread_create(&keeper->thread, NULL, run, keeper)) {
        keeper_free(keeper);
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    *out = keeper;
    return SR_OK;
}

const char *sr_arms_keeper_path(const struct sr_arms_keeper *keeper)
{
    return keeper->path;
}

void sr_arms_keeper_close(struct sr_arms_keeper *keeper)
{
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->ends = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    keeper_free(keeper);
}

/* The watcher's thread: inotify and a wake-up descriptor under one poll. */
#include "serve/process/reload.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define DIRECTORY_EVENTS (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ATTRIB)
#define FILE_EVENTS      (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
#define KUBERNETES_LINK  "..data"

/* A file, and the directory of its name. */
struct watched {
    char *path, *directory;
    const char *name;
    int file_watch,
        directory_watch; /* the file's follows links, and is renewed after each change; -1: none */
};

struct sr_reload {
    pthread_t thread;
    struct watched files[SR_RELOAD_FILES_MAX]; /* the first is the configuration, where there is one */
    size_t n_files, n_fixed;
    int inotify;
    int wake;
    atomic_bool asked, stopping;
    void (*changed)(void *ctx);
    void *ctx;
};

static bool concerns(const struct watched *file, const struct inotify_event *event)
{
    if (event->wd == file->file_watch)
        return (event->mask & IN_IGNORED) == 0;
    return event->wd == file->directory_watch && event->len > 0 &&
           (strcmp(event->name, file->name) == 0 ||
            strncmp(event->name, KUBERNETES_LINK, sizeof KUBERNETES_LINK - 1) == 0);
}

static bool concerns_us(const struct sr_reload *reload, const struct inotify_event *event)
{
    for (size_t i = 0; i < reload->n_files; i++)
        if (concerns(&reload->files[i], event))
            return true;
    return false;
}

static bool read_events(struct sr_reload *reload)
{
    _Alignas(struct inotify_event) char buffer[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    bool any = false;
    for (;;) {
        ssize_t n = read(reload->inotify, buffer, sizeof buffer);
        if (n <= 0)
            return any;
        for (char *at = buffer; at < buffer + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            any = any || (event->mask & IN_Q_OVERFLOW) != 0 || concerns_us(reload, event);
            at += sizeof *event + event->len;
        }
    }
}

/* Watches the files again: their names may refer to others now. The kernel gives one number for one file. */
static void watch_files(struct sr_reload *reload)
{
    for (size_t i = 0; i < reload->n_files && reload->inotify >= 0; i++) {
        struct watched *file = &reload->files[i];
        int watch = inotify_add_watch(reload->inotify, file->path, FILE_EVENTS);
        bool shared = false;
        for (size_t k = 0; k < reload->n_files; k++)
            shared |= k != i && reload->files[k].file_watch == file->file_watch;
        if (watch != file->file_watch && file->file_watch >= 0 && !shared)
            inotify_rm_watch(reload->inotify, file->file_watch);
        file->file_watch = watch;
    }
}

static void *watch(void *arg)
{
    struct sr_reload *reload = arg;
    struct pollfd fds[2] = {{.fd = reload->wake, .events = POLLIN},
                            {.fd = reload->inotify, .events = POLLIN}};
    uint64_t due = 0; /* time of the callback if no event follows; 0 = none */
    sr_thread_name("sr-reload");
    while (!atomic_load(&reload->stopping)) {
        uint64_t now = sr_clock_ns();
        int wait = due == 0 ? -1 : due <= now ? 0 : (int)((due - now) / SR_NS_PER_MS) + 1;
        if (poll(fds, 2, wait) < 0 && errno != EINTR)
            break;
        now = sr_clock_ns();
        bool quiet = due != 0 && now >= due;
        if ((fds[1].revents & POLLIN) && read_events(reload)) {
            due = now + SR_RELOAD_DEBOUNCE_MS * SR_NS_PER_MS;
            quiet = false;
        }
        if (fds[0].revents & POLLIN) {
            uint64_t count;
            ssize_t n = read(reload->wake, &count, sizeof count);
            (void)n;
        }
        if (atomic_load(&reload->stopping))
            break;
        if (atomic_exchange(&reload->asked, false) || quiet) {
            due = 0;
            watch_files(reload);
            reload->changed(reload->ctx);
        }
    }
    return NULL;
}

static int split_path(struct watched *file, const char *path)
{
    *file = (struct watched){.file_watch = -1, .directory_watch = -1};
    file->path = sr_mem_dup(path, strlen(path));
    if (!file->path)
        return SR_ENOMEM;
    const char *slash = strrchr(file->path, '/');
    file->name = slash ? slash + 1 : file->path;
    file->directory = !slash                ? sr_mem_dup(".", 1)
                      : slash == file->path ? sr_mem_dup("/", 1)
                                            : sr_mem_dup(path, (size_t)(slash - file->path));
    return file->directory ? SR_OK : SR_ENOMEM;
}

static void drop_file(struct watched *file)
{
    sr_mem_free(file->directory);
    sr_mem_free(file->path);
}

/* Takes a file into the list; its directory is watched from now on. */
static int add_file(struct sr_reload *reload, const char *path)
{
    struct watched *file = &reload->files[reload->n_files];
    if (reload->n_files == SR_RELOAD_FILES_MAX)
        return SR_ELIMIT;
    int rc = split_path(file, path);
    if (rc) {
        drop_file(file);
        return rc;
    }
    reload->n_files++;
    if (reload->inotify < 0)
        return SR_OK;
    file->directory_watch = inotify_add_watch(reload->inotify, file->directory, DIRECTORY_EVENTS);
    if (file->directory_watch < 0)
        sr_log(SR_LOG_WARN, "config_watch", "cannot watch %s (%s): changes need SIGHUP", file->directory,
               strerror(errno));
    return SR_OK;
}

static void reload_free(struct sr_reload *reload)
{
    if (reload->inotify >= 0)
        close(reload->inotify);
    if (reload->wake >= 0)
        close(reload->wake);
    for (size_t i = 0; i < reload->n_files; i++)
        drop_file(&reload->files[i]);
    sr_mem_free(reload);
}

static bool is_listed(const char *path, const char *const *also, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(also[i], path) == 0)
            return true;
    return false;
}

/* Files that are named no more: their watches go, unless another file has them too. */
static void forget(struct sr_reload *reload, const char *const *also, size_t n)
{
    size_t kept = reload->n_fixed;
    for (size_t i = reload->n_fixed; i < reload->n_files; i++) {
        struct watched *file = &reload->files[i];
        if (is_listed(file->path, also, n)) {
            reload->files[kept++] = *file;
            continue;
        }
        bool shared = false;
        for (size_t k = 0; k < reload->n_files; k++)
            shared |= k != i && reload->files[k].file_watch == file->file_watch;
        if (file->file_watch >= 0 && !shared)
            inotify_rm_watch(reload->inotify, file->file_watch);
        drop_file(file);
    }
    reload->n_files = kept;
}

void sr_reload_also(struct sr_reload *reload, const char *const *also, size_t n)
{
    forget(reload, also, n);
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < reload->n_files && !known; k++)
            known = strcmp(reload->files[k].path, also[i]) == 0;
        if (!known && add_file(reload, also[i]))
            sr_log(SR_LOG_WARN, "config_watch", "cannot watch %s: changes need SIGHUP", also[i]);
    }
    watch_files(reload);
}

int sr_reload_start(struct sr_reload **out, const char *path, const char *const *also, size_t n,
                    void (*changed)(void *ctx), void *ctx, struct sr_err *err)
{
    struct sr_reload *reload = sr_mem_calloc(1, sizeof *reload);
    *out = NULL;
    if (!reload)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    reload->changed = changed;
    reload->ctx = ctx;
    reload->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (reload->inotify < 0)
        sr_log(SR_LOG_WARN, "config_watch", "cannot watch files (%s): changes need SIGHUP", strerror(errno));
    reload->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = reload->wake < 0 ? SR_EIO : path ? add_file(reload, path) : SR_OK;
    if (rc == SR_OK) {
        reload->n_fixed = reload->n_files;
        sr_reload_also(reload, also, n);
    }
    *out = reload; /* the callback may use it */
    if (rc == SR_OK && pthread_create(&reload->thread, NULL, watch, reload) != 0)
        rc = SR_EIO;
    if (rc != SR_OK) {
        *out = NULL;
        reload_free(reload);
        return sr_err_set(err, rc, "cannot start the configuration watcher: %s", sr_strerror(rc));
    }
    return SR_OK;
}

static void wake(struct sr_reload *reload)
{
    uint64_t one = 1;
    ssize_t n = write(reload->wake, &one, sizeof one);
    (void)n; /* full: the thread is awake already */
}

void sr_reload_now(struct sr_reload *reload)
{
    atomic_store(&reload->asked, true);
    wake(reload);
}

void sr_reload_stop(struct sr_reload *reload)
{
    if (reload) {
        atomic_store(&reload->stopping, true);
        wake(reload);
        pthread_join(reload->thread, NULL);
        reload_free(reload);
    }
}

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

struct sr_reload {
    pthread_t thread;
    char *path;      /* NULL: nothing to watch */
    char *directory; /* of `path` */
    const char *name;
    int inotify;
    int file_watch; /* follows links to the file itself; renewed after each change */
    int wake;
    atomic_bool asked, stopping;
    void (*changed)(void *ctx);
    void *ctx;
};

static bool concerns_us(const struct sr_reload *reload, const struct inotify_event *event)
{
    if (event->wd == reload->file_watch)
        return (event->mask & IN_IGNORED) == 0;
    return event->len > 0 && (strcmp(event->name, reload->name) == 0 ||
                              strncmp(event->name, KUBERNETES_LINK, sizeof KUBERNETES_LINK - 1) == 0);
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

/* Watches the file again: the name may refer to another file now. */
static void watch_file(struct sr_reload *reload)
{
    int watch = inotify_add_watch(reload->inotify, reload->path, FILE_EVENTS);
    if (watch != reload->file_watch && reload->file_watch >= 0)
        inotify_rm_watch(reload->inotify, reload->file_watch);
    reload->file_watch = watch;
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
            if (reload->inotify >= 0)
                watch_file(reload);
            reload->changed(reload->ctx);
        }
    }
    return NULL;
}

static int split_path(struct sr_reload *reload, const char *path)
{
    reload->path = sr_mem_dup(path, strlen(path));
    if (!reload->path)
        return SR_ENOMEM;
    const char *slash = strrchr(reload->path, '/');
    reload->name = slash ? slash + 1 : reload->path;
    reload->directory = !slash                  ? sr_mem_dup(".", 1)
                        : slash == reload->path ? sr_mem_dup("/", 1)
                                                : sr_mem_dup(path, (size_t)(slash - reload->path));
    return reload->directory ? SR_OK : SR_ENOMEM;
}

static void start_watching(struct sr_reload *reload)
{
    reload->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (reload->inotify < 0 || inotify_add_watch(reload->inotify, reload->directory, DIRECTORY_EVENTS) < 0) {
        sr_log(SR_LOG_WARN, "config_watch", "cannot watch %s (%s): changes need SIGHUP", reload->directory,
               strerror(errno));
        return;
    }
    watch_file(reload);
}

static void reload_free(struct sr_reload *reload)
{
    if (reload->inotify >= 0)
        close(reload->inotify);
    if (reload->wake >= 0)
        close(reload->wake);
    sr_mem_free(reload->directory);
    sr_mem_free(reload->path);
    sr_mem_free(reload);
}

int sr_reload_start(struct sr_reload **out, const char *path, void (*changed)(void *ctx), void *ctx,
                    struct sr_err *err)
{
    struct sr_reload *reload = sr_mem_calloc(1, sizeof *reload);
    *out = NULL;
    if (!reload)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    reload->changed = changed;
    reload->ctx = ctx;
    reload->inotify = reload->file_watch = -1;
    reload->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = reload->wake < 0 ? SR_EIO : path ? split_path(reload, path) : SR_OK;
    if (rc == SR_OK && path)
        start_watching(reload);
    if (rc == SR_OK && pthread_create(&reload->thread, NULL, watch, reload) != 0)
        rc = SR_EIO;
    if (rc != SR_OK) {
        reload_free(reload);
        return sr_err_set(err, rc, "cannot start the configuration watcher: %s", sr_strerror(rc));
    }
    *out = reload;
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

/* The signals' thread: signalfd and a wake-up descriptor under one poll; it allocates and waits for nothing.
 */
#include "serve/process/signals.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "observe/process_log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LAST_WORDS_MS 200 /* for the log, when the process ends at once */

static struct {
    int signals, asked, wake;
    atomic_bool ready, reload;
    atomic_int end, exit_code;
    _Atomic uint64_t deadline_ns; /* 0: none */
} now = {.signals = -1, .asked = -1, .wake = -1};

static void notify(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);
    (void)n; /* full: it is readable already */
}

static void drop_count(int fd)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
}

_Noreturn static void end_process(int code)
{
    sr_process_log_flush(LAST_WORDS_MS);
    _exit(code);
}

static void on_signal(int number)
{
    if (number == SIGHUP) {
        atomic_store(&now.reload, true);
    } else if (!atomic_load(&now.ready)) {
        sr_log(SR_LOG_WARN, "start", "%s before the start was complete",
               number == SIGTERM ? "SIGTERM" : "SIGINT");
        end_process(128 + number);
    } else if (atomic_exchange(&now.end, number) != 0) {
        sr_log(SR_LOG_WARN, "drain", "second signal: requests in progress are aborted");
        end_process(0);
    }
    notify(now.asked);
}

static int wait_ms(void)
{
    uint64_t deadline = atomic_load(&now.deadline_ns), ns = sr_clock_ns();
    if (deadline == 0)
        return -1;
    return ns < deadline ? (int)((deadline - ns) / SR_NS_PER_MS) + 1 : 0;
}

static void *watch(void *arg)
{
    struct pollfd fds[2] = {{.fd = now.signals, .events = POLLIN}, {.fd = now.wake, .events = POLLIN}};
    (void)arg;
    sr_thread_name("sr-signals");
    for (;;) {
        int n = poll(fds, 2, wait_ms());
        if (n == 0 && atomic_load(&now.deadline_ns) != 0 && wait_ms() == 0) {
            sr_log(SR_LOG_WARN, "drain", "a thread does not return: the process ends without it");
            end_process(atomic_load(&now.exit_code));
        }
        if (n <= 0)
            continue;
        if (fds[1].revents & POLLIN)
            drop_count(now.wake);
        struct signalfd_siginfo info;
        if ((fds[0].revents & POLLIN) && read(now.signals, &info, sizeof info) == (ssize_t)sizeof info)
            on_signal((int)info.ssi_signo);
    }
    return NULL;
}

int sr_signals_start(struct sr_err *err)
{
    sigset_t set;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of the write */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    now.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    now.asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    now.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (now.signals < 0 || now.asked < 0 || now.wake < 0)
        return sr_err_set(err, SR_EIO, "no file descriptors left");
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        return sr_err_set(err, SR_EIO, "cannot start the thread for signals");
    pthread_detach(thread);
    return SR_OK;
}

void sr_signals_ready(void)
{
    atomic_store(&now.ready, true);
}

int sr_signals_fd(void)
{
    return now.asked;
}

struct sr_signals_asked sr_signals_take(void)
{
    drop_count(now.asked);
    return (struct sr_signals_asked){.reload = atomic_exchange(&now.reload, false),
                                     .end = atomic_load(&now.end)};
}

void sr_signals_limit_end(uint64_t ms, int exit_code)
{
    atomic_store(&now.exit_code, exit_code);
    atomic_store(&now.deadline_ns, sr_clock_ns() + ms * SR_NS_PER_MS);
    notify(now.wake);
}

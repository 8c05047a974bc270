/* A list under one lock; lines are logged outside of it. */
#include "base/progress.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define SAID_EVERY_NS (5 * SR_NS_PER_S)

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sr_progress *steps; /* the latest first */
static atomic_bool logged;

void sr_progress_log(bool on)
{
    atomic_store(&logged, on);
}

void sr_progress_begin(struct sr_progress *step, const char *fmt, ...)
{
    va_list args;
    *step = (struct sr_progress){.began_ns = sr_clock_ns(), .pprev = &steps};
    va_start(args, fmt);
    vsnprintf(step->name, sizeof step->name, fmt, args);
    va_end(args);
    pthread_mutex_lock(&list_lock);
    step->next = steps;
    if (steps)
        steps->pprev = &step->next;
    steps = step;
    pthread_mutex_unlock(&list_lock);
}

void sr_progress_set(struct sr_progress *step, uint64_t done, uint64_t total)
{
    uint64_t now = sr_clock_ns();
    pthread_mutex_lock(&list_lock);
    step->done = done;
    step->total = total;
    bool says = !step->said_ns || now - step->said_ns >= SAID_EVERY_NS;
    if (says)
        step->said_ns = now;
    pthread_mutex_unlock(&list_lock);
    if (says && atomic_load(&logged))
        sr_log(SR_LOG_INFO, "progress", "%s: %" PRIu64 " of %" PRIu64 " (%" PRIu64 " %%) in %.0f s",
               step->name, done, total, total ? done * 100 / total : 0, (double)(now - step->began_ns) / 1e9);
}

void sr_progress_end(struct sr_progress *step)
{
    pthread_mutex_lock(&list_lock);
    *step->pprev = step->next;
    if (step->next)
        step->next->pprev = step->pprev;
    pthread_mutex_unlock(&list_lock);
    uint64_t took = sr_clock_ns() - step->began_ns;
    if (took >= SAID_EVERY_NS && atomic_load(&logged))
        sr_log(SR_LOG_INFO, "progress", "%s: done in %.0f s", step->name, (double)took / 1e9);
}

size_t sr_progress_now(struct sr_progress_view *views, size_t max)
{
    uint64_t now = sr_clock_ns();
    size_t n = 0, of = 0;
    pthread_mutex_lock(&list_lock);
    for (const struct sr_progress *step = steps; step; step = step->next)
        of++;
    for (const struct sr_progress *step = steps; step; step = step->next) {
        size_t at = --of;
        if (at >= max)
            continue;
        n++;
        snprintf(views[at].name, sizeof views[at].name, "%s", step->name);
        views[at].done = step->done;
        views[at].total = step->total;
        views[at].took_ns = now > step->began_ns ? now - step->began_ns : 0;
    }
    pthread_mutex_unlock(&list_lock);
    return n;
}

/*
 * Worker threads for work that may not run on an event loop (long scans, inference).
 *
 * A bounded queue in two priorities; a full queue refuses the job, and the caller sheds or degrades instead
 * of waiting. Of a priority the shortest job is first, but none is later than if all had shared the threads;
 * long jobs leave one thread to others. Threads have a niceness of +4 relative to the process. Jobs own the
 * memory that they use; results return by mailbox.
 */
#ifndef SR_BASE_THREAD_H
#define SR_BASE_THREAD_H

#include "base/err.h"

#include <stddef.h>

/* Names the calling thread by what it does, "sr-work"; of a longer name the first 15 bytes. A thread that
 * names itself has not the name of the thread that started it. */
void sr_thread_name(const char *name);

struct sr_workers;

/* Embedded in the caller's job object; must stay valid until `run` returns. */
struct sr_job {
    struct sr_job *next;
    void (*run)(struct sr_job *self); /* on a worker thread */
    size_t bytes;                     /* to read, roughly; 0: a short job */
    double tag;                       /* the workers' */
};

#define SR_JOB_LONG ((size_t)1 << 20) /* bytes; a longer job is a long one */

enum sr_job_priority { SR_JOB_INTERACTIVE, SR_JOB_BULK };

/* Starts `threads` threads with room for `queue_max` waiting jobs. */
int sr_workers_new(struct sr_workers **out, int threads, size_t queue_max) SR_WARN_UNUSED;

/* Runs the queued jobs, then joins the threads. NULL is allowed. */
void sr_workers_free(struct sr_workers *workers);

/* Any thread. SR_EBUSY when the queue is full, SR_ECLOSED while it is being freed. */
int sr_workers_submit(struct sr_workers *workers, struct sr_job *job,
                      enum sr_job_priority priority) SR_WARN_UNUSED;

/* Number of waiting jobs, for the metrics. */
size_t sr_workers_queued(struct sr_workers *workers);

#endif

/*
 * Worker threads for work that may not run on an event loop (long scans, inference).
 *
 * A bounded queue in two priorities; a full queue refuses the job, and the caller sheds or degrades instead
 * of waiting. Of a priority the shortest job is first, but none is later than if all had shared the threads,
 * and a job gives way while it runs (sr_job_pause); long jobs leave one thread to others. Threads have a
 * niceness of +10 relative to the process. Jobs own the memory that they use; results return by mailbox.
 */
#ifndef SR_BASE_THREAD_H
#define SR_BASE_THREAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Names the calling thread by what it does, "sr-work"; of a longer name the first 15 bytes. A thread that
 * names itself has not the name of the thread that started it. */
void sr_thread_name(const char *name);

struct sr_workers;

/* Embedded in the caller's job object; must stay valid until `run` returns. */
struct sr_job {
    struct sr_job *next;
    void (*run)(struct sr_job *self); /* on a worker thread */
    /* Optional, on a worker thread while it runs: true when no caller waits for its result any more. */
    bool (*is_stopped)(struct sr_job *self);
    size_t bytes;         /* to read, roughly; 0: a short job */
    uint64_t deadline_ns; /* of sr_clock_ns: refused if others would make it later; 0: none */
    double tag;           /* the workers' */
};

#define SR_JOB_LONG ((size_t)1 << 20) /* bytes; a longer job is a long one */

enum sr_job_priority { SR_JOB_INTERACTIVE, SR_JOB_BULK };

/* Starts `threads` threads with room for `queue_max` waiting jobs. */
int sr_workers_new(struct sr_workers **out, int threads, size_t queue_max) SR_WARN_UNUSED;

/* Runs the queued jobs, then joins the threads. NULL is allowed. */
void sr_workers_free(struct sr_workers *workers);

/* Any thread. SR_EBUSY when the queue is full, or when what waits leaves no time until the deadline, as
 * measured lately; a job that needs that time alone is taken while little waits. SR_ECLOSED while it is being
 * freed. */
int sr_workers_submit(struct sr_workers *workers, struct sr_job *job,
                      enum sr_job_priority priority) SR_WARN_UNUSED;

/* Long work calls it every few KiB, with the bytes that it has read since the last call, and holds no lock.
 * On a worker thread: runs what has become more urgent than the job, then SR_ECANCELED when no caller waits
 * for the job's result any more, so that it should end with this error. On any other thread: SR_OK. */
int sr_job_pause(size_t bytes) SR_WARN_UNUSED;

/* The current queue. `queued`: waiting jobs. The times are as measured lately, 0 before that. */
struct sr_workers_stats {
    size_t queued;
    uint64_t rest_ns;  /* until all that waits is read */
    double least_ns;   /* a byte took at least that */
    uint64_t gave_way; /* jobs that ran in a pause of another */
};
struct sr_workers_stats sr_workers_stats(struct sr_workers *workers);

#endif

/*
 * How long the requests at a worker wait for the first byte of their answers, for each policy's seat of it.
 *
 * A mean over about the last SR_PACE_WINDOW requests. Requests that still wait count with their time so far,
 * so that a worker which has stopped is seen before anything ends there. Private to this folder; any thread.
 */
#ifndef SR_POOL_PACE_H
#define SR_POOL_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What is measured of a request: from its begin to the first byte of the answer, and to its end. */
enum sr_pool_time { SR_POOL_FIRST_BYTE, SR_POOL_WHOLE, SR_POOL_TIMES };

#define SR_PACE_WINDOW 8

/* One request counts at most as so many times the usual one: long prompts are no slow worker. */
#define SR_PACE_TIMES_MAX 6.0

struct sr_pool_pace {
    _Atomic uint64_t waiting;        /* requests that wait, and the sum of when they began (pace.c) */
    _Atomic uint64_t spent, ended;   /* doubles' bits: milliseconds of those that ended, and how many */
    _Atomic uint64_t begun, counted; /* requests; those of them that are in the rate */
    _Atomic uint64_t rate, rated_ns; /* a double's bits; when it was taken */
};

/* A request begins to wait. */
void sr_pace_begin(struct sr_pool_pace *pace, uint64_t began_ns);

/* It waits no more. `counts` false: its time says nothing of the worker. `usual_ms`: what one takes; 0:
 * unknown. */
void sr_pace_end(struct sr_pool_pace *pace, uint64_t began_ns, uint64_t now_ns, bool counts, double usual_ms);

/* Requests that lately began there, which count less with the time. One caller at a time. */
double sr_pace_rate(struct sr_pool_pace *pace, uint64_t now_ns);

/* What is known is forgotten: the worker counts as one with `usual_ms`, weakly. */
void sr_pace_reset(struct sr_pool_pace *pace, double usual_ms);

/* Milliseconds that a request waits. `*weight` is the number of requests of which that is known, at most
 * SR_PACE_WINDOW and those that wait. */
double sr_pace_mean(const struct sr_pool_pace *pace, uint64_t now_ns, double usual_ms, double *weight);

#endif

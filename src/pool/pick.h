/*
 * Which of a model's targets the next request goes to: smooth weighted round robin.
 *
 * Owns the running weights and the memory of failed connects, keyed by the caller's hash of model and target,
 * so that both survive a reload of the configuration. One picker per event loop: not thread-safe. Knows no
 * sockets and no health checks; the caller reports what it saw.
 */
#ifndef SR_POOL_PICK_H
#define SR_POOL_PICK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long a target whose connect failed is tried last. */
#define SR_PICK_REST_NS (UINT64_C(5) * 1000 * 1000 * 1000)

/* Targets that one picker remembers; past it the memory starts anew. */
#define SR_PICK_MAX_TARGETS 4096

struct sr_pick_candidate {
    uint64_t key;  /* names the target; equal keys share their state */
    double weight; /* relative share; <= 0 is never chosen while another may be */
    bool tried;    /* already failed for this request: not chosen again */
};

struct sr_pick;

int sr_pick_new(struct sr_pick **out) SR_WARN_UNUSED;

/* NULL is allowed. */
void sr_pick_free(struct sr_pick *pick);

/* The index of the candidate to use, or -1 when all were tried (or n is 0). Resting targets are chosen only
 * when no other is left. Over many calls with the same candidates each gets its weight's share, evenly
 * spread. `now_ns` is monotonic. */
int sr_pick_next(struct sr_pick *pick, const struct sr_pick_candidate *candidates, size_t n, uint64_t now_ns);

/* The connect to `key` failed: it rests until SR_PICK_REST_NS from now. */
void sr_pick_failed(struct sr_pick *pick, uint64_t key, uint64_t now_ns);

/* It answered: the rest is over. */
void sr_pick_worked(struct sr_pick *pick, uint64_t key);

#endif

/*
 * The stage that asks the store for a response by its id.
 *
 * It runs on the exchange's thread; a late result comes through the exchange's mailbox and ends in `done`. A
 * store that cannot say whether it has the response (it is away, or still reading its file) is `away`, which
 * is not the same as having none.
 */
#ifndef SR_ROUTER_STATE_ASK_H
#define SR_ROUTER_STATE_ASK_H

#include "cache/cache.h"
#include "router/state/stored.h"

struct sr_state_ask {
    struct sr_cache *cache;
    struct sr_cache_key key;
    struct sr_cache_lookup *lookup; /* NULL: not asked, or it has ended */
    bool pending;                   /* it will end by `done` */
    uint64_t deadline_ns;
    void (*done)(void *ctx);
    void *ctx;

    /* what was found */
    struct sr_cache_record *record; /* a reference; NULL: none */
    bool away;
};

/* What it works with; all of it outlives the ask. */
struct sr_state_ask_in {
    struct sr_cache *cache;
    struct sr_bytes owner, id;
    struct sr_mailbox *mailbox; /* NULL: only memory is asked */
    uint64_t timeout_ms;
    void (*done)(void *ctx); /* once after SR_AGAIN, unless it is given up or disposed of before */
    void *ctx;
};

/* SR_OK: it has ended. SR_AGAIN: `done` follows. SR_ENOMEM. An id that no response can have is not found. */
int sr_state_ask_begin(struct sr_state_ask *ask, const struct sr_state_ask_in *in) SR_WARN_UNUSED;

/* The deadline has passed: the store is away, and `done` is not called. */
void sr_state_ask_give_up(struct sr_state_ask *ask);

/* Removes what was found. */
void sr_state_ask_remove(struct sr_state_ask *ask);

/* Cancels what is in progress and drops the record. May be called twice, and without a begin. */
void sr_state_ask_dispose(struct sr_state_ask *ask);

#endif

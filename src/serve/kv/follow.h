/*
 * Follows the numbered batches of one worker's KV events: what is missing is asked for again, and what cannot
 * be had makes unknown all that was told of the worker, for wrong blocks are worse than none.
 *
 * Knows numbers and batches, and no sockets: its owner tells it what arrives, and gives it what it asks for.
 * One thread.
 */
#ifndef SR_SERVE_KV_FOLLOW_H
#define SR_SERVE_KV_FOLLOW_H

#include "base/bytes.h"
#include "pool/policy.h"
#include "pool/report.h"

/* Without a batch for so long the publisher is asked whether one was missed. */
#define SR_KV_CHECK_NS (UINT64_C(5) * 1000 * 1000 * 1000)

struct sr_kv_follow_ops {
    void (*event)(void *ctx, const struct sr_pool_kv_event *event);
    /* Asks for the batches from a number on: sr_kv_follow_replayed for each, then sr_kv_follow_replay_end. No
     * published batch comes meanwhile. False: it cannot be asked. */
    bool (*replay)(void *ctx, uint64_t from);
};

struct sr_kv_follow {
    const struct sr_kv_follow_ops *ops;
    void *ctx;
    bool has_replay;       /* it can be asked */
    bool known;            /* `next` is */
    bool heard;            /* `live` is */
    bool replaying, fills; /* a replay is in progress; it is asked for what is known to be missing */
    bool dirty;            /* something is known of the worker */
    uint64_t next;         /* the batch that is expected */
    uint64_t live;         /* the last that was published to us */
    uint64_t at_ns;        /* when the last batch or replay was */
    struct sr_pool_kv_feed feed;
};

void sr_kv_follow_init(struct sr_kv_follow *follow, const struct sr_kv_follow_ops *ops, void *ctx,
                       bool has_replay);

/* The connection is there, for the first time or again: begins with what the worker kept. */
void sr_kv_follow_connected(struct sr_kv_follow *follow);
void sr_kv_follow_lost(struct sr_kv_follow *follow);

void sr_kv_follow_batch(struct sr_kv_follow *follow, uint64_t number, struct sr_bytes payload);
void sr_kv_follow_replayed(struct sr_kv_follow *follow, uint64_t number, struct sr_bytes payload);
/* `whole` false: the answer did not come, or not whole. */
void sr_kv_follow_replay_end(struct sr_kv_follow *follow, bool whole);

/* Something arrived that is no batch. */
void sr_kv_follow_bad(struct sr_kv_follow *follow);

/* Now and then: asks for a last batch that was missed. */
void sr_kv_follow_check(struct sr_kv_follow *follow, uint64_t now_ns);

/* All again from the beginning: a policy knows nothing of the worker yet. */
void sr_kv_follow_again(struct sr_kv_follow *follow);

#endif

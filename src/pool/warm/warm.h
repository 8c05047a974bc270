/*
 * What is known of the workers' caches: blocks that this process sent there (an estimate), and blocks that a
 * worker's own events name. The base of the policies prefix, kv, cost and auto, whose seats begin with
 * struct sr_pool_warm_seat.
 *
 * Events name blocks by the engine's hashes; the tokens in them give ours, so that any engine's hashes are
 * understood. docs/internals/pool.md.
 */
#ifndef SR_POOL_WARM_WARM_H
#define SR_POOL_WARM_WARM_H

#include "pool/rank.h"
#include "pool/warm/blocks.h"
#include "pool/warm/kv_map.h"

struct sr_pool_warm {
    const struct sr_pool_settings *settings;
    struct sr_pool_blocks *sent;    /* blocks of prompts that were sent to workers */
    struct sr_pool_blocks *told;    /* blocks of workers' events; NULL: events are not used */
    struct sr_pool_placement *here; /* requests at workers, the latest first; with events only */
    uint32_t *coming, *shared;      /* [n_depths]: of those, in one match */
    size_t n_depths;
    uint64_t turn;
};

struct sr_pool_warm_seat {
    struct sr_pool_turn turn;
    bool tells;       /* the worker's events say what it has; else it is estimated */
    uint64_t events;  /* that were understood since the last that cleared all */
    uint64_t unknown; /* blocks that were stored since then and are not known */
    struct sr_kv_map names;
    uint64_t asked, expected;       /* blocks, as in struct sr_pool_seat_stats */
    uint64_t pending, active, held; /* blocks of the requests there, as in struct sr_pool_placement */
};

/* What each worker has of one prompt. */
struct sr_pool_overlaps {
    const uint32_t *sent, *told; /* [slots]; NULL: not compared */
    /* With events; [slots]: blocks that the worker will have when it has answered what is there; blocks that
     * a request there holds. */
    const uint32_t *coming, *shared;
    size_t blocks, told_blocks; /* of the prompt */
};

/* SR_ENOMEM. */
int sr_pool_warm_init(struct sr_pool_warm *warm, const struct sr_pool_settings *settings,
                      bool events) SR_WARN_UNUSED;
void sr_pool_warm_dispose(struct sr_pool_warm *warm);

int sr_pool_warm_join(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat,
                      uint32_t slot) SR_WARN_UNUSED;
void sr_pool_warm_leave(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot);

/* Compares a prompt with the workers of these candidates; valid until the next call. */
struct sr_pool_overlaps sr_pool_warm_match(struct sr_pool_warm *warm, const struct sr_pool_ask *ask,
                                           const struct sr_pool_candidate *candidates, size_t n);

/* Blocks of the prompt that a member's worker has: what its events say and what comes by requests that are
 * there, else the estimate. */
uint32_t sr_pool_warm_overlap(const struct sr_pool_overlaps *overlaps, const struct sr_pool_member *member);

/* Blocks that the worker is known or estimated to have. */
uint64_t sr_pool_warm_known(const struct sr_pool_warm *warm, const struct sr_pool_warm_seat *seat,
                            uint32_t slot);

/* The policy's parts for requests, events and stats. */
void sr_pool_warm_placed(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot,
                         const struct sr_pool_ask *ask, struct sr_pool_placement *placement);
/* Notes what was sent there, of a worker that does not tell itself. */
size_t sr_pool_warm_note(struct sr_pool_warm *warm, const struct sr_pool_warm_seat *seat, uint32_t slot,
                         const struct sr_pool_ask *ask, size_t left);
void sr_pool_warm_answered(struct sr_pool_warm_seat *seat, struct sr_pool_placement *placement);
void sr_pool_warm_ended(struct sr_pool_warm_seat *seat, struct sr_pool_placement *placement);
void sr_pool_warm_event(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot,
                        const struct sr_pool_kv_event *event);
void sr_pool_warm_stats(const struct sr_pool_warm *warm, const struct sr_pool_warm_seat *seat, uint32_t slot,
                        struct sr_pool_seat_stats *out);

/* What the first block of a prompt comes after: 0, or what tells apart prompts of the same tokens, which are
 * those of an adapter (LoRA) or with a salt. Both may be empty. */
uint64_t sr_pool_kv_root(struct sr_bytes adapter, struct sr_bytes salt);

/* The hash of a block of the engine's tokens after the one before, the root for the first; never 0. */
uint64_t sr_pool_kv_hash(uint64_t before, const uint32_t *tokens, size_t n);

#endif

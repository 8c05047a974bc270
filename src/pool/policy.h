/*
 * The interface of picking policies, which choose the next of the eligible candidates.
 *
 * A policy is one file with one `struct sr_pool_policy_ops`, and one line in registry.c. It sees only
 * candidates, what the request brings, and its own state: which candidates are eligible (not tried, not in
 * cooldown, allowed by the door) is decided before. Each picker (pool/picker.h) has one state of its policy,
 * and in it one seat for each worker.
 */
#ifndef SR_POOL_POLICY_H
#define SR_POOL_POLICY_H

#include "base/bytes.h"
#include "base/err.h"
#include "pool/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sr_pool_member;

/* One member of the group, as one request sees it. */
struct sr_pool_candidate {
    struct sr_pool_member *member;
    bool tried;    /* this request has tried it already */
    bool eligible; /* may be chosen */
    bool cooling;  /* its worker is in cooldown or down: eligible only when all remaining ones are */
    bool slow;     /* eligible only when no other one can have it, backups aside */
};

/* What a policy needs of a request, as bits; the router computes nothing else. */
enum sr_pool_needs {
    SR_POOL_NEEDS_SESSION = 1, /* `session` */
    SR_POOL_NEEDS_BLOCKS = 2,  /* `blocks` and the counts of tokens */
    SR_POOL_NEEDS_VECTOR = 4,  /* `vector`: a request waits for it */
    SR_POOL_NEEDS_KV = 8,      /* `kv_blocks`: a request waits for them */
    SR_POOL_NEEDS_LOAD = 16,   /* what workers report of their load; not of the request */
    SR_POOL_USES_VECTOR = 32,  /* `vector`, when it is there anyway */
    SR_POOL_USES_KV = 64,      /* `kv_blocks`, as far as they are known */
};

/* The needs for which the whole body must be there. */
#define SR_POOL_NEEDS_PROMPT                                                                                 \
    (SR_POOL_NEEDS_BLOCKS | SR_POOL_NEEDS_VECTOR | SR_POOL_NEEDS_KV | SR_POOL_USES_VECTOR | SR_POOL_USES_KV)

/* What one request brings. Borrowed; it lives as long as the ticket that has it. All zero: nothing is known.
 */
struct sr_pool_ask {
    uint64_t session; /* hash of who asks; 0: unknown */
    /* Hashes of the prompt's blocks. Each covers all before it too, so that equal hashes are equal prefixes:
     * `blocks` are estimated from bytes, `kv_blocks` are of the engine's own tokens. */
    const uint64_t *blocks, *kv_blocks;
    size_t n_blocks, n_kv_blocks;
    size_t kv_total; /* token blocks of the whole prompt, of which the first are known; 0: as many as those */
    uint64_t prompt_tokens, answer_tokens; /* estimates */
    const float *vector;                   /* [dimensions] of the request's text, length 1; NULL: none */
    size_t dimensions;
    int priority; /* higher is more urgent */
};

/* Why a candidate was chosen, for explanations. */
struct sr_pool_why {
    const char *reason;       /* a constant: "turn", "least loaded", "prefix", ... */
    uint32_t overlap, blocks; /* blocks of the prompt that the worker is expected to have, of so many */
    float similarity;         /* of its recent requests; 0: not compared */
    double load;              /* in the policy's unit */
};

/* What a policy keeps of one request at a worker. */
struct sr_pool_placement {
    uint32_t overlap; /* before `placed`: as in the choice that led there, else 0 */
    uint32_t pending; /* blocks that the worker computes before it answers */
    uint32_t active;  /* blocks that it holds until the end */
    /* From `placed` to `ended`, for others to compare with. The policy's. */
    const struct sr_pool_ask *ask;
    uint64_t first; /* block of the prompt */
    uint32_t slot;
    uint32_t held; /* of `active`: no other request there holds them */
    bool answered;
    struct sr_pool_placement *next, **at; /* at NULL: it is in no list */
};

/* What a worker says of its cache. Hashes are the engine's own. */
enum sr_pool_kv_kind {
    SR_POOL_KV_STORED,  /* blocks follow `parent`; each has `block_size` of the tokens */
    SR_POOL_KV_REMOVED, /* blocks are gone */
    SR_POOL_KV_CLEARED, /* all blocks are gone */
    SR_POOL_KV_UNKNOWN, /* what was told is not reliable any more */
};

struct sr_pool_kv_event {
    enum sr_pool_kv_kind kind;
    const uint64_t *hashes; /* [n] */
    size_t n;
    bool has_parent;
    uint64_t parent;
    uint64_t root;          /* without a parent: of sr_pool_kv_root */
    const uint32_t *tokens; /* [n * block_size]; NULL unless stored */
    uint32_t block_size;
};

/* What a policy shows of a worker. */
struct sr_pool_seat_stats {
    uint64_t blocks, events, bytes; /* known blocks; events that were understood; memory */
    uint64_t unknown; /* blocks of events that are not known: after one that is not, or over the limit */
    bool tells;       /* the blocks are those of events; else they are estimated */
    uint64_t asked, expected; /* blocks of all prompts; those that the worker was expected to have */
};

/* All calls but open and close come on any thread, with the picker's lock held: short. */
struct sr_pool_policy_ops {
    const char *name;
    uint32_t needs; /* enum sr_pool_needs */
    /* Bytes of state of each seat, initially zero. May be 0. */
    size_t seat_size;
    /* Makes the state of a picker; `settings` outlive it. Optional: the state is NULL. SR_ENOMEM. */
    int (*open)(void **state, const struct sr_pool_settings *settings);
    void (*close)(void *state); /* goes with open; all seats have been left */
    /* A worker joins or leaves. Slots are the lowest free numbers. Optional. SR_ENOMEM. */
    int (*join)(void *state, void *seat, uint32_t slot);
    void (*leave)(void *state, void *seat, uint32_t slot);
    /* Returns the index of an eligible candidate; at least one of `n` is eligible. Mandatory. No allocations.
     * `why` is zero before. */
    size_t (*choose)(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why);
    /* A request begins at a worker; its answer begins; it ends there. Each `placed` has one `ended`, and at
     * most one `answered` between. Optional. */
    void (*placed)(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask,
                   struct sr_pool_placement *placement);
    /* After `placed`, what takes longer: called again until it returns 0, with the lock released between.
     * `left` is what it returned last, at first the blocks of the prompt. Optional. */
    size_t (*note)(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask, size_t left);
    void (*answered)(void *state, void *seat, struct sr_pool_placement *placement);
    void (*ended)(void *state, void *seat, struct sr_pool_placement *placement);
    /* An event of a worker's cache. Optional. */
    void (*event)(void *state, void *seat, uint32_t slot, const struct sr_pool_kv_event *event);
    /* Optional. */
    void (*stats)(const void *state, const void *seat, uint32_t slot, struct sr_pool_seat_stats *out);
};

/* ---- what a policy may ask of a member ---- */

double sr_pool_member_weight(const struct sr_pool_member *member);
/* Requests that this process has at the worker, of all models. */
uint32_t sr_pool_member_in_flight(const struct sr_pool_member *member);
/* Requests that the worker's own report adds to those: of other routers, and those that wait in it. */
double sr_pool_member_reported(const struct sr_pool_member *member);
/* Hash of the worker's identity. */
uint64_t sr_pool_member_hash(const struct sr_pool_member *member);
/* The policy's own state of it, and its number. */
void *sr_pool_member_seat(const struct sr_pool_member *member);
uint32_t sr_pool_member_slot(const struct sr_pool_member *member);

/* The load for policies that compare: requests here and as reported, with the one that is to be placed, for
 * the weight; times its slowness (outlier.h). HUGE_VAL for weight 0. */
double sr_pool_member_load(const struct sr_pool_member *member);

/* Finds a policy by name; the name NULL or "" gives the default. NULL when there is no such policy. */
const struct sr_pool_policy_ops *sr_pool_policy_find(const char *name);

extern const struct sr_pool_policy_ops sr_pool_weighted_round_robin, sr_pool_least_request,
    sr_pool_least_load, sr_pool_session, sr_pool_prefix, sr_pool_kv, sr_pool_cost, sr_pool_meaning,
    sr_pool_auto;

#endif

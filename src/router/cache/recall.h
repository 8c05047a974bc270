/*
 * The stage that answers a request from an earlier answer: before any signal by the bytes of the request, and
 * after the decision by its partition and question.
 *
 * Its state holds keys, the vector of the question while it is computed, the lookup and what it found. It
 * runs on the exchange's thread; late results come through the exchange's mailbox and end in `done`. It knows
 * no exchange, writes no reply, and decides nothing: a request that it cannot look up is a miss.
 */
#ifndef SR_ROUTER_CACHE_RECALL_H
#define SR_ROUTER_CACHE_RECALL_H

#include "cache/cache.h"
#include "router/cache/control.h"
#include "router/cache/key.h"
#include "router/purpose.h"
#include "router/router.h"
#include "router/runtime.h"

/* What a recall works with; all of it outlives the recall. */
struct sr_recall_env {
    sr_runtime *runtime;
    const struct sr_router *router;
    const struct sr_exchange_env *exchange; /* late results are posted here; `post` NULL: none is late */
    struct sr_mailbox **mailbox;            /* the exchange's; created when needed */
    struct sr_arena *arena;
    const struct sr_identity *identity;
    const struct sr_request *doc; /* a complete body */
    struct sr_bytes target;       /* path and query of the request */
    bool streams;                 /* its body or a header asks for a stream */
    /* What decisions read beside the body: a workload, and the names of a session. Empty where none does. */
    struct sr_bytes workload, session, conversation;
    struct sr_bytes versions;  /* as in struct sr_key_request */
    uint64_t client;           /* clients share the inference engine alike */
    struct sr_span_ref origin; /* the request's span */
    /* Called once after sr_recall_start returned SR_AGAIN, unless it is disposed of before. */
    void (*done)(void *ctx);
    void *ctx;
};

struct sr_recall_vector; /* the vector of the question, while it is computed */

struct sr_recall {
    struct sr_recall_env env; /* `runtime` NULL: this request is not looked up */
    enum sr_purpose purpose;
    int64_t ttl_s; /* of an answer that warms; -1: as the policy says */
    struct sr_cache_controls controls;
    struct sr_cache_plan plan;
    struct sr_question question;
    struct sr_cache_key request, exact, partition;
    struct sr_recall_vector *vector; /* NULL: not asked for */
    struct sr_cache_lookup *lookup;  /* NULL: not asked, or it has ended */
    bool asked;                      /* the decision is known, and a lookup was begun if it wants one */
    bool pending;                    /* it will end by `done` */
    uint64_t deadline_ns;            /* of what is pending */
    uint64_t started_ns, ended_ns;   /* of the lookup; 0 = never */

    /* what was found */
    enum sr_cache_hit hit;
    struct sr_cache_record *record; /* a reference; NULL: a miss */
    float similarity;
    uint32_t rejected;
    struct sr_cache_flight *flight; /* this request leads: others wait for its answer */
};

/* Empty, for a request of a client; allocates nothing. */
void sr_recall_init(struct sr_recall *recall);

/* Cancels what is in progress, lets those that wait go on, and drops the record. */
void sr_recall_dispose(struct sr_recall *recall);

/* A complete body may be looked up: makes its first key and asks by it. SR_OK: `record` is set or not.
 * SR_ENOMEM. */
int sr_recall_begin(struct sr_recall *recall, const struct sr_recall_env *env) SR_WARN_UNUSED;

/* Begins to compute the question's vector, beside signals that are in progress anyway. */
void sr_recall_prefetch(struct sr_recall *recall);

/* The decision and what edits made of the body. */
struct sr_recall_decided {
    const struct sr_config_decision *decision; /* NULL: none */
    const char *model;                         /* chosen */
    const struct sr_bytes *slices; /* [n]: the body as it would be sent, but for its usage option */
    size_t n_slices;
    const char *why_not; /* a reason why neither an answer may be used nor stored; NULL */
};

/* Looks up; an exchange that warms only waits for the question's vector. SR_OK: ended, see `record`.
 * SR_AGAIN: `done` follows. SR_ENOMEM: it was not asked. */
int sr_recall_start(struct sr_recall *recall, const struct sr_recall_decided *decided) SR_WARN_UNUSED;

/* May near questions share an answer here? NULL: yes; else why not: "exact_mode", "no_encoder",
 * "no_question", "question_too_long". After sr_recall_start. */
const char *sr_recall_why_exact(const struct sr_recall *recall);

/* The deadline has passed: it ends as a miss, and `done` is not called. */
void sr_recall_deadline(struct sr_recall *recall);

/* An answer to keep. */
struct sr_recall_answer {
    enum sr_cache_form form;
    struct sr_bytes bytes;
    struct sr_bytes verdict; /* for struct sr_cache_fields */
    const char *model, *decision;
};

/* Keeps the answer of this request, if its plan stores, and gives it to those that wait. Returns NULL, or the
 * reason why it was not kept. */
const char *sr_recall_keep(struct sr_recall *recall, const struct sr_recall_answer *answer);

#endif

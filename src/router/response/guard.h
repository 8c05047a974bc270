/*
 * The stage of the plugin `response_jailbreak`: classifies the answer with the jailbreak signal's models,
 * and warns, blocks or only counts when it looks like the result of an attack.
 *
 * A whole JSON answer and its head are held until its texts are classified. The texts of a stream are
 * classified in pieces as they pass, each with the end of the text before it: with `block` an event
 * reaches the client only after its text is classified, with other actions only the end of the stream
 * waits. What cannot be classified passes and is counted. The event loop never waits for a result.
 */
#ifndef SR_ROUTER_RESPONSE_GUARD_H
#define SR_ROUTER_RESPONSE_GUARD_H

#include "config/config.h"
#include "router/response/stage.h"
#include "router/response/text.h"
#include "router/runtime.h"

#define SR_RESPONSE_WINDOW       ((size_t)1536) /* bytes of a stream's text that are classified together */
#define SR_RESPONSE_BLOCKED_CODE "response_jailbreak_blocked"

struct sr_mailbox;

/* The inputs of the guard: the decision with the plugin, and its classifier. All is borrowed. */
struct sr_response_guard_plan {
    const struct sr_config_decision *decision;
    float threshold;
    struct sr_signals *signals; /* signals with the type jailbreak */
    struct sr_bytes tenant;
    const struct sr_config *config; /* of the deadline of one result */
    sr_runtime *runtime;
    const struct sr_exchange_env *env;
    struct sr_mailbox **mailbox; /* the exchange's; created when the first late result is expected */
    void (*ready)(void *ctx);    /* owner's thread: a late result has arrived */
    void *ctx;
};

/* One run over the texts that were not classified; at most one is in progress. */
struct sr_response_check {
    struct sr_signal_run *run; /* NULL: nothing is in progress */
    struct sr_arena arena;
    size_t fresh;  /* bytes that it classifies */
    uint64_t came; /* bytes at the gate when it began */
    uint64_t finished;
    struct sr_stream_at at;
    uint64_t deadline_ns; /* 0 = none */
};

struct sr_response_guard {
    struct sr_response_guard_plan plan;
    const struct sr_config_decision *decision; /* decision of the plan; NULL: no plugin reads this answer */
    enum sr_response_action action;
    const struct sr_dialect_ops *dialect;
    bool whole;  /* the answer is a JSON document, not a stream */
    bool unread; /* it is neither, or its body is not seen */
    struct sr_response_texts texts;
    uint64_t clean;         /* bytes at the gate that may go: their text was classified */
    uint64_t closed;        /* choices whose finish_reason may go too: bits */
    struct sr_stream_at at; /* where the stream is after the bytes that may go */
    bool last, done;        /* no more bytes follow; the stream has its final event */
    bool passes;            /* no room to hold bytes: everything passes at once */
    bool ended;             /* blocked */
    bool told;              /* the client was warned */
    uint64_t read;          /* bytes of texts that were classified */
    int status;             /* status of the latest check that failed */
    bool found;
    float risk; /* highest risk so far */
    const char *kind;
    struct sr_response_check check;
    struct sr_buf words; /* text that the guard adds to the stream */
};

extern const struct sr_answer_stage sr_response_guard_stage; /* its state: struct sr_response_guard */

/* Allocates nothing. */
void sr_response_guard_init(struct sr_response_guard *guard);

/* Cancels the check in progress and frees. Call it before the exchange's mailbox is freed. */
void sr_response_guard_dispose(struct sr_response_guard *guard);

/* The deadline of the check in progress has passed: ends it. */
void sr_response_guard_timeout(struct sr_response_guard *guard);

/* True when the answer's head waits for the guard's finding about its body. */
bool sr_response_guard_holds_head(const struct sr_response_guard *guard);

/* Share of the answer's text that was classified, 0..1; negative without a plugin. */
double sr_response_guard_coverage(const struct sr_response_guard *guard);

#endif

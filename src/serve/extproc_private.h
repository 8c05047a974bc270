/*
 * One request of Envoy's door from the inside: what extproc_core.c, extproc_verdict.c and extproc_answer.c
 * share.
 */
#ifndef SR_SERVE_EXTPROC_PRIVATE_H
#define SR_SERVE_EXTPROC_PRIVATE_H

#include "base/arena.h"
#include "serve/extproc_core.h"

enum sr_extproc_state {
    SR_EXTPROC_STARTING, /* no message yet */
    SR_EXTPROC_READING,  /* the exchange wants more of the body */
    SR_EXTPROC_WAITING,  /* the body is complete, the exchange works elsewhere */
    SR_EXTPROC_PASSING,  /* a streaming verdict: chunks go on as they come */
    SR_EXTPROC_SETTLED,  /* the verdict was told; what still comes of the body is only white space */
    SR_EXTPROC_BYPASS,   /* not ours: everything goes on as it is */
    SR_EXTPROC_CLOSED,   /* answered, or failed: nothing that comes matters */
};

struct sr_extproc_core {
    struct sr_extproc_core_options options;
    struct sr_arena arena; /* what lives as long as the request */
    sr_exchange *exchange;
    enum sr_extproc_state state;
    enum sr_extproc_mode request_mode, response_mode;
    bool configured; /* Envoy said its modes */
    bool no_wait;
    bool silent; /* observability: no replies */
    struct sr_bytes path;
    struct sr_bytes *strip; /* names of the client's headers that may not travel on */
    size_t n_strip;
    const struct sr_bytes *subset;
    size_t n_subset;
    bool has_subset;
    bool has_length; /* the client told its body's length */

    /* what Envoy waits for */
    bool head_owed, trailers_owed, trailers_seen;
    size_t owed; /* replies to body messages; none in FULL_DUPLEX */

    /* the request's body */
    size_t chunks;                     /* messages */
    uint64_t bytes;                    /* in them */
    bool swallowed;                    /* a chunk was answered by nothing in its place */
    bool ended;                        /* Envoy said so */
    uint64_t read_due_ns, hold_due_ns; /* 0 = none */

    /* the answer */
    bool answer_begun, answer_ended, answer_overridden;
    size_t answer_chunks;
};

static inline void sr_extproc_send(struct sr_extproc_core *core, const struct sr_extproc_reply *reply)
{
    if (!core->silent) {
        core->options.ops->send(core->options.ctx, reply);
    }
}

/* A reply that changes nothing. */
void sr_extproc_continue(struct sr_extproc_core *core, enum sr_extproc_phase phase);

/* The slices as FULL_DUPLEX pieces; `end` marks the last, which may be empty. */
void sr_extproc_pieces(struct sr_extproc_core *core, enum sr_extproc_phase phase,
                       const struct sr_bytes *slices, size_t count, bool end);

/* The peer broke the protocol. */
void sr_extproc_fail(struct sr_extproc_core *core, const char *why);

/* Turns the exchange into an error and answers with it. */
void sr_extproc_refuse(struct sr_extproc_core *core, int status, const char *message);

/* A request goes on without the headers of a verdict. */
void sr_extproc_count_unrouted(struct sr_extproc_core *core, const char *reason);

/* ---- extproc_verdict.c ---- */

/* The exchange's verdict is there: pays what Envoy is owed. */
void sr_extproc_deliver(struct sr_extproc_core *core);

/* The reply to the headers without a verdict: takes out what no client may send. */
void sr_extproc_release_head(struct sr_extproc_core *core);

/* ---- extproc_answer.c ---- */

void sr_extproc_answer_head(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_answer_body(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_answer_trailers(struct sr_extproc_core *core);

/* How the exchange ended, as far as Envoy lets one see. */
enum sr_end sr_extproc_how_it_ended(const struct sr_extproc_core *core);

#endif

/*
 * The internals of one request of the ext_proc door, shared by the files of this folder.
 *
 * Calls go one way: core.c (the sequence) uses request.c (the request's half) and answer.c (the answer's),
 * request.c uses verdict.c (the replies for a verdict), verdict.c and answer.c use backend.c (the choice);
 * all use send.c.
 */
#ifndef SR_SERVE_EXTPROC_PRIVATE_H
#define SR_SERVE_EXTPROC_PRIVATE_H

#include "base/arena.h"
#include "router/request/path.h"
#include "serve/extproc/address.h"
#include "serve/extproc/core.h"

#include <string.h>

enum sr_extproc_state {
    SR_EXTPROC_STARTING,  /* no message yet */
    SR_EXTPROC_READING,   /* the exchange needs more of the body */
    SR_EXTPROC_WAITING,   /* the body is complete, the exchange waits for another thread */
    SR_EXTPROC_RESOLVING, /* the verdict is ready, the backend's name is being resolved */
    SR_EXTPROC_PASSING,   /* a streaming verdict: chunks pass through */
    SR_EXTPROC_DELIVERED, /* the verdict was sent; the rest of the body is only white space */
    SR_EXTPROC_BYPASS,    /* not routed: everything passes unchanged */
    SR_EXTPROC_CLOSED,    /* answered or failed: later messages are ignored */
};

/* An endpoint that Envoy offers. */
struct sr_extproc_offer {
    struct sr_bytes text;
    struct sr_extproc_address address;
};

/* A candidate of the ticket, as Envoy knows it. */
struct sr_extproc_endpoint {
    struct sr_bytes text;              /* address for Envoy; empty: not usable, or a name */
    struct sr_extproc_address address; /* AF_UNSPEC for a name */
    bool is_name;                      /* a host name, resolved when chosen */
};

/* The choice of a backend. */
struct sr_extproc_choice {
    struct sr_extproc_endpoint *endpoints; /* one for each candidate; NULL: not needed yet */
    size_t n;
    int at;        /* the candidate that is checked or was chosen; -1 = none */
    bool resolved; /* its name was resolved, with this result: */
    struct sr_extproc_addresses addresses;
    bool made;                      /* the choice is made: Envoy gets `address` */
    const struct sr_target *target; /* NULL: the model has no backends */
    struct sr_bytes address;        /* empty: Envoy routes by itself */
};

struct sr_extproc_core {
    struct sr_extproc_core_options options;
    struct sr_arena arena; /* memory of the request */
    sr_exchange *exchange;
    enum sr_extproc_state state;
    enum sr_extproc_mode request_mode, response_mode;
    bool configured; /* Envoy has sent its modes */
    bool no_wait;
    bool silent;                 /* observability: no replies */
    struct sr_bytes sent_path;   /* :path as Envoy has it */
    struct sr_request_path path; /* its normal form */
    struct sr_bytes *strip;      /* names of the client's headers that are not forwarded */
    size_t n_strip;
    struct sr_extproc_offer *subset;
    size_t n_subset;
    struct sr_extproc_choice choice;
    bool has_subset;
    bool has_length; /* the client sent content-length */
    bool has_coding; /* its body has a content-encoding, which is undone */

    /* what Envoy waits for */
    bool head_pending, trailers_pending, trailers_seen;
    size_t replies_pending; /* replies to body messages; none in FULL_DUPLEX */

    /* the request's body */
    size_t chunks;                     /* messages */
    uint64_t bytes;                    /* in them */
    bool dropped;                      /* a chunk was emptied: the verdict sends the whole body */
    bool ended;                        /* Envoy has sent its end */
    uint64_t read_due_ns, hold_due_ns; /* 0 = none */

    /* the answer */
    bool answer_begun, answer_ended;
    bool answer_overridden; /* Envoy is asked to send it STREAMED */
    bool answer_gathered;   /* or BUFFERED */
    size_t answer_chunks;
    struct sr_header_edits answer_edits; /* edits of its head */
    bool answer_head_pending;            /* FULL_DUPLEX: the reply to its headers waits for its body */
    bool answer_waits;                   /* all of it was given, and a stage reads it */
    bool answer_trailers_pending;        /* the reply to its trailers waits, not one to its body */
};

/* ---- send.c ---- */

/* Sends a reply; does nothing if Envoy accepts no replies. */
void sr_extproc_send(struct sr_extproc_core *core, const struct sr_extproc_reply *reply);

/* Sends a reply without changes. */
void sr_extproc_continue(struct sr_extproc_core *core, enum sr_extproc_phase phase);

/* Sends the slices as FULL_DUPLEX pieces; `end` marks the last, which may be empty. */
void sr_extproc_pieces(struct sr_extproc_core *core, enum sr_extproc_phase phase,
                       const struct sr_bytes *slices, size_t count, bool end);

/* True where guards or keys are configured, so that no request may pass unseen. */
static inline bool sr_extproc_protects(const struct sr_extproc_core *core)
{
    return sr_config_protects(core->options.config) || core->options.config->global.identity.n_slots;
}

#define SR_EXTPROC_HEAD_MISSING                                                                              \
    "guards or keys are configured, and Envoy does not send the headers of requests here"

/* Ends the stream with an error: the peer broke the protocol. */
void sr_extproc_fail(struct sr_extproc_core *core, const char *why);

/* Asks Envoy for more time for the message that waits. */
void sr_extproc_extend(struct sr_extproc_core *core, enum sr_extproc_phase phase, uint64_t ms);

/* Counts a request that is forwarded without the headers of a verdict. */
void sr_extproc_count_unrouted(struct sr_extproc_core *core, const char *reason);

/* True when the content type is text/event-stream. */
bool sr_extproc_is_sse(const struct sr_header *headers, size_t count);

/* ---- request.c ---- */

void sr_extproc_request_head(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_request_body(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_request_trailers(struct sr_extproc_core *core);

/* Handles deadlines while a body is read or signals are in progress. */
void sr_extproc_request_timeout(struct sr_extproc_core *core);

/* ---- backend.c ---- */

/* Keeps the endpoints that Envoy offers. False when out of memory. */
bool sr_extproc_keep_subset(struct sr_extproc_core *core, const struct sr_extproc_message *message);

/* True when Envoy uses the endpoint-picker protocol. */
bool sr_extproc_is_picker(const struct sr_extproc_core *core);

/* Fills core->choice. SR_AGAIN: call it again once the name is resolved; SR_ENOENT: no backend can be
 * used; SR_ELIMIT: as sr_ticket_offer; SR_ENOMEM. */
int sr_extproc_choose(struct sr_extproc_core *core, const struct sr_verdict *v);

/* The chosen address and the fallbacks that the configuration asks for, with commas. */
struct sr_bytes sr_extproc_endpoints(struct sr_extproc_core *core, const struct sr_verdict *v);

/* Reports the backend's result to the pool when the answer's head arrives. */
void sr_extproc_learn(struct sr_extproc_core *core, const struct sr_extproc_message *message, int status);

/* ---- verdict.c ---- */

/* Sends the pending replies once the exchange has its verdict. */
void sr_extproc_deliver(struct sr_extproc_core *core);

/* Answers the client in Envoy's place, in the phase of the message that is waiting: the stream ends. */
void sr_extproc_answer_here(struct sr_extproc_core *core, const struct sr_verdict *v,
                            enum sr_extproc_phase phase);

/* Turns the exchange into an error and answers with it. */
void sr_extproc_refuse(struct sr_extproc_core *core, int status, const char *message);

/* Sends the reply to the headers without a verdict, which removes headers that no client may send. */
void sr_extproc_release_head(struct sr_extproc_core *core);

/* ---- answer.c ---- */

void sr_extproc_answer_head(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_answer_body(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_answer_trailers(struct sr_extproc_core *core);

/* The exchange has classified the bytes that it held. */
void sr_extproc_answer_ready(struct sr_extproc_core *core);

/* How the exchange ended, as far as Envoy shows it. */
enum sr_end sr_extproc_how_it_ended(const struct sr_extproc_core *core);

#endif

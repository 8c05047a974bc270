/*
 * One request of Envoy's door from the inside: what extproc_core.c, extproc_verdict.c and extproc_answer.c
 * share.
 */
#ifndef SR_SERVE_EXTPROC_PRIVATE_H
#define SR_SERVE_EXTPROC_PRIVATE_H

#include "base/arena.h"
#include "serve/extproc/address.h"
#include "serve/extproc/core.h"

#include <string.h>

enum sr_extproc_state {
    SR_EXTPROC_STARTING,  /* no message yet */
    SR_EXTPROC_READING,   /* the exchange wants more of the body */
    SR_EXTPROC_WAITING,   /* the body is complete, the exchange works elsewhere */
    SR_EXTPROC_RESOLVING, /* the verdict is there, the backend's name has no address yet */
    SR_EXTPROC_PASSING,   /* a streaming verdict: chunks go on as they come */
    SR_EXTPROC_SETTLED,   /* the verdict was told; what still comes of the body is only white space */
    SR_EXTPROC_BYPASS,    /* not ours: everything goes on as it is */
    SR_EXTPROC_CLOSED,    /* answered, or failed: nothing that comes matters */
};

/* An endpoint that Envoy offers. */
struct sr_extproc_offer {
    struct sr_bytes text;
    struct sr_extproc_address address;
};

/* A candidate of the ticket, as Envoy knows it. */
struct sr_extproc_endpoint {
    struct sr_bytes text;              /* what Envoy is told; empty: it may not be used, or is a name */
    struct sr_extproc_address address; /* AF_UNSPEC for a name */
    bool is_name;                      /* it is resolved when it is chosen */
};

/* The way to a backend. */
struct sr_extproc_choice {
    struct sr_extproc_endpoint *endpoints; /* one for each candidate; NULL: none were needed yet */
    size_t n;
    int at;        /* the one that is looked at, or was chosen; -1 = none */
    bool resolved; /* its name was, with this result: */
    struct sr_extproc_addresses addresses;
    bool made;                      /* Envoy is told `address` */
    const struct sr_target *target; /* NULL: the model has no backend here */
    struct sr_bytes address;        /* empty: Envoy finds the way itself */
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
    struct sr_extproc_offer *subset;
    size_t n_subset;
    struct sr_extproc_choice choice;
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
    bool answer_begun, answer_ended;
    bool answer_overridden; /* Envoy is asked to send it STREAMED */
    bool answer_gathered;   /* or BUFFERED */
    size_t answer_chunks;
    struct sr_header_edits answer_edits; /* of its head */
    bool answer_head_owed;               /* FULL_DUPLEX: the reply to its headers waits for its body */
    bool answer_waits;                   /* all of it is given, and is being read */
    bool answer_trailers_owed;           /* the reply to its trailers waits, not one to its body */
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

/* Asks Envoy for that much more time for the message that waits. */
void sr_extproc_extend(struct sr_extproc_core *core, enum sr_extproc_phase phase, uint64_t ms);

/* A request goes on without the headers of a verdict. */
void sr_extproc_count_unrouted(struct sr_extproc_core *core, const char *reason);

/* ---- extproc_backend.c ---- */

/* Keeps what Envoy offers. False when memory is out. */
bool sr_extproc_keep_subset(struct sr_extproc_core *core, const struct sr_extproc_message *message);

/* Envoy speaks the endpoint-picker protocol. */
bool sr_extproc_is_picker(const struct sr_extproc_core *core);

/* Fills core->choice. SR_AGAIN: once the name is resolved, again; SR_ENOENT: no backend can be used;
 * SR_ELIMIT: as sr_ticket_offer; SR_ENOMEM. */
int sr_extproc_choose(struct sr_extproc_core *core, const struct sr_verdict *v);

/* The chosen address and the fallbacks that the configuration asks for, with commas. */
struct sr_bytes sr_extproc_endpoints(struct sr_extproc_core *core, const struct sr_verdict *v);

/* The answer's head is there: whether the backend worked. */
void sr_extproc_learn(struct sr_extproc_core *core, const struct sr_extproc_message *message, int status);

/* ---- extproc_verdict.c ---- */

/* The exchange's verdict is there: pays what Envoy is owed. */
void sr_extproc_deliver(struct sr_extproc_core *core);

/* The reply to the headers without a verdict: takes out what no client may send. */
void sr_extproc_release_head(struct sr_extproc_core *core);

/* ---- extproc_answer.c ---- */

void sr_extproc_answer_head(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_answer_body(struct sr_extproc_core *core, const struct sr_extproc_message *message);
void sr_extproc_answer_trailers(struct sr_extproc_core *core);

/* The exchange has read what it held back. */
void sr_extproc_answer_ready(struct sr_extproc_core *core);

/* The content type is that of Server-Sent Events. */
bool sr_extproc_is_sse(const struct sr_header *headers, size_t count);

/* How the exchange ended, as far as Envoy lets one see. */
enum sr_end sr_extproc_how_it_ended(const struct sr_extproc_core *core);

#endif

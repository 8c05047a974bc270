/*
 * The internals of an exchange: the states of its stages, and where it is on its way.
 *
 * For the files of this folder; doors call what its other headers declare for them. Calls go one way:
 * exchange.c (begin, end), body.c (called by it) and answer.c begin; phases.c takes a whole request from
 * phase to phase; phases make a reply (reply.c) or a verdict to forward (send.c); all of them write facts
 * through record.c. Phases call stages; a stage calls back only through a function that it was given.
 * docs/internals/request.md describes the states.
 */
#ifndef SR_ROUTER_EXCHANGE_EXCHANGE_H
#define SR_ROUTER_EXCHANGE_EXCHANGE_H

#include "base/gzip.h"
#include "pool/ticket.h"
#include "router/cache/recall.h"
#include "router/edit/edit.h"
#include "router/identity/identity.h"
#include "router/limit/limiting.h"
#include "router/pick/pick.h"
#include "router/pick/tiers.h"
#include "router/record.h"
#include "router/request/body.h"
#include "router/request/prefetch.h"
#include "router/response/answer.h"
#include "router/response/coding.h"
#include "router/response/translate.h"
#include "router/route/route.h"
#include "router/state/ask.h"
#include "router/tools/choose.h"

enum sr_exchange_state {
    SR_EXCHANGE_READING,   /* the body arrives; no verdict yet */
    SR_EXCHANGE_WAITING,   /* the body is complete; a phase waits */
    SR_EXCHANGE_STREAMING, /* the body passes through; the rest of it is only checked */
    SR_EXCHANGE_SETTLED,   /* the verdict is final */
};

struct sr_phase;
struct sr_embeddings;
struct sr_exchange_before;

/* A body as it will be sent. */
struct sr_sending {
    const struct sr_bytes *slices; /* [n] */
    size_t n, size;
};

/* A claim on a pool, and the targets that its candidates are. `ticket.group` NULL: none. */
struct sr_exchange_place {
    struct sr_ticket ticket;
    const struct sr_target *targets;
    size_t n_targets;
};

/* The pools of the record's model that take the request, where it has several. */
struct sr_exchange_pools {
    int model; /* of which they are */
    struct sr_tiers tiers;
    struct sr_tier_size size;
    size_t at;                      /* in the order: where the exchange's ticket is */
    struct sr_exchange_place *left; /* [tiers.n]: of the others; NULL: none yet */
};

/* What a request means to the store of Responses. */
enum sr_stored_act {
    SR_STORED_CONTINUE, /* it continues a response, or none */
    SR_STORED_GET,
    SR_STORED_ITEMS,
    SR_STORED_DELETE,
};

struct sr_exchange_stored {
    enum sr_stored_act act;
    struct sr_bytes owner;    /* whose responses it may name: a name, or a hash */
    struct sr_bytes id;       /* of the response that it names; "" = none */
    struct sr_bytes previous; /* the same as JSON, once its items are in the body; else empty */
    struct sr_state_ask ask;
    int turns; /* of the conversation before it */
    bool kept; /* its own response is in the store */
};

/* What the request is for, found before its model is known; `from` NULL: nothing has asked. */
struct sr_exchange_workload {
    enum sr_workload workload;
    const char *from;
};

/* Owned by one thread. Everything it points to lives in its arena, its buffers or its router. */
struct sr_exchange {
    sr_runtime *runtime;
    struct sr_router *router;   /* the whole one, or the profile that routes the request (profile.h) */
    struct sr_metrics *metrics; /* NULL: metrics are off */
    struct sr_exchange_env env; /* `post` NULL: no env */
    struct sr_arena arena;
    enum sr_exchange_state state;
    uint64_t waiting_since; /* when it was left last */
    struct sr_record record;
    char request_id[SR_REQUEST_ID_SIZE];    /* generated when the client sent none */
    char replay_id[SR_REQUEST_ID_SIZE + 8]; /* of the record, if it has one */

    size_t held; /* bytes of its body that count in the runtime */

    /* the way through the phases (phases.c), from the last byte of the body on */
    const struct sr_phase *const *phase; /* where it is, in their order */
    void (*resumed)(void *ctx);          /* what a phase waits for is there; `ctx` is the exchange */
    bool hurries;                        /* a phase was given up: the rest does not wait */
    bool named;                          /* it keeps the model that it names */
    int routed;                          /* while it waits for the routing: its result */
    uint64_t refuse_at;                  /* it has no room, and is told so then; 0: it is not held back */

    /* stages of the request */
    struct sr_head head;
    struct sr_identity identity;
    struct sr_session session;
    struct sr_body body;
    struct sr_inflate *inflate; /* undoes the coding of its bytes; NULL: they have none */
    struct sr_prefetch prefetch;
    struct sr_mailbox *mailbox; /* receives results of other threads; NULL: none */
    struct sr_routing routing;
    struct sr_exchange_stored stored;
    struct sr_recall recall;
    struct sr_limiting limiting;
    struct sr_edited edited;
    struct sr_tool_choice tools;           /* which tools the model gets */
    struct sr_pick pick;                   /* what takes time for the policy that picks the worker */
    struct sr_pool_ask *ask;               /* all that it needs of this request; NULL: not made yet */
    const struct sr_router_pool *ask_pool; /* whose policy that is */
    uint64_t kv_root;                      /* of its cache blocks: sr_pool_kv_root */
    struct sr_sending sending;
    struct sr_sending untranslated;   /* the same in the client's API */
    struct sr_embeddings *embeddings; /* that are computed here; NULL: none */
    uint64_t embed_deadline_ns;
    uint64_t own_tokens; /* that were computed here */
    struct sr_translation
        *translation;              /* between the client's API and the model's; NULL: they are the same */
    struct sr_buf translated;      /* the body that is sent then, or without reasoning of other APIs */
    bool cleaned;                  /* such reasoning was looked for */
    struct sr_pool_tally *counted; /* in which the request is in progress; NULL: none */

    /* for the door */
    struct sr_verdict verdict;
    struct sr_ticket ticket; /* set when the verdict forwards */
    struct sr_exchange_workload workload;
    struct sr_exchange_pools pools;
    struct sr_exchange_before *before; /* of the model before (next.c), in the arena; NULL: none yet */
    struct sr_buf reply;
    struct sr_buf explain;

    struct sr_answer answer;
    struct sr_answer_coding coding; /* of its bytes */
    bool answer_found;              /* the finding of the answer guard was reported */
    struct sr_buf captured;         /* of the answer's body, for replay; its maximum is 0 where nothing is */
    bool captured_cut;              /* there was more */
};

#endif

/*
 * From the texts of a request to a decision: guards, then the route, then the model's policy.
 *
 * Starts signals one after the other, cheapest first, and only those that are still needed. Its inputs are
 * given at the start; results of other threads return to it, and `done` is called once, when all is
 * decided. It runs on the thread that started it.
 */
#ifndef SR_ROUTER_ROUTE_ROUTE_H
#define SR_ROUTER_ROUTE_ROUTE_H

#include "router/identity/identity.h"
#include "router/request/request.h"
#include "router/route/guard.h"
#include "router/route/protect.h"
#include "router/route/trial.h"
#include "router/runtime.h"
#include "select/select.h"

/* What is being decided, in this order. */
enum sr_route_phase {
    SR_PHASE_GUARD,  /* which guard matches */
    SR_PHASE_ROUTE,  /* which decision */
    SR_PHASE_MODEL,  /* which of its candidates */
    SR_PHASE_POLICY, /* may that model see what is in the request */
    SR_PHASE_SHADOW, /* which decisions in shadow match; all else is decided */
    SR_PHASE_DONE,
};

struct sr_routing_inputs {
    sr_runtime *runtime; /* its worker threads classify long texts */
    const struct sr_router *router;
    const struct sr_exchange_env *env;    /* late results are posted here; `post` NULL: no result is late */
    struct sr_mailbox **mailbox;          /* the caller's; created when needed */
    const struct sr_request *doc;         /* a complete body */
    bool automatic;                       /* the client asked for an automatic model */
    int model;                            /* the model that it named; -1 */
    struct sr_bytes share_key;            /* who or what a share is counted by; empty: the text */
    struct sr_bytes tenant;               /* results are memoised per tenant; may be empty */
    const struct sr_config_tenant *rules; /* of the tenant; NULL: none */
    bool instructs;                       /* the client's system prompts are the operator's */
    const struct sr_identity *identity;   /* who asks; NULL: not known */
    enum sr_workload workload;            /* where a signal of the router reads it */
    const struct sr_session *session;     /* how the client names what belongs together */
    uint64_t draw;                        /* random, for algorithms that explore */
    uint64_t client;                      /* clients share the engine and the worker threads alike */
    struct sr_span_ref origin;            /* the request's span */
    struct sr_arena *arena;
    /* Called once after sr_routing_start returned SR_AGAIN, unless the routing is stopped or disposed of
     * before. `rc` is as of sr_routing_start, but never SR_AGAIN. */
    void (*done)(void *ctx, int rc);
    void *ctx;
};

struct sr_routing {
    struct sr_routing_inputs in;
    struct sr_signal_input *input; /* NULL: not started */
    struct sr_signal_run *run;
    const struct sr_signal_result *results[SR_SIGNAL_TYPES]; /* of types that were evaluated */
    uint64_t started_ns[SR_SIGNAL_TYPES];                    /* times; 0 = never */
    uint32_t begun, wanted; /* types that were started, and those of them that a plan needs: bits */
    uint64_t deadline_ns;   /* 0 = none */
    enum sr_route_phase phase;
    bool *without; /* decisions that do not count for this request, one for each of the configuration */
    bool *tried;   /* models that sr_routing_next has left behind, one for each; NULL: none */
    bool *without_unsure;       /* scratch: those, and guards that match only by on_error */
    const struct sr_plan *plan; /* the plan of `decision` */
    struct sr_guard guard;
    struct sr_shadows shadows;
    struct sr_decision decision;
    struct sr_ranking ranking; /* of the decision's candidates; `n` 0: there was nothing to rank */
    struct sr_protection protection;
    struct sr_choice choice;
    uint64_t signals_ns, decide_ns; /* durations */
};

/* Initialises a routing without a decision; allocates nothing. */
void sr_routing_init(struct sr_routing *routing);

/* Decides for the default model without signals and rules. */
void sr_routing_skip(struct sr_routing *routing, const struct sr_config *config);

/* Signal types (bits) that a request is known to need before its body is complete: before the model is
 * known (-1, not automatic), those that it needs with any model. */
uint32_t sr_routing_types_to_prefetch(const struct sr_router *router, bool automatic, int model);

/* Begins. Takes `prefetched`, the compressed text that was read while it arrived; NULL is allowed. What
 * the inputs point to must outlive the routing. SR_OK: decided. SR_AGAIN: signals are in progress.
 * SR_EBUSY: others leave no time for what a guard or a policy needs; SR_ENOMEM: nothing is decided. */
int sr_routing_start(struct sr_routing *routing, const struct sr_routing_inputs *in,
                     struct sr_signal_brief *prefetched) SR_WARN_UNUSED;

/* Call it after SR_AGAIN when the deadline has passed. Decides with the results so far. SR_ENOMEM: nothing is
 * decided. */
int sr_routing_deadline(struct sr_routing *routing) SR_WARN_UNUSED;

/* After a decision: the best candidate of the same decision beside those that were chosen before, and that
 * may see what the request holds, becomes `choice`. SR_ENOENT: there is none; SR_ENOMEM. */
int sr_routing_next(struct sr_routing *routing) SR_WARN_UNUSED;

/* Cancels signals in progress and frees the signals' state; the decision stays. */
void sr_routing_dispose(struct sr_routing *routing);

#endif

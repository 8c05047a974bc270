/*
 * From the texts of a request to a decision: guards, then the route, then the model's policy.
 *
 * Starts signals one after the other, cheapest first, and only those that are still needed. What it works on
 * is given at its start; late results come back to it, and its starter is told once, when all is
 * decided. Everything happens on the thread that started it.
 */
#ifndef SR_ROUTER_ROUTE_ROUTE_H
#define SR_ROUTER_ROUTE_ROUTE_H

#include "router/request/request.h"
#include "router/route/guard.h"
#include "router/runtime.h"

/* What is being decided, in this order. */
enum sr_route_phase {
    SR_PHASE_GUARD,  /* which guard matches */
    SR_PHASE_ROUTE,  /* which decision, and so which model */
    SR_PHASE_POLICY, /* may that model see what is in the request */
    SR_PHASE_DONE,
};

struct sr_routing_inputs {
    sr_runtime *runtime; /* whose workers read long texts */
    const struct sr_router *router;
    const struct sr_exchange_env *env; /* where late results are posted; `post` NULL: nothing comes late */
    struct sr_mailbox **mailbox;       /* made when it is needed; the caller's */
    const struct sr_request *doc;      /* a complete body */
    bool automatic;                    /* the client asked for an automatic model */
    int model;                         /* that it named; -1 */
    struct sr_bytes tenant;            /* whose results are remembered apart; may be empty */
    struct sr_arena *arena;
    /* After sr_routing_start returned SR_AGAIN: once, unless it is stopped or disposed of before. `rc` as
     * that of sr_routing_start, but never SR_AGAIN. */
    void (*done)(void *ctx, int rc);
    void *ctx;
};

struct sr_routing {
    struct sr_routing_inputs in;
    struct sr_signal_input *input; /* NULL: not started */
    struct sr_signal_run *run;
    const struct sr_signal_result *results[SR_SIGNAL_TYPES]; /* of types that were asked for */
    uint64_t started_ns[SR_SIGNAL_TYPES];                    /* moments; 0 = never */
    uint32_t begun, wanted; /* types that were started, and those of them that were asked for: bits */
    uint64_t deadline_ns;   /* 0 = none */
    enum sr_route_phase phase;
    const struct sr_plan *plan; /* that `decision` is of */
    struct sr_guard guard;
    struct sr_decision decision;
    struct sr_choice choice;
    uint64_t signals_ns, decide_ns; /* time it took */
};

/* Nothing is decided; allocates nothing. */
void sr_routing_init(struct sr_routing *routing);

/* Without signals and rules: the default model. */
void sr_routing_skip(struct sr_routing *routing, const struct sr_config *config);

/* Types of signals that a request will need, as far as is known before its body is complete (bits): before
 * the model is named (-1, not automatic) those that it needs whatever it names. */
uint32_t sr_routing_types_to_prefetch(const struct sr_router *router, bool automatic, int model);

/* Begins. `prefetched` is what was read of the text while it arrived; taken over, NULL is allowed. What the
 * inputs point to must outlive the routing. SR_OK: decided. SR_AGAIN: signals are in progress. SR_ENOMEM:
 * nothing is decided. */
int sr_routing_start(struct sr_routing *routing, const struct sr_routing_inputs *in,
                     struct sr_signal_brief *prefetched) SR_WARN_UNUSED;

/* After SR_AGAIN: the deadline has passed. Decides with what is known. */
void sr_routing_deadline(struct sr_routing *routing);

/* Cancels what is in progress and drops the signals; what was decided stays. */
void sr_routing_dispose(struct sr_routing *routing);

#endif

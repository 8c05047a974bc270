/*
 * What an exchange is for. The doors serve; the API and the commands also explain a request and file answers
 * that are known before they were asked for.
 *
 * Not a part of the public interface. Called right after an exchange is made.
 */
#ifndef SR_ROUTER_PURPOSE_H
#define SR_ROUTER_PURPOSE_H

#include "base/err.h"
#include "semroute/semroute.h"

enum sr_purpose {
    SR_PURPOSE_SERVE,
    SR_PURPOSE_EXPLAIN, /* the cache is asked, but neither answers nor counts it, and nothing is kept */
    SR_PURPOSE_WARM,    /* the cache is not asked; the answer that is given is kept; nothing is reported */
};

void sr_exchange_explains(sr_exchange *exchange);

/* ttl_s: how long the answer is kept, 0: for ever, -1: as the policy says. */
void sr_exchange_warms(sr_exchange *exchange, int64_t ttl_s);

struct sr_router;

/* sr_exchange_new by another router than the runtime's own, of which it takes a reference: to explain a
 * request by a draft (sr_runtime_draft), and for nothing else. */
sr_exchange *sr_exchange_new_by(sr_runtime *runtime, struct sr_router *router,
                                const struct sr_request_head *head, const struct sr_exchange_env *env);

/* How an exchange that warms has ended. */
struct sr_warmed {
    const char *why_not; /* a code as of llm_cache_write_skipped_total and of why the cache is not used; NULL:
                            the answer is kept */
    bool by_meaning;     /* it has a vector; else only the same text finds it */
    bool late;           /* its vector was not ready in time */
};

/* Ends the exchange, like sr_exchange_end, and says what became of its answer. */
struct sr_warmed sr_exchange_end_warm(sr_exchange *exchange);

#endif

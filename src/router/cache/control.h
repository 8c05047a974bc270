/*
 * Whether and how a request uses the cache: the policy of its decision, what the client asks for in a header,
 * and who shares its answers.
 */
#ifndef SR_ROUTER_CACHE_CONTROL_H
#define SR_ROUTER_CACHE_CONTROL_H

#include "router/identity/identity.h"
#include "semroute/semroute.h"

/* What clients said in headers that are the request controls of some policy. */
struct sr_cache_controls {
    const struct sr_header *headers; /* [n] in the arena: names in lower case */
    size_t n;
};

/* How one request uses the cache. */
struct sr_cache_plan {
    const struct sr_config_cache_use *use; /* NULL: not at all */
    bool looks, stores;
    int64_t max_age_ms;    /* of what is found; 0: any */
    int64_t ttl_ms;        /* of what is stored; 0: for ever */
    struct sr_bytes owner; /* the identity that the policy's scope asks for */
    const char *why_not;   /* why it does not store: a reason of llm_cache_write_skipped_total; NULL */

    /* for explanations */
    const struct sr_config_cache_use *policy; /* that would count; NULL: none */
    const char *unused;  /* why `use` is NULL: "disabled", "no_policy", "no_identity"; NULL */
    const char *unasked; /* why it does not look; NULL */
};

/* Keeps the headers that are request controls of some policy. SR_ENOMEM. */
int sr_cache_controls_read(struct sr_cache_controls *out, const struct sr_header *headers, size_t n,
                           const struct sr_config *config, struct sr_arena *arena) SR_WARN_UNUSED;

/* The plan of a request whose decision this is; NULL: it has none. */
void sr_cache_plan(struct sr_cache_plan *out, const struct sr_config *config,
                   const struct sr_config_decision *decision, const struct sr_cache_controls *controls,
                   const struct sr_identity *identity);

#endif

/*
 * An identity that an operator states, as the headers in which a trusted proxy would: for explanations, and
 * for answers that are known before.
 */
#ifndef SR_ROUTER_IDENTITY_CLAIM_H
#define SR_ROUTER_IDENTITY_CLAIM_H

#include "base/err.h"
#include "config/config.h"
#include "semroute/semroute.h"

#define SR_CLAIM_HEADERS 3

/* Empty texts: not stated. */
struct sr_claim {
    struct sr_bytes tenant, user, team;
};

/* Appends up to SR_CLAIM_HEADERS headers at headers[*n]; names live as long as the configuration. SR_EINVAL
 * with a message: the configuration has no header for a part of it. */
int sr_claim_headers(const struct sr_claim *claim, const struct sr_config *config, struct sr_header *headers,
                     size_t *n, struct sr_err *err) SR_WARN_UNUSED;

#endif

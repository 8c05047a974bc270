/*
 * The identity of a request: tenant, user and groups, only from sources that the configuration trusts.
 *
 * Only this file decides which sources are trusted. A trusted source is a header named in the
 * configuration, which a proxy in front of the router sets. It also names the headers that must be removed
 * from a client's request because only the router or an authorisation layer may set them.
 */
#ifndef SR_ROUTER_IDENTITY_IDENTITY_H
#define SR_ROUTER_IDENTITY_IDENTITY_H

#include "base/arena.h"
#include "base/header.h"
#include "config/config.h"

struct sr_identity {
    struct sr_bytes tenant;        /* results are memoised per tenant; empty: unknown */
    struct sr_bytes user, team;    /* empty: unknown */
    const struct sr_bytes *groups; /* [n_groups] of the user */
    size_t n_groups;
    bool anonymous; /* no trusted source had a value, and the caller does not know the client */
    bool may_skip;  /* the configuration lets it skip guards */
    bool instructs; /* its system prompts are the operator's */
};

/* Fills `out` once for each request from `headers` [n], names in lower case. Copies into `arena`; of a
 * repeated header the last one counts. SR_ENOMEM. */
int sr_identity_read(struct sr_identity *out, const struct sr_header *headers, size_t n,
                     const struct sr_config *config, struct sr_arena *arena) SR_WARN_UNUSED;

/* Who shares with whom: a number of the tenant, else of the address in `peer`, without its port. Of a list
 * of addresses the last counts, which a proxy wrote and not the client; of an IPv6 address the network of 64
 * bits. 0: not known. */
uint64_t sr_identity_client(const struct sr_identity *identity, struct sr_bytes peer);

/* True when a client's header of this name is not forwarded: only the router, or an authorisation layer, may
 * set it, or upstreams may take another path or method from it than the request line's. '_' counts as '-',
 * because upstreams exist that read both alike. */
bool sr_identity_strips(const struct sr_config *config, struct sr_bytes name);

#endif

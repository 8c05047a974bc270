/*
 * The identity of a request: tenant, user and groups, only from sources that the configuration trusts.
 *
 * Only this folder decides which sources are trusted: a key of a client (credential.h), and headers named in
 * the configuration, which a proxy in front of the router sets. What a key says of its client counts before
 * what a header says. It also names the headers that must be removed from a client's request because only
 * the router or an authorisation layer may set them, or because they hold a key of ours.
 */
#ifndef SR_ROUTER_IDENTITY_IDENTITY_H
#define SR_ROUTER_IDENTITY_IDENTITY_H

#include "base/arena.h"
#include "base/header.h"
#include "config/config.h"
#include "router/refusal.h"

struct sr_identity {
    struct sr_bytes tenant;        /* results are memoised per tenant; empty: unknown */
    struct sr_bytes user, team;    /* empty: unknown */
    const struct sr_bytes *groups; /* [n_groups] of the user */
    size_t n_groups;
    const struct sr_config_key *key;      /* that the client sent; NULL: none of ours */
    const struct sr_config_tenant *rules; /* of its tenant; NULL: none are configured */
    const char *refused; /* why no request of this client is served: a code of credential.h; NULL: it is */
    bool anonymous;      /* no trusted source had a value, and the caller does not know the client */
    bool may_skip;       /* the configuration lets it skip guards */
    bool instructs;      /* its system prompts are the operator's */
};

/* What an identity is read from. */
struct sr_identity_source {
    const struct sr_header *headers; /* [n], names in lower case */
    size_t n;
    struct sr_bytes peer; /* the address that sent them, as in sr_identity_client */
    bool known;           /* the caller knows the client: no key is needed */
    int64_t now_s;        /* since 1970, for keys that expire */
};

/* Fills `out` once for each request. Copies into `arena`; of a repeated header the last one counts.
 * SR_ENOMEM. */
int sr_identity_read(struct sr_identity *out, const struct sr_identity_source *source,
                     const struct sr_config *config, struct sr_arena *arena) SR_WARN_UNUSED;

/* The 401 of an identity that is `refused`; it says what to do, and nothing of any key. */
void sr_identity_refuse(const struct sr_identity *identity, struct sr_refusal *refusal);

/* True when the client's key and its tenant let it use this model, an index of the configuration. */
bool sr_identity_may_use(const struct sr_identity *identity, const struct sr_config *config, int model);

/* True when its key or tenant names the models that it may use. */
bool sr_identity_is_limited(const struct sr_identity *identity);

/* Who shares with whom: a number of the tenant, else of the address in `peer`, without its port. Of a list
 * of addresses the last counts, which a proxy wrote and not the client; of an IPv6 address the network of 64
 * bits. 0: not known. */
uint64_t sr_identity_client(const struct sr_identity *identity, struct sr_bytes peer);

/* True when the headers of this request may say who asks: its peer is trusted, and it has the proxy's secret,
 * as far as the configuration says which. */
bool sr_identity_trusts(const struct sr_config *config, const struct sr_identity_source *source);

/* True when a header of a request is not forwarded; `trusted`: sr_identity_trusts is true of the request. It
 * holds a key of ours or the secret of a proxy, only the router, or an authorisation layer, may set it, it
 * names who asks and is not trusted, or upstreams may take another path or method from it than the request
 * line's. '_' counts as '-', because upstreams exist that read both alike. */
bool sr_identity_strips(const struct sr_config *config, const struct sr_header *header, bool trusted);

#endif

/*
 * The keys in a request's headers: which are ours, and whose.
 *
 * Reads `authorization: Bearer`, `x-api-key` and `api-key`. Knows keys by their SHA-256 only, and keeps no
 * text of any.
 */
#ifndef SR_ROUTER_IDENTITY_CREDENTIAL_H
#define SR_ROUTER_IDENTITY_CREDENTIAL_H

#include "base/header.h"
#include "config/config.h"

/* What the headers of a request say of keys. */
struct sr_credential {
    const struct sr_config_key *key; /* ours that may be used; NULL: none */
    const char *refused;             /* SR_CODE_*: a key that may not be used was sent; NULL: none was */
    bool foreign;                    /* a credential was sent that is none of ours */
};

#define SR_CODE_NO_KEY      "missing_api_key"
#define SR_CODE_WRONG_KEY   "invalid_api_key"
#define SR_CODE_EXPIRED_KEY "expired_api_key"

/* Looks at all headers; `now_s` since 1970. A key that is not ours is no error here: it may be the client's
 * own for an upstream, unless it looks like one of ours. Two different keys of ours are refused. SR_ENOMEM.
 */
int sr_credential_read(struct sr_credential *out, const struct sr_header *headers, size_t n,
                       const struct sr_config_identity *identity, int64_t now_s) SR_WARN_UNUSED;

/* True when this header holds a key of ours, of any state, or what looks like one anywhere in its value, as a
 * cookie does: it goes to no upstream. */
bool sr_credential_is_ours(const struct sr_header *header, const struct sr_config_identity *identity);

#endif

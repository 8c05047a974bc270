/*
 * Who may ask, as configured: keys of clients, tenants, and which sources of identity headers are trusted.
 *
 * Plain data of a snapshot, as config.h. Keys are known by their SHA-256 only: the text of a key that a file
 * or the environment gave is overwritten once it was hashed. router/identity decides by them.
 */
#ifndef SR_CONFIG_IDENTITY_H
#define SR_CONFIG_IDENTITY_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_KEY_DIGEST   32
#define SR_KEY_TEXT_MIN 16  /* characters of a key that is given as text */
#define SR_KEY_TEXT_MAX 512 /* of what a client may send as one */
/* What keys that `semroute keys` makes begin with: no such text goes to an upstream. */
#define SR_KEY_PREFIX "sk-sr-"

/* global.semroute.identity.keys[], and those of its keys_file */
struct sr_config_key {
    const char *name; /* unique; for logs, limits and metrics */
    const char *tenant, *user, *team;
    struct sr_strings groups, models; /* models: those that it may use; none: its tenant's */
    const char *text, *sha256;        /* as given; `text` is "" once it was hashed */
    const char *expires;
    int64_t expires_s; /* since 1970; 0: never */
    int tenant_at;     /* index in tenants; -1: not listed there */
    uint8_t digest[SR_KEY_DIGEST];
};

/* global.semroute.identity.tenants[] */
struct sr_config_tenant {
    const char *name;
    struct sr_strings models;         /* that its requests may use; none: all */
    struct sr_strings guards;         /* decisions that count only for tenants which name them */
    struct sr_strings without_guards; /* decisions that do not count for it */
};

/* A network of IPv6 or, mapped into it, IPv4 addresses. */
struct sr_config_network {
    uint8_t address[16];
    unsigned bits; /* of 128 */
};

/* global.semroute.identity */
struct sr_config_identity {
    struct sr_config_key *keys;
    size_t n_keys;
    uint32_t *slots; /* [n_slots] by digest: index in keys plus one; 0 = free. NULL: there are no keys */
    size_t n_slots;
    const char *keys_file; /* "" = none */
    struct sr_strings trusted_peers;
    struct sr_config_network *networks; /* [trusted_peers.count] */
    const char *secret_header, *secret; /* "" = none */
    struct sr_config_tenant *tenants;
    size_t n_tenants;
};

/* A provider of global.services.authz: where the key for an upstream comes from. */
enum sr_authz_type {
    SR_AUTHZ_HEADER, /* of the request */
    SR_AUTHZ_STATIC, /* the backend's `api_key` */
};

struct sr_config_authz_provider {
    int type;                      /* enum sr_authz_type */
    struct sr_name_values headers; /* by kind of upstream */
    const char *header;            /* SR_AUTHZ_HEADER: in which clients send their key */
};

/* global.services.authz */
struct sr_config_authz {
    bool fail_open; /* without a key the request goes on */
    struct sr_config_authz_provider *providers;
    size_t n_providers; /* 0: the backend's key, or the client's own header */
};

/* The key with this digest, or NULL. Takes the same time wherever two digests begin to differ. */
const struct sr_config_key *sr_config_find_key(const struct sr_config_identity *identity,
                                               const uint8_t digest[SR_KEY_DIGEST]);

/* Index of a tenant by name, -1 when there is none. */
int sr_config_find_tenant(const struct sr_config_identity *identity, struct sr_bytes name);

/* Reads `10.0.0.0/8`, `fd00::/8` or one address; false: it is none. */
bool sr_config_network_read(struct sr_bytes text, struct sr_config_network *out);
/* Is the address, as text without a port, in the network? */
bool sr_config_network_has(const struct sr_config_network *network, const char *address);

#endif

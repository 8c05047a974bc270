/*
 * What guards may let pass and what they cannot read: `global.semroute.guards` and `models`.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_GUARDS_H
#define SR_CONFIG_PART_GUARDS_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* global.semroute.models.<name> */
struct sr_config_policy {
    const char *model;
    bool allow_by_default; /* true: the model may see everything */
    struct sr_strings types_allowed;
    uint32_t allowed; /* mask over enum sr_entity_type; all where allow_by_default */
    int index;        /* in models */
};

/* What a model may read of a request and the router cannot. */
enum sr_unread_kind {
    SR_UNREAD_IMAGES, /* and videos */
    SR_UNREAD_AUDIO,
    SR_UNREAD_FILES,     /* their bytes, or ids of uploaded ones */
    SR_UNREAD_ENCRYPTED, /* reasoning, signatures */
    SR_UNREAD_TOKENS,    /* numbers of tokens, vectors */
    SR_UNREAD_STORED,    /* conversations, prompts and items that the upstream keeps */
    SR_UNREAD_LIMIT,     /* text past a limit */
    SR_UNREAD_KINDS
};

/* Whether content of a kind counts for guards. */
enum sr_unread_action { SR_UNREAD_ON_ERROR, SR_UNREAD_IGNORE };

/* global.semroute.guards.system_prompts: texts of the system role that are not judged as attacks */
struct sr_config_system_prompts {
    struct sr_strings sha256;          /* of the exact texts, 64 small hexadecimal digits */
    struct sr_strings trusted_tenants; /* whose texts these are */
};

/* global.semroute.guards */
struct sr_config_guards {
    bool explicit_models;           /* true: requests that name their model are guarded too */
    size_t memo_bytes;              /* 16 MiB: what is remembered of texts that were read; 0 = nothing */
    struct sr_strings skip_tenants; /* whose x-vsr-skip-processing also skips guards */
    const char *tenant_header;      /* keeps what is remembered apart by this header's value; "" = shared */
    const char *audit_log;          /* "stdout", "off" or a file */
    enum sr_unread_action unread[SR_UNREAD_KINDS]; /* SR_UNREAD_LIMIT: always on_error */
    struct sr_config_system_prompts system_prompts;
};

#endif

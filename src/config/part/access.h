/*
 * Who may call what: keys of `global.semroute` and of the admin listeners.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_ACCESS_H
#define SR_CONFIG_PART_ACCESS_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>

/* global.services.management_api.auth.tokens[] */
struct sr_config_admin_token {
    const char *token; /* empty: its variable is not set, and it opens nothing */
    const char *role;
    bool reads; /* GET and HEAD */
    bool acts;  /* every request */
};

/* Who may call what: keys of global.semroute and of global.services.management_api. */
struct sr_config_access {
    struct sr_strings endpoints;   /* forwarded paths; none: those of inference (config/endpoints.h) */
    bool allow_anonymous;          /* clients without an identity may use a backend's key */
    const char *admin_token;       /* of the admin listeners; empty: none */
    bool admin_open;               /* they need no token on addresses that other machines reach */
    struct sr_strings admin_hosts; /* names in `Host` besides localhost and addresses */
    const char *auth_mode;         /* "none" or "bearer" */
    bool admin_bearer;             /* the admin listeners answer holders of a token alone */
    struct sr_config_admin_token *tokens;
    size_t n_tokens;
    struct sr_named_strings *roles; /* permissions by the name of a role */
    size_t n_roles;
};

#endif

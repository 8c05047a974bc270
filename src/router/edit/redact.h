/*
 * Redaction: placeholders in the place of private data in a body, and their values.
 *
 * Equal values of a type have one placeholder, numbered in the order of the conversation, so that a turn that
 * comes again is redacted as before. The values live in the request's arena and go nowhere else.
 */
#ifndef SR_ROUTER_EDIT_REDACT_H
#define SR_ROUTER_EDIT_REDACT_H

#include "router/request/turns.h"

#define SR_REDACT_PLACEHOLDER_MAX 40 /* bytes, "[US_DRIVER_LICENSE_4294967295]" and less */

struct sr_redacted {
    struct sr_bytes placeholder; /* [EMAIL_ADDRESS_1] */
    struct sr_bytes value;       /* as it stands in the text */
    uint32_t type;
};

struct sr_redaction {
    struct sr_redacted *items; /* distinct ones: by type, then in order of their first place */
    size_t n;
    uint32_t
        first[SR_ENTITY_TYPES + 1]; /* where each type's items begin; number k of a type is k - 1 further */
    size_t places;                  /* that were changed */
};

#endif

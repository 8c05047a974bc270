/*
 * Redaction: the placeholders that replace private data in a body, and their values.
 *
 * Equal values of a type have one placeholder, numbered in the order of the conversation, so that a
 * repeated turn is redacted as before. The values live in the request's arena only.
 */
#ifndef SR_ROUTER_EDIT_REDACT_H
#define SR_ROUTER_EDIT_REDACT_H

#include "router/request/units.h"

#define SR_REDACT_PLACEHOLDER_MAX 40 /* bytes; the longest is "[US_DRIVER_LICENSE_4294967295]" */

struct sr_redacted {
    struct sr_bytes placeholder; /* [EMAIL_ADDRESS_1] */
    struct sr_bytes value;       /* as written in the text */
    uint32_t type;
};

struct sr_redaction {
    struct sr_redacted *items; /* distinct values: by type, then by first occurrence */
    size_t n;
    uint32_t first[SR_ENTITY_TYPES +
                   1]; /* index of each type's first item; item k of a type is at first + k - 1 */
    size_t places;     /* spans that were changed */
};

#endif

/*
 * The names that a client gives to what belongs together: for records, and for conversations that keep their
 * model. Chosen by clients, so nothing is permitted by them.
 */
#ifndef SR_ROUTER_SESSION_H
#define SR_ROUTER_SESSION_H

#include "base/bytes.h"

#include <stdbool.h>

#define SR_SESSION_MAX 128 /* bytes; a longer name is none */

struct sr_session {
    struct sr_bytes id;           /* empty: none */
    struct sr_bytes conversation; /* empty: none */
};

/* Names are of visible ASCII characters. */
static inline bool sr_session_is_name(struct sr_bytes name)
{
    if (!name.n || name.n > SR_SESSION_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] <= ' ' || name.p[i] > '~')
            return false;
    return true;
}

#endif

/*
 * A conversation keeps its model (`global.router.learning.protection`): finds what is known of it, and puts
 * its candidate in front of the ranking where select/protect.h says so.
 *
 * Conversations are apart by client: one client's names change nothing for another.
 */
#ifndef SR_ROUTER_ROUTE_PROTECT_H
#define SR_ROUTER_ROUTE_PROTECT_H

#include "router/record.h"
#include "router/request/request.h"
#include "router/router.h"
#include "router/session.h"
#include "select/protect.h"

struct sr_protection {
    bool continues; /* it is a later turn of a conversation: sr_protection_apply has something to do */
    bool applies;   /* and may change the choice */
    struct sr_hold hold;
    struct sr_config_protection config; /* with the decision's own settings */
    struct sr_protect_ask ask;
    struct sr_record_protection found; /* for the record */
};

struct sr_protection_inputs {
    const struct sr_router *router;
    const struct sr_decision *decision; /* that won */
    const struct sr_session *session;
    uint64_t client;
    const struct sr_request *doc;
};

/* Before the candidates are ranked. True: nothing may be drawn by chance. */
bool sr_protection_begin(struct sr_protection *p, const struct sr_protection_inputs *in);

/* After that: `decision` gets scores with the conversation's candidate in front, where it stays. SR_ENOMEM.
 */
int sr_protection_apply(struct sr_protection *p, const struct sr_protection_inputs *in,
                        const struct sr_plan *plan, struct sr_decision *decision,
                        struct sr_arena *arena) SR_WARN_UNUSED;

#endif

/*
 * The mailbox of an exchange: where results of other threads arrive. It is made by the first step that waits
 * for one.
 */
#ifndef SR_ROUTER_EXCHANGE_MAIL_H
#define SR_ROUTER_EXCHANGE_MAIL_H

#include "router/exchange/exchange.h"

/* Borrowed. NULL: the door has no `post`, so that nothing can be waited for, or there is no memory. */
struct sr_mailbox *sr_exchange_mailbox(sr_exchange *x);

#endif

/* Made once, closed at the end of the exchange (exchange.c). */
#include "router/exchange/mail.h"

#include "base/mailbox.h"

struct sr_mailbox *sr_exchange_mailbox(sr_exchange *x)
{
    if (x->env.post && !x->mailbox && sr_mailbox_new(&x->mailbox, x->env.post, x->env.ctx))
        x->mailbox = NULL;
    return x->mailbox;
}

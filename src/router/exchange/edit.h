/* What the edits of an exchange's body are made from. */
#ifndef SR_ROUTER_EXCHANGE_EDIT_H
#define SR_ROUTER_EXCHANGE_EDIT_H

#include "router/exchange/phase.h"

/* The edits for the record's model, and those of the guards. SR_ENOMEM. */
int sr_exchange_edit_inputs(const sr_exchange *x, struct sr_edit_inputs *in) SR_WARN_UNUSED;

#endif

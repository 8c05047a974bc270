/* Writes facts to the record, each once, when its stage has it, and passes the record to its readers. */
#ifndef SR_ROUTER_EXCHANGE_RECORD_H
#define SR_ROUTER_EXCHANGE_RECORD_H

#include "router/exchange/exchange.h"

/* Each writes what its stage has found so far. */
void sr_exchange_note_head(sr_exchange *x);
void sr_exchange_note_body(sr_exchange *x);
void sr_exchange_note_routing(sr_exchange *x);
void sr_exchange_note_tools(sr_exchange *x);
void sr_exchange_note_edits(sr_exchange *x);
void sr_exchange_note_answer(sr_exchange *x);
/* `early`: found before any signal. */
void sr_exchange_note_cache(sr_exchange *x, bool early);

/* The verdict is to forward to the record's model: it counts as that model's request. Again when another
 * model takes over. */
void sr_exchange_note_placed(sr_exchange *x);

/* Another model than number `before` has taken over. */
void sr_exchange_note_next_model(sr_exchange *x, int before);

/* Reports the first verdict to metrics and audit log. */
void sr_exchange_report_verdict(sr_exchange *x);
/* Reports an attack that the answer guard found to metrics and audit log, at once. */
void sr_exchange_report_finding(sr_exchange *x);
/* Reports the end of the exchange to metrics and access log. */
void sr_exchange_report_end(sr_exchange *x, enum sr_end how);

/* Notes the worker that the request is with, and why. */
void sr_exchange_note_target(sr_exchange *x);

#endif

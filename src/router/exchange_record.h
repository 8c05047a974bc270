/*
 * Facts go into the record, each once, when its stage has it; and the record goes to its readers.
 */
#ifndef SR_ROUTER_EXCHANGE_RECORD_H
#define SR_ROUTER_EXCHANGE_RECORD_H

#include "router/exchange.h"

/* What the stage has found so far. */
void sr_exchange_note_head(sr_exchange *x);
void sr_exchange_note_body(sr_exchange *x);
void sr_exchange_note_routing(sr_exchange *x);
void sr_exchange_note_edits(sr_exchange *x);
void sr_exchange_note_answer(sr_exchange *x);

/* The verdict is there for the first time: metrics, audit log. */
void sr_exchange_report_verdict(sr_exchange *x);
/* The guard of answers has found an attack: the same, at once. */
void sr_exchange_report_finding(sr_exchange *x);
/* The exchange ends: metrics, access log. */
void sr_exchange_report_end(sr_exchange *x, enum sr_end how);

#endif

/*
 * What is kept of an exchange after its end: for replay, where its decision or the configuration wants that,
 * and for those who follow requests live.
 */
#ifndef SR_ROUTER_EXCHANGE_HISTORY_H
#define SR_ROUTER_EXCHANGE_HISTORY_H

#include "router/exchange/exchange.h"

/* The decision is known: the record gets an id where the exchange is recorded. Before headers are made of it;
 * more than once changes nothing. */
void sr_exchange_note_replay(sr_exchange *x);

/* The head of the upstream's answer: its body is captured from now on, where that is asked for and no content
 * coding is left on it (`plain`). */
void sr_exchange_capture_begin(sr_exchange *x, bool plain);
/* A piece of the body, as the upstream sent it. */
void sr_exchange_capture(sr_exchange *x, struct sr_bytes piece);

/* The exchange has ended, and its record is complete. */
void sr_exchange_report_history(sr_exchange *x);

#endif

/*
 * Tells those that choose models what comes of a request: the model's tally, and the arms of algorithms that
 * learn. From the record alone.
 */
#ifndef SR_ROUTER_REPORT_OUTCOME_H
#define SR_ROUTER_REPORT_OUTCOME_H

#include "router/record.h"
#include "router/router.h"

/* The request goes to the record's model. `*counted` is where it is in progress, which may be another model
 * before; NULL: nowhere. */
void sr_outcome_placed(const struct sr_record *record, const struct sr_router *router,
                       struct sr_pool_tally **counted);

/* The record's model could not answer: for the algorithm that chose it, an outcome of 0. */
void sr_outcome_failed(const struct sr_record *record, const struct sr_router *router);

/* It has ended: the failure of the model that it was with, and its times, where it was not tried at several
 * models. */
void sr_outcome_ended(const struct sr_record *record, const struct sr_router *router,
                      struct sr_pool_tally **counted);

#endif

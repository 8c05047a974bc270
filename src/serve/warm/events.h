/*
 * A whole chat completion as the events of a stream: for each choice its role, then all its message in one
 * delta, then its finish reason; then the usage; then the end.
 */
#ifndef SR_SERVE_WARM_EVENTS_H
#define SR_SERVE_WARM_EVENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"

/* Appends the events. SR_EUNSUPPORTED with a message: it is no chat completion. SR_ENOMEM, SR_ELIMIT. */
int sr_warm_events(sr_json_view completion, struct sr_buf *out, struct sr_err *err) SR_WARN_UNUSED;

#endif

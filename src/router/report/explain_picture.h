/* The same as explain.h, drawn for people: signals with bars, the decisions' trees, the edits. */
#ifndef SR_ROUTER_REPORT_EXPLAIN_PICTURE_H
#define SR_ROUTER_REPORT_EXPLAIN_PICTURE_H

#include "router/report/explain.h"

/* Appends a picture for a terminal of `width` columns, in colours or plain. SR_ENOMEM, SR_ELIMIT. */
int sr_explain_picture(const struct sr_explain *e, int width, bool colour, struct sr_buf *out) SR_WARN_UNUSED;

#endif

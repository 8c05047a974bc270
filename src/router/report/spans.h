/*
 * The spans of a request, made from its record alone at its end: a tree under the request's own span, in the
 * bytes of OpenTelemetry's protocol. Names and attributes are those of vLLM Semantic Router and of
 * OpenTelemetry's gen_ai conventions; docs/traces.md lists them.
 *
 * Holds nothing of what a user wrote. Pure.
 */
#ifndef SR_ROUTER_REPORT_SPANS_H
#define SR_ROUTER_REPORT_SPANS_H

#include "router/record.h"
#include "router/router.h"

#define SR_SPANS_MAX   ((size_t)256 << 10) /* bytes */
#define SR_SPANS_USUAL ((size_t)6 << 10)   /* of most requests */

/* Appends the spans of a record that has ended, and whose trace is known. `offset`: what makes nanoseconds
 * since 1970 of the monotonic clock. SR_ENOMEM, SR_ELIMIT. */
int sr_spans_of_record(const struct sr_record *r, const struct sr_router *router, uint64_t offset,
                       struct sr_buf *out, size_t *n) SR_WARN_UNUSED;

#endif

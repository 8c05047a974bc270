/*
 * Which traces are kept: the decision at the head of a request, which its whole trace follows, and the one at
 * its end, for requests that turned out to be of interest. Pure.
 */
#ifndef SR_TRACE_SAMPLER_H
#define SR_TRACE_SAMPLER_H

#include "trace/context.h"

struct sr_sampler {
    double ratio;      /* of new traces: 0 none, 1 all */
    bool parent_based; /* a request that is part of a trace is kept as its parent is; else by `ratio`, too */
    bool errors;       /* at the end: requests that failed are kept */
    uint64_t slow_ns;  /* at the end: requests that took as long are kept; 0: no such limit */
};

/* `parent` NULL: a new trace. Every process that samples by the same ratio decides the same for a trace.
 */
bool sr_sampler_head(const struct sr_sampler *sampler, const uint8_t trace[SR_TRACE_ID_SIZE],
                     const struct sr_trace_context *parent);

/* A request that the head did not keep has ended. */
bool sr_sampler_tail(const struct sr_sampler *sampler, bool failed, uint64_t ns);

#endif

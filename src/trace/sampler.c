/* The ratio is compared with the last 56 bits of the trace id, which W3C's level 2 asks to be random. */
#include "trace/sampler.h"

#define RANDOM_BYTES 7

static bool is_in(double ratio, const uint8_t trace[SR_TRACE_ID_SIZE])
{
    uint64_t value = 0;
    for (size_t i = SR_TRACE_ID_SIZE - RANDOM_BYTES; i < SR_TRACE_ID_SIZE; i++)
        value = value << 8 | trace[i];
    return (double)value < ratio * 0x1p56;
}

bool sr_sampler_head(const struct sr_sampler *sampler, const uint8_t trace[SR_TRACE_ID_SIZE],
                     const struct sr_trace_context *parent)
{
    if (parent && sampler->parent_based)
        return parent->flags & SR_TRACE_SAMPLED;
    return is_in(sampler->ratio, trace);
}

bool sr_sampler_tail(const struct sr_sampler *sampler, bool failed, uint64_t ns)
{
    return (sampler->errors && failed) || (sampler->slow_ns && ns >= sampler->slow_ns);
}

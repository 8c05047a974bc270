/*
 * Bytes of strangers in traces: a traceparent that is read is written as it was read, a tracestate that is
 * usable is bounded, and an answer of a collector never leads outside its bytes.
 */
#include "trace/context.h"
#include "trace/export.h"

#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

static void check_parent(struct sr_bytes in)
{
    struct sr_trace_context context, again;
    char text[SR_TRACE_PARENT_SIZE];
    if (sr_trace_parent_read(&context, in) != SR_OK) {
        static const struct sr_trace_context zero;
        CHECK(memcmp(&context, &zero, sizeof zero) == 0);
        return;
    }
    sr_trace_parent_write(&context, text);
    CHECK(in.n >= sizeof text - 1 && memcmp(text + 3, in.p + 3, 49) == 0);
    CHECK(sr_trace_parent_read(&again, sr_bytes_of(text, sizeof text - 1)) == SR_OK);
    CHECK(memcmp(again.trace, context.trace, sizeof again.trace) == 0);
    CHECK(again.flags == (context.flags & SR_TRACE_SAMPLED));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_bytes in = sr_bytes_of(bytes, size);
    struct sr_export_result result;
    if (size > 1 << 14)
        return 0;
    check_parent(in);
    if (sr_trace_state_is_usable(in))
        CHECK(in.n && in.n <= SR_TRACE_STATE_MAX && memchr(in.p, '=', in.n) && !memchr(in.p, '\n', in.n));
    if (sr_export_result_read(&result, in) == SR_OK && result.message.n)
        CHECK(result.message.p >= in.p && result.message.p + result.message.n <= in.p + in.n);
    return 0;
}

/*
 * How a mock worker misbehaves: by headers of one request, or of PUT /mock/behaviour for all that follow.
 */
#ifndef SR_MOCK_BEHAVIOUR_H
#define SR_MOCK_BEHAVIOUR_H

#include "net/http1/http1.h"

#define SR_MOCK_CALLS_MAX 64 /* calls of tools in an answer */

struct sr_mock_behaviour {
    uint64_t status, delay_ms, chunks, chunk_delay_ms, body_bytes, slow_read_ms; /* 0: as usual */
    uint64_t calls, cached, reasons; /* of the answer: calls of tools, cached tokens, whether it reasons */
    uint64_t fail_after;             /* frames of a stream before an error; 0: none */
    bool close_before_head, close_inside;
    uint64_t close_after; /* bytes of the answer's body */
};

/* Changes what the x-mock-* headers of `head` name. */
void sr_mock_behaviour_read(struct sr_mock_behaviour *out, const struct sr_http_head *head);

#endif

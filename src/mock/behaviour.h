/*
 * How a mock worker misbehaves: by headers of one request, or of PUT /mock/behaviour for all that follow.
 */
#ifndef SR_MOCK_BEHAVIOUR_H
#define SR_MOCK_BEHAVIOUR_H

#include "net/http1/http1.h"

struct sr_mock_behaviour {
    uint64_t status, delay_ms, chunks, chunk_delay_ms, body_bytes, slow_read_ms; /* 0: as usual */
    bool close_before_head, close_inside;
    uint64_t close_after; /* bytes of the answer's body */
};

/* Changes what the x-mock-* headers of `head` name. */
void sr_mock_behaviour_read(struct sr_mock_behaviour *out, const struct sr_http_head *head);

#endif

/*
 * Server-Sent Events, read as they arrive: any chunk boundary, LF, CR and CRLF.
 *
 * Gives every complete event with its exact bytes, so that a stage can pass, drop or replace a whole frame
 * and leave all others as they were: the `raw` runs of all items, one after the other, are the stream. No
 * I/O.
 */
#ifndef SR_NET_SSE_H
#define SR_NET_SSE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sr_sse_item {
    bool parsed; /* false: a piece of a frame over the limit, or an incomplete tail; only `raw` is set */
    uint64_t start, end;   /* the byte range of `raw` in the stream */
    struct sr_bytes raw;   /* the frame with its blank line; borrowed until the next call */
    bool has_data;         /* at least one data field (false: comments, heartbeats) */
    struct sr_bytes data;  /* data fields joined by LF; borrowed like raw */
    struct sr_bytes event; /* last event field of the frame; empty: "message" */
    struct sr_bytes id;    /* last id field of the frame */
};

/* Private: where the search for the end of a frame stands. */
struct sr_sse_scan {
    int state;
    bool line_empty;
    bool lone_cr; /* the line before ended in CR without LF */
    bool content; /* the frame has a line that is not empty */
};

struct sr_sse {
    size_t max_frame;
    uint64_t offset;     /* of the first byte that was not given out */
    struct sr_buf frame; /* the frame's bytes that came in earlier chunks */
    struct sr_buf joined;
    bool flush;     /* `frame` was given out */
    bool oversized; /* inside a frame over the limit */
    struct sr_sse_scan scan;
};

/* Frames over `max_frame` bytes pass through unparsed, in pieces, as they come. Allocates nothing. */
void sr_sse_init(struct sr_sse *sse, size_t max_frame);
void sr_sse_dispose(struct sr_sse *sse);

/* Reads on: SR_OK with one item and *used bytes of the input; SR_MORE when all input was used and no item is
 * complete; SR_ENOMEM. Call again with the rest until SR_MORE. A frame that lies whole in `data` is not
 * copied. */
int sr_sse_next(struct sr_sse *sse, const char *data, size_t n, size_t *used,
                struct sr_sse_item *item) SR_WARN_UNUSED;

/* The stream ended: SR_OK with what is left, unparsed (by the standard an incomplete event is not dispatched)
 * unless only the last end of line was in doubt; SR_MORE when nothing is left. */
int sr_sse_finish(struct sr_sse *sse, struct sr_sse_item *item) SR_WARN_UNUSED;

#endif

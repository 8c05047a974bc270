/*
 * Splits a stream of server-sent events into its frames, for stages that pass, change or drop single events.
 *
 * No byte is lost: the concatenated `raw` runs are the stream. Accepts LF, CR and CRLF, any chunk boundary,
 * comments and data of several lines. A frame over the maximum passes in pieces.
 */
#ifndef SR_JSON_SSE_FRAMES_H
#define SR_JSON_SSE_FRAMES_H

#include "base/buf.h"

struct sr_sse_frame {
    bool whole;           /* false: a piece of a frame over the maximum, or an unfinished end; only `raw` */
    bool has_data;        /* at least one data field */
    struct sr_bytes raw;  /* including the blank line that ends it */
    struct sr_bytes data; /* the data fields joined by LF */
    size_t lead; /* number of leading bytes of `raw` that belong to the line end of the previous frame */
    size_t data_lines;
    size_t data_at; /* offset of `data` in `raw`, when there is one data line */
};

/* Embedded by its owner; private. */
struct sr_sse_frames {
    struct sr_buf held;   /* the beginning of a frame, from earlier chunks */
    struct sr_buf joined; /* data of several lines */
    size_t max;
    bool spent;      /* `held` was returned and must be emptied */
    bool line_empty; /* no byte of the current line was seen yet */
    bool after_cr;   /* the last byte was CR: an LF now belongs to it */
    bool lead;       /* the current frame began with an LF of the one before */
    bool oversized;  /* inside a frame over the maximum */
    bool started;    /* past a byte order mark */
};

/* Frames of at most `max` bytes are returned whole. Allocates nothing. */
void sr_sse_frames_init(struct sr_sse_frames *frames, size_t max);
void sr_sse_frames_dispose(struct sr_sse_frames *frames);

/* Takes the next frame from the front of `*in`, which is advanced. SR_OK: `frame` is filled, borrowed from
 * the input or from `frames` until the next call. SR_MORE: all of `*in` was consumed. SR_ENOMEM: nothing was
 * consumed; the held bytes stay readable (sr_sse_frames_finish). */
int sr_sse_frames_next(struct sr_sse_frames *frames, struct sr_bytes *in,
                       struct sr_sse_frame *frame) SR_WARN_UNUSED;

/* The stream ended: SR_OK with the held bytes as an incomplete frame; SR_MORE when there are none. */
int sr_sse_frames_finish(struct sr_sse_frames *frames, struct sr_sse_frame *frame) SR_WARN_UNUSED;

#endif

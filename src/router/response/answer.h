/*
 * The answer's way to the client: its mode, its stages one after the other, the writer, and the gate.
 *
 * Bytes pass as they are, and at once, unless a stage changes or holds them; then each event of a
 * stream is held until it is complete, and a JSON answer until its end. Errors of the upstream are never
 * changed. Knows no exchange: what the stages need comes with the head, what they found is read off the
 * state.
 */
#ifndef SR_ROUTER_RESPONSE_ANSWER_H
#define SR_ROUTER_RESPONSE_ANSWER_H

#include "router/response/guard.h"
#include "router/response/restore.h"
#include "router/response/stage.h"
#include "router/response/usage.h"

#define SR_ANSWER_BODY_MAX ((size_t)16 << 20) /* a larger JSON answer passes unchanged and unread */

/* The bytes that go now, in order. At most: what a stage says, what was held, what was written, what was not
 * taken of a stream, and the rest of the input. */
#define SR_ANSWER_SLICES 5

struct sr_answer_out {
    struct sr_bytes slices[SR_ANSWER_SLICES];
    size_t n;
};

struct sr_answer {
    int status; /* 0 = no answer began */
    enum sr_answer_mode mode;
    bool saw_done;           /* the stream has its final event */
    uint64_t first_event_ns; /* when the first event of a stream was there; 0 = none */
    uint64_t bytes;          /* that went to the client */

    /* the stages, in their order */
    struct sr_usage_reader usage;
    struct sr_restore restore;
    struct sr_response_guard guard;
    uint32_t active; /* stages that take part: bits, by their order */
    unsigned wants;  /* SR_WANTS_* of all of them */

    /* how the answer is read */
    const struct sr_dialect_ops *dialect;
    const struct sr_paths *paths;
    struct sr_sse_frames frames;
    bool dropped;           /* the latest event was taken out */
    struct sr_scan *scan;   /* of a JSON answer; NULL: none, or it is no JSON */
    struct sr_arena scans;  /* of `scan` */
    struct sr_arena events; /* of one event */
    size_t offset;          /* bytes of a JSON answer that were scanned */
    struct sr_buf body;     /* a JSON answer that is held */
    bool body_ended;        /* all of it was there, or there was no room for it */

    /* how it is written */
    struct sr_buf before, written;
    struct sr_buf held; /* behind the gate */
    size_t given;       /* bytes of it that the latest slices hold */
    struct sr_answer_flow flow;
    struct sr_answer_out out;
};

/* Allocates nothing. */
void sr_answer_init(struct sr_answer *answer);
/* Cancels what is in progress and frees. */
void sr_answer_dispose(struct sr_answer *answer);

/* The mode that a status and the headers of an answer ask for. */
enum sr_answer_mode sr_answer_mode_of(int status, const struct sr_header *headers, size_t n_headers);

/* The head is there. Asks the stages what they need; what `head` points to is borrowed but for the plan. */
void sr_answer_begin(struct sr_answer *answer, const struct sr_answer_head *head);

/* The next bytes, `last` when they are the end. What goes is in `out`, until the next call. */
enum sr_answer_step sr_answer_body(struct sr_answer *answer, struct sr_bytes in, bool last);
/* The same after a late result, without new bytes. */
enum sr_answer_step sr_answer_next(struct sr_answer *answer);

/* May the length of the body change? */
static inline bool sr_answer_changes_length(const struct sr_answer *answer)
{
    return answer->wants & SR_WANTS_LENGTH;
}

#endif

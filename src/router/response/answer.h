/*
 * Processes an answer: its mode, its stages one after the other, the writer, and the gate.
 *
 * Bytes pass as they are, and at once, unless a stage changes or holds them; then each event of a stream
 * is held until it is complete, and a JSON answer until its end. Errors of the upstream are never changed.
 * Knows no exchange: the inputs of the stages come with the head, their findings are in the state.
 */
#ifndef SR_ROUTER_RESPONSE_ANSWER_H
#define SR_ROUTER_RESPONSE_ANSWER_H

#include "base/gzip.h"
#include "router/response/guard.h"
#include "router/response/keep.h"
#include "router/response/restore.h"
#include "router/response/stage.h"
#include "router/response/store.h"
#include "router/response/translate.h"
#include "router/response/usage.h"

#define SR_ANSWER_BODY_MAX ((size_t)16 << 20) /* a larger JSON answer passes unchanged and unread */

/* The bytes for the client, in order. At most five slices: a stage's own text, held bytes, written bytes,
 * bytes of a stream that were not parsed, and the rest of the input. */
#define SR_ANSWER_SLICES 5

struct sr_answer_out {
    struct sr_bytes slices[SR_ANSWER_SLICES];
    size_t n;
};

struct sr_answer {
    int status; /* 0 = no answer began */
    enum sr_answer_mode mode;
    bool saw_done;           /* the stream has its final event */
    uint64_t first_event_ns; /* time of the first event of a stream; 0 = none */
    uint64_t events_seen;    /* of a stream, with data that is no mark of its end */
    uint64_t bytes;          /* bytes sent to the client */

    struct sr_answer_translation translation; /* before all stages */

    /* the stages, in their order */
    struct sr_answer_keep keep;
    struct sr_answer_store store;
    struct sr_usage_reader usage;
    struct sr_restore restore;
    struct sr_response_guard guard;
    uint32_t active; /* stages that take part: bits, by their order */
    unsigned wants;  /* SR_WANTS_* of all of them */

    /* how the answer is read */
    const struct sr_dialect_ops *dialect;
    const struct sr_paths *paths;
    struct sr_sse_frames frames;
    bool dropped;           /* the latest event was removed */
    struct sr_scan *scan;   /* of a JSON answer; NULL: none, or it is no JSON */
    struct sr_arena scans;  /* of `scan` */
    struct sr_arena events; /* memory of one event */
    size_t offset;          /* scanned bytes of a JSON answer */
    struct sr_buf body;     /* a JSON answer that is held */
    bool body_ended;        /* it was complete, or there was no room for it */

    /* how it is written */
    struct sr_buf before, written;
    struct sr_buf held; /* held at the gate */
    size_t given;       /* bytes of `held` that the latest slices point to */
    struct sr_answer_flow flow;
    struct sr_answer_out out;
};

/* Allocates nothing. */
void sr_answer_init(struct sr_answer *answer);
/* Cancels what is in progress and frees. */
void sr_answer_dispose(struct sr_answer *answer);

/* The coding that the headers of an answer name. */
enum sr_coding sr_answer_coding_of(const struct sr_header *headers, size_t n_headers);

/* The mode that a status and the headers of an answer ask for; `plain`: no coding is left on its bytes. */
enum sr_answer_mode sr_answer_mode_of(int status, const struct sr_header *headers, size_t n_headers,
                                      bool plain);

/* Begins with the answer's head and asks the stages what they need. What `head` points to is borrowed for
 * the call; the plan is borrowed until dispose. */
void sr_answer_begin(struct sr_answer *answer, const struct sr_answer_head *head);

/* Processes the next bytes, `last` when they are the end. `out` receives the bytes for the client, valid
 * until the next call. */
enum sr_answer_step sr_answer_body(struct sr_answer *answer, struct sr_bytes in, bool last);
/* The same after a late result, without new bytes. */
enum sr_answer_step sr_answer_next(struct sr_answer *answer);

/* True when the length of the body may change. */
static inline bool sr_answer_changes_length(const struct sr_answer *answer)
{
    return answer->wants & SR_WANTS_LENGTH;
}

#endif

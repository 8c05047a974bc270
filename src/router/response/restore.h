/*
 * Puts values back into an answer where the upstream wrote their placeholders.
 *
 * A whole JSON answer is held until it is complete and changed in one go; of a stream every event passes as
 * it comes, and only the end of a text that may be the beginning of a placeholder waits for what follows it.
 * What is no answer in OpenAI's shape passes untouched.
 */
#ifndef SR_ROUTER_RESPONSE_RESTORE_H
#define SR_ROUTER_RESPONSE_RESTORE_H

#include "router/edit/redact.h"
#include "json/scan.h"
#include "json/sse_frames.h"

#define SR_RESTORE_BODY_MAX ((size_t)16 << 20) /* a larger JSON answer passes as it is */
#define SR_RESTORE_TEXTS    32                 /* texts of one stream that may wait at the same time */

/* A text of a stream whose end waits: a choice's content, thoughts or the arguments of a call. */
struct sr_restore_text {
    uint16_t kind;   /* its path's number */
    uint64_t choice; /* index as the event says it */
    uint64_t call;   /* the same of a call; 0 where there is none */
    char held[SR_REDACT_PLACEHOLDER_MAX];
    size_t held_n;       /* 0: the place is free */
    struct sr_buf event; /* the latest of its events, with its texts taken out */
    size_t at;           /* where in `event` this one goes */
};

struct sr_restore {
    const struct sr_redaction *redaction; /* NULL: nothing to restore */
    const struct sr_paths *paths;
    struct sr_buf body;            /* a JSON answer so far */
    bool gave_up;                  /* it is too large, or memory is out: what comes passes */
    struct sr_restore_text *texts; /* [SR_RESTORE_TEXTS], made when the first one waits */
    struct sr_arena scratch;       /* of one event or answer */
};

/* The paths of texts in answers; made once, shared. */
int sr_restore_paths(struct sr_paths **out, struct sr_err *err) SR_WARN_UNUSED;

/* Both must outlive it; `redaction` NULL or without entries: there is nothing to restore. */
void sr_restore_init(struct sr_restore *restore, const struct sr_redaction *redaction,
                     const struct sr_paths *paths);
void sr_restore_dispose(struct sr_restore *restore);

static inline bool sr_restore_wanted(const struct sr_restore *restore)
{
    return restore->redaction != NULL;
}

/* A piece of a whole answer. Appends what may pass: nothing before `last`, unless it is too large. SR_ENOMEM:
 * nothing of this piece was taken, what was held is in `body`. */
int sr_restore_body(struct sr_restore *restore, struct sr_bytes in, bool last,
                    struct sr_buf *out) SR_WARN_UNUSED;

/* A whole event of a stream: appends what takes its place. SR_ENOMEM: `out` is as it was. */
int sr_restore_event(struct sr_restore *restore, const struct sr_sse_frame *frame,
                     struct sr_buf *out) SR_WARN_UNUSED;

/* The stream ends, or [DONE] comes: appends what still waits, in events of its own. SR_ENOMEM. */
int sr_restore_finish(struct sr_restore *restore, struct sr_buf *out) SR_WARN_UNUSED;

#endif

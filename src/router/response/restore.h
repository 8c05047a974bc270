/*
 * The stage that puts values back into an answer where the upstream wrote their placeholders.
 *
 * A whole JSON answer is changed in one go; of a stream every event passes as it comes, and only the end of a
 * text that may be the beginning of a placeholder waits for what follows it. Texts that the dialect does not
 * mark as ones to restore pass untouched.
 */
#ifndef SR_ROUTER_RESPONSE_RESTORE_H
#define SR_ROUTER_RESPONSE_RESTORE_H

#include "router/edit/redact.h"
#include "router/response/stage.h"

#define SR_RESTORE_TEXTS 32 /* texts of one stream that may wait at the same time */

/* A text of a stream whose end waits: a choice's content, reasoning or the arguments of a call. */
struct sr_restore_text {
    uint16_t kind;   /* SR_ANSWER_* */
    uint64_t choice; /* index as the event says it */
    uint64_t call;   /* the same of a call; 0 where there is none */
    char held[SR_REDACT_PLACEHOLDER_MAX];
    size_t held_n;       /* 0: the entry is free */
    struct sr_buf event; /* the latest of its events, with its texts taken out */
    size_t at;           /* where in `event` this one goes */
};

/* All zero before the first use. */
struct sr_restore {
    const struct sr_redaction *redaction; /* outlives it */
    struct sr_restore_text *texts;        /* [SR_RESTORE_TEXTS], made when the first one waits */
};

extern const struct sr_answer_stage sr_restore_stage; /* its state: struct sr_restore */

void sr_restore_dispose(struct sr_restore *restore);

#endif

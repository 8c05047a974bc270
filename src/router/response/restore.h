/*
 * The stage that replaces placeholders in an answer with their values.
 *
 * A whole JSON answer is changed at once. Events of a stream pass as they arrive; only the end of a text
 * that may be the start of a placeholder waits for the text after it. Texts that the dialect does not mark
 * with SR_CLASS_RESTORES pass unchanged.
 */
#ifndef SR_ROUTER_RESPONSE_RESTORE_H
#define SR_ROUTER_RESPONSE_RESTORE_H

#include "router/edit/redact.h"
#include "router/response/stage.h"

#define SR_RESTORE_TEXTS 32 /* most texts of one stream that wait at the same time */

/* A text of a stream whose end waits: a choice's content, reasoning or the arguments of a call. */
struct sr_restore_text {
    uint16_t kind;   /* SR_ANSWER_* */
    uint64_t choice; /* `index` of the choice */
    uint64_t call;   /* `index` of the call; 0 without one */
    char held[SR_REDACT_PLACEHOLDER_MAX];
    size_t held_n;       /* 0: the entry is free */
    struct sr_buf event; /* the latest of its events, without its texts */
    size_t at;           /* offset of this text in `event` */
};

/* All zero before the first use. */
struct sr_restore {
    const struct sr_redaction *redaction; /* must outlive it */
    struct sr_restore_text *texts;        /* [SR_RESTORE_TEXTS], allocated when the first text waits */
};

extern const struct sr_answer_stage sr_restore_stage; /* its state: struct sr_restore */

void sr_restore_dispose(struct sr_restore *restore);

#endif

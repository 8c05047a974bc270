/*
 * Collects the texts of an answer for its readers: of a whole JSON document, or of the events of a stream
 * one after the other.
 *
 * Knows the shapes of chat completions, completions, and the answers of the responses and messages APIs.
 * Texts of one choice and one kind (content, reasoning content, refusals, the arguments of one call) are
 * one text. Of read text only the end is kept, so that the memory of a stream is bounded. Knows no
 * signals.
 */
#ifndef SR_ROUTER_RESPONSE_TEXT_H
#define SR_ROUTER_RESPONSE_TEXT_H

#include "base/buf.h"
#include "router/response/event.h"
#include "signal/signal.h"

#define SR_RESPONSE_TEXTS    64                /* texts of one answer; others are not read */
#define SR_RESPONSE_TEXT_MAX ((size_t)1 << 20) /* unread bytes; text above it is not read */
#define SR_RESPONSE_NAME_MAX 256               /* bytes of an id or a model's name, as JSON */

struct sr_response_text {
    uint16_t kind;
    uint64_t choice, call;
    struct sr_buf bytes; /* the end of the read text, and the unread text */
    size_t read;         /* read bytes of it */
};

struct sr_response_texts {
    struct sr_response_text *items; /* [SR_RESPONSE_TEXTS]; NULL before the first text */
    size_t n;
    size_t fresh;      /* unread bytes in `items` */
    uint64_t all;      /* bytes of all texts so far */
    uint64_t finished; /* bit i: choice i has a finish_reason */
    uint64_t choices;  /* bit i: choice i was seen */
    struct sr_stream_at at;
    /* the first id, model and time that the answer gives, as JSON; "" = none */
    char id[SR_RESPONSE_NAME_MAX], model[SR_RESPONSE_NAME_MAX], created[24];
};

/* A zeroed struct is empty and may be disposed of. */
void sr_response_texts_dispose(struct sr_response_texts *texts);

/* Adds the texts of an event or answer. False: it is no JSON, or has more spans than are scanned; then
 * nothing was added. Text without room or memory is counted in `all` only. */
bool sr_response_texts_add(struct sr_response_texts *texts, struct sr_answer_event *event);

/* The texts with unread bytes, each with the end of its read text, as units in `arena`; borrowed until the
 * next call. SR_ENOMEM. */
int sr_response_texts_units(const struct sr_response_texts *texts, struct sr_arena *arena,
                            struct sr_signal_unit_list *out) SR_WARN_UNUSED;

/* Marks all texts as read; keeps up to `context` bytes of each. */
void sr_response_texts_taken(struct sr_response_texts *texts, size_t context);

#endif

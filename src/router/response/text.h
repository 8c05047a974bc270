/*
 * The texts of an answer, gathered for its readers: of a whole JSON document, or of the events of a
 * stream one after the other.
 *
 * Knows the shapes of chat completions and completions, and what the responses and messages APIs answer.
 * Texts of one choice and one kind (content, reasoning content, refusals, the arguments of one call) are one
 * text. What was read is let go but for the end, so that what a stream needs does not grow with it. Knows no
 * signals.
 */
#ifndef SR_ROUTER_RESPONSE_TEXT_H
#define SR_ROUTER_RESPONSE_TEXT_H

#include "base/buf.h"
#include "router/response/event.h"
#include "signal/signal.h"

#define SR_RESPONSE_TEXTS    64                /* texts of one answer; others are not read */
#define SR_RESPONSE_TEXT_MAX ((size_t)1 << 20) /* bytes that wait to be read; what is over it is not */
#define SR_RESPONSE_NAME_MAX 256               /* bytes of an id or a model's name, as JSON */

struct sr_response_text {
    uint16_t kind;
    uint64_t choice, call;
    struct sr_buf bytes; /* the end of what was read, and what was not */
    size_t read;         /* bytes of it that were */
};

struct sr_response_texts {
    struct sr_response_text *items; /* [SR_RESPONSE_TEXTS]; NULL before the first text */
    size_t n;
    size_t fresh;      /* bytes in `items` that were not read */
    uint64_t all;      /* bytes of all texts so far */
    uint64_t finished; /* bit i: choice i has a finish_reason */
    uint64_t choices;  /* bit i: choice i was seen */
    /* the first id, model and time that the answer gives, as JSON; "" = none */
    char id[SR_RESPONSE_NAME_MAX], model[SR_RESPONSE_NAME_MAX], created[24];
};

/* All zero is empty, too. */
void sr_response_texts_dispose(struct sr_response_texts *texts);

/* Adds the texts of an event or answer. False: it is no JSON, or holds more than is looked through, so
 * nothing was added. What there is no room or memory for counts in `all` alone. */
bool sr_response_texts_add(struct sr_response_texts *texts, struct sr_answer_event *event);

/* The texts of which something was not read, each with the end of what was, as turns in `arena`; borrowed
 * until the next call. SR_ENOMEM. */
int sr_response_texts_turns(const struct sr_response_texts *texts, struct sr_arena *arena,
                            struct sr_signal_turn **turns, size_t *n) SR_WARN_UNUSED;

/* All of that counts as read; up to `context` bytes of each text are kept. */
void sr_response_texts_taken(struct sr_response_texts *texts, size_t context);

#endif

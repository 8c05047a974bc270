/*
 * Turns an upstream's answer into one of the client's API, before any stage reads it: so all stages know one
 * API, the client's.
 *
 * Events of a stream go on as they come; a whole answer, and an error, is held until its end.
 */
#ifndef SR_ROUTER_RESPONSE_TRANSLATE_H
#define SR_ROUTER_RESPONSE_TRANSLATE_H

#include "semroute/semroute.h"
#include "translate/translate.h"

/* What stands between the API of a request and that of its model. */
struct sr_translation {
    enum sr_translate_api client, upstream;
    struct sr_translate_settings settings;
    struct sr_translate_warnings lost;
};

/* Zero: the answer is not translated. */
struct sr_answer_translation {
    struct sr_translation *of; /* NULL: it is not */
    int status;
    struct sr_translate_stream *stream; /* NULL: it is read whole */
    struct sr_buf gathered, out;
    bool failed; /* the whole answer cannot be translated */
};

/* Begins with an answer's head; `of` must outlive it. `streams`: it has events. Out of memory: the answer
 * fails. */
void sr_answer_translation_begin(struct sr_answer_translation *translation, struct sr_translation *of,
                                 int status, bool streams);
void sr_answer_translation_dispose(struct sr_answer_translation *translation);

/* Takes the next bytes. GO: `out` is what they become, borrowed until the next call. HOLD: more is needed.
 * REPLACE: the answer cannot be translated, and the client has nothing of it. */
enum sr_answer_step sr_answer_translation_take(struct sr_answer_translation *translation, struct sr_bytes in,
                                               bool last, struct sr_bytes *out);

/* True when the client gets nothing before the end. */
static inline bool sr_answer_translation_holds(const struct sr_answer_translation *translation)
{
    return translation->of && !translation->stream;
}

#endif

/*
 * The question to a model which of the preferences a text has, and its answer. Bytes in, bytes out.
 *
 * The question has the form that router models are trained on (Arch-Router: routes and a conversation between
 * tags, the answer is `{"route": NAME}`); others follow its instruction.
 */
#ifndef SR_SIGNAL_TOPIC_PREFERENCE_MODEL_H
#define SR_SIGNAL_TOPIC_PREFERENCE_MODEL_H

#include "base/arena.h"
#include "base/buf.h"
#include "config/config.h"

#define SR_PREFERENCE_TEXT_MAX                                                                               \
    ((size_t)8192) /* bytes of the user's text that are sent: its begin and its end */
#define SR_PREFERENCE_NONE      (-1)
#define SR_PREFERENCE_NONE_NAME "other" /* what a model says where none fits */

/* Writes what precedes the user's text: the rules and what is asked. SR_ENOMEM, SR_ELIMIT. */
int sr_preference_intro(struct sr_buf *out, const struct sr_config_preference *rules,
                        size_t n) SR_WARN_UNUSED;

/* Writes the body of a chat completion that asks `model`. SR_ENOMEM, SR_ELIMIT. */
int sr_preference_question(struct sr_buf *out, const char *model, struct sr_bytes intro,
                           struct sr_bytes text) SR_WARN_UNUSED;

/* Reads the body of the answer, of any origin. *rule is the index of the rule that it names, the last where
 * it names several, or SR_PREFERENCE_NONE where it says that none fits. SR_EPARSE: it says neither.
 * SR_ENOMEM. */
int sr_preference_answer(struct sr_bytes body, const struct sr_config_preference *rules, size_t n,
                         struct sr_arena *arena, int *rule) SR_WARN_UNUSED;

#endif

/*
 * The vector of one text, computed once for all the signals that ask for it.
 *
 * Belongs to an input, and to each of its askers; a signal that reads another text has one of its own. The
 * read is cancelled when its last asker leaves.
 */
#ifndef SR_SIGNAL_TOPIC_VECTOR_H
#define SR_SIGNAL_TOPIC_VECTOR_H

#include "signal/topic/embedding_reader.h"

struct sr_signal_vector;

/* One asker, in memory of its own; it keeps a reference of the vector. */
struct sr_vector_ask {
    struct sr_signal_vector *vector;
    void (*done)(void *ctx, int status); /* once after SR_AGAIN, on any thread; short */
    void *ctx;
    struct sr_vector_ask *next; /* private */
};

/* NULL when out of memory. */
struct sr_signal_vector *sr_signal_vector_new(void);
struct sr_signal_vector *sr_signal_vector_ref(struct sr_signal_vector *vector);
void sr_signal_vector_unref(struct sr_signal_vector *vector); /* NULL is allowed */

/* Asks for the vector of `text`, the same for every asker, which lives as long as one of them. SR_OK: it is
 * there. SR_AGAIN: `done` will be called. Otherwise why there is none. `done`, `ctx` and `vector` of `ask`
 * are set. */
int sr_signal_vector_ask(struct sr_vector_ask *ask, struct sr_embedding_reader *reader, struct sr_bytes text,
                         uint64_t client, const struct sr_span_ref *origin) SR_WARN_UNUSED;

/* True when the vector is of this text, or of none yet. */
bool sr_signal_vector_is_of(struct sr_signal_vector *vector, struct sr_bytes text);

/* The asker does not wait any more: calls its `done` with SR_ECANCELED unless it was called. Any thread. */
void sr_signal_vector_leave(struct sr_vector_ask *ask);

/* After SR_OK of an ask, or of its `done`; lives as long as the vector. */
struct sr_embedding_answer sr_signal_vector_answer(const struct sr_signal_vector *vector);

#endif

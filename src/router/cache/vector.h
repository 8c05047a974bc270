/*
 * The vector of one question as a task: the text is copied, so the request may end at any time.
 *
 * On the exchange's thread, but for the encoder's own work.
 */
#ifndef SR_ROUTER_CACHE_VECTOR_H
#define SR_ROUTER_CACHE_VECTOR_H

#include "base/mailbox.h"
#include "signal/topic/embedding_reader.h"

struct sr_recall_vector;

/* Begins. `done` is called on the mailbox's thread when it is known or cannot be had, but not within this
 * call and not after sr_recall_vector_free. NULL: it cannot be had. */
struct sr_recall_vector *sr_recall_vector_new(struct sr_embedding_reader *reader, struct sr_bytes text,
                                              uint64_t client, const struct sr_span_ref *origin,
                                              struct sr_mailbox *mailbox, void (*done)(void *ctx), void *ctx);
/* Cancels it when it is not known yet. NULL is allowed. */
void sr_recall_vector_free(struct sr_recall_vector *vector);

bool sr_recall_vector_ended(const struct sr_recall_vector *vector);

/* Its numbers, of length 1, as long as the vector; NULL: not known, or the text was not read whole. */
const float *sr_recall_vector_unit(const struct sr_recall_vector *vector);

#endif

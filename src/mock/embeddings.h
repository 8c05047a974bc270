/*
 * Embeddings of the mock.
 */
#ifndef SR_MOCK_EMBEDDINGS_H
#define SR_MOCK_EMBEDDINGS_H

#include "base/buf.h"
#include "mock/ask.h"

/* Appends the list of the vectors of all inputs. SR_ENOMEM, SR_ELIMIT. */
int sr_mock_embeddings(const struct sr_mock_ask *ask, struct sr_buf *out) SR_WARN_UNUSED;

#endif

/*
 * Small linear classifiers over the vector of a text, trained on the default encoder (models/signal-heads).
 *
 * They fit no other encoder: a sentence whose vector the file holds shows whether the configured one is the
 * same.
 */
#ifndef SR_SIGNAL_TOPIC_HEAD_H
#define SR_SIGNAL_TOPIC_HEAD_H

#include "signal/topic/embedding_reader.h"

#define SR_HEAD_LABELS_MAX 8u

struct sr_head {
    size_t n_labels, dimensions;
    float *weights; /* [n_labels][dimensions], then [n_labels] biases */
};

/* Opens the head of a task with `n_labels` labels for the reader's vectors. SR_EMISMATCH: they are of another
 * encoder. SR_EPARSE, SR_ENOMEM, and the errors of sr_embedding_reader_texts. */
int sr_head_open(struct sr_head *head, const char *task, size_t n_labels, struct sr_embedding_reader *reader,
                 struct sr_err *err) SR_WARN_UNUSED;
void sr_head_dispose(struct sr_head *head); /* zeroed is allowed */

/* The probabilities of the labels for a vector, into out[n_labels]. */
void sr_head_answer(const struct sr_head *head, const float *vector, float *out);

#endif

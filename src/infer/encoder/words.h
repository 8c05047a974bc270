/*
 * Tables of word embeddings, shared by the encoders of a process that have the same one (two precisions of
 * one model, the model before and after a reload): the largest part of a small model's memory that is not
 * packed.
 */
#ifndef SR_INFER_ENCODER_WORDS_H
#define SR_INFER_ENCODER_WORDS_H

#include "base/bytes.h"
#include "base/err.h"

struct sr_enc_words;

/* A table with these bytes: one that another encoder has, or a copy. SR_ENOMEM. Any thread. */
int sr_enc_words_take(struct sr_enc_words **out, struct sr_bytes table) SR_WARN_UNUSED;

/* Aligned to a page; valid until sr_enc_words_let_go. */
const void *sr_enc_words_data(const struct sr_enc_words *words);

/* NULL is allowed. */
void sr_enc_words_let_go(struct sr_enc_words *words);

#endif

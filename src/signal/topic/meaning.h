/*
 * What the signals share that compare a request's vector with those of configured texts: the reader, banks of
 * example texts, and a task that waits for vectors.
 *
 * Example texts are read once when the configuration is loaded. The vector of the request is the input's own,
 * computed once for all of these signals.
 */
#ifndef SR_SIGNAL_TOPIC_MEANING_H
#define SR_SIGNAL_TOPIC_MEANING_H

#include "signal/topic/vector.h"
#include "signal/types.h"

/* Opens the reader. SR_OK with *out NULL: the default encoder is missing; the rules of `type` will fail, and
 * a warning says so. Other errors name the section `path`. */
int sr_meaning_open(struct sr_embedding_reader **out, const char *type, const char *path,
                    const struct sr_config *config, struct sr_model_store *models,
                    struct sr_err *err) SR_WARN_UNUSED;

/* Example texts as vectors. Zeroed it is empty. */
struct sr_bank {
    float *vectors; /* [n][dimensions] */
    size_t n, dimensions;
};

/* Reads the vectors of `texts`; blocks. With `reader` NULL the bank stays empty. */
int sr_bank_read(struct sr_bank *bank, struct sr_embedding_reader *reader, const struct sr_strings *texts,
                 struct sr_err *err) SR_WARN_UNUSED;
void sr_bank_dispose(struct sr_bank *bank);

/* How near a vector is to a bank: 0.75 of the similarity to the nearest text and 0.25 of the mean of the two
 * nearest; of a bank of one text its similarity; 0 for an empty bank. vLLM Semantic Router's prototype
 * scoring (best_weight 0.75, top_m 2). */
float sr_bank_nearness(const struct sr_bank *bank, const float *vector);

/* The cosine of two vectors of length 1. */
float sr_meaning_cosine(const float *a, const float *b, size_t dimensions);

/* A similarity as a confidence: 0..1. */
float sr_meaning_confidence(double similarity);

/* Writes task->result, whose hits are there, once all vectors are: `answers`[0] is of the request's text, the
 * others of the further texts, in order. Any thread, short. Returns the signal's status. */
typedef int sr_meaning_write(const struct sr_signal_set *set, struct sr_signal_task *task,
                             const struct sr_embedding_answer *answers, size_t n);

#define SR_MEANING_TEXTS (1 + SR_SIGNAL_TURNS_MAX)

/* Gets the vectors of `texts` [n], which live as long as the task, then calls `write`, with an answer for
 * each. The hits are the caller's. The text of the input shares its vector with other signals. SR_ENOENT
 * without a reader; the first error of a text is the status. */
int sr_meaning_ask(const struct sr_signal_set *set, struct sr_signal_task *task,
                   struct sr_embedding_reader *reader, const struct sr_bytes *texts, size_t n,
                   sr_meaning_write *write) SR_WARN_UNUSED;

/* A type's `start`: gets the vectors of the request's text and of up to SR_SIGNAL_TURNS_MAX `further` texts,
 * then calls `write`. Makes the result's `n_hits` hits, coverage and tier. With an empty text nothing
 * matches. SR_ENOENT without a reader. */
int sr_meaning_start(const struct sr_signal_set *set, struct sr_signal_task *task,
                     struct sr_embedding_reader *reader, size_t n_hits, const struct sr_bytes *further,
                     size_t n_further, sr_meaning_write *write) SR_WARN_UNUSED;

#endif

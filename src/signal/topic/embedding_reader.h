/*
 * Vectors of texts for signals: the configured encoder, the memo, and texts in progress.
 *
 * A text is read in windows up to the configured number; the answer says how many bytes were read. Vectors
 * have length 1. They are memoised by the text's hash in the memo that the models share. Counted; any
 * thread.
 */
#ifndef SR_SIGNAL_TOPIC_EMBEDDING_READER_H
#define SR_SIGNAL_TOPIC_EMBEDDING_READER_H

#include "base/progress.h"
#include "signal/neural/neural.h"

struct sr_embedding_reader;

/* Opens the encoder `model` (a folder or a name), or with NULL or "" that of the configuration. SR_ENOENT:
 * none is configured and the default one is missing; else the errors of sr_model_store_encoder and
 * sr_embed_new. */
int sr_embedding_reader_new(struct sr_embedding_reader **out, const struct sr_config *config,
                            const char *model, struct sr_model_store *models,
                            struct sr_err *err) SR_WARN_UNUSED;
struct sr_embedding_reader *sr_embedding_reader_ref(struct sr_embedding_reader *reader);
void sr_embedding_reader_unref(struct sr_embedding_reader *reader); /* NULL is allowed */

/* Dimensions of a vector. */
size_t sr_embedding_reader_dimensions(const struct sr_embedding_reader *reader);

/* Is it the default encoder, read whole, to which trained maps of its vectors belong? */
bool sr_embedding_reader_is_default(const struct sr_embedding_reader *reader);

/* Names everything that determines a vector: the model and how it is run. */
struct sr_bytes sr_embedding_reader_identity(const struct sr_embedding_reader *reader);

/* Vectors of n texts into vectors[n][dimensions]; blocks. Start-up and reload. `step`: says how many are
 * read; NULL: nothing does. */
int sr_embedding_reader_texts(struct sr_embedding_reader *reader, const char *const *texts, size_t n,
                              float *vectors, struct sr_progress *step, struct sr_err *err) SR_WARN_UNUSED;

/* One text that is read. */
struct sr_embedding_read;

struct sr_embedding_answer {
    const float *vector; /* [dimensions], as long as the read */
    uint64_t read_bytes; /* bytes read from the text's beginning */
    bool remembered;
};

/* Begins to read `text` for a client (struct sr_infer_job); it must live until the answer is ready; the read
 * holds a reference to the reader. SR_OK: answered. SR_AGAIN: `done` will be called exactly once, on a thread
 * of the engine or inside sr_embedding_read_cancel. Otherwise *out is NULL: SR_EBUSY, SR_ELIMIT, SR_ENOMEM,
 * SR_ECLOSED. Tokenizes on the calling thread. */
int sr_embedding_read_start(struct sr_embedding_read **out, struct sr_embedding_reader *reader,
                            struct sr_bytes text, uint64_t client, const struct sr_span_ref *origin,
                            void (*done)(void *ctx, int status), void *ctx) SR_WARN_UNUSED;

/* The answer of a read that ended with SR_OK. */
struct sr_embedding_answer sr_embedding_read_answer(const struct sr_embedding_read *read);

/* Cancels a read after SR_AGAIN, also when it is done. */
void sr_embedding_read_cancel(struct sr_embedding_read *read);

/* Frees a read. Not in `done`, and not before `done` was called. NULL is allowed. */
void sr_embedding_read_free(struct sr_embedding_read *read);

#endif

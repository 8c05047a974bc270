/*
 * Vectors of a group of texts: their windows as jobs of the engine, and one vector of length 1 for each
 * text.
 *
 * For callers that need only vectors (the command line, the API). Add texts to a group, submit it once,
 * and read it when it is done. It tokenizes on the caller's thread, so an event loop uses a worker thread
 * for it.
 */
#ifndef SR_INFER_EMBED_H
#define SR_INFER_EMBED_H

#include "infer/engine/engine.h"
#include "infer/windows.h"

struct sr_embed;

struct sr_embed_options {
    struct sr_windows_options windows;
    uint16_t layers, dimensions; /* stop after a layer, keep the first numbers; 0: all */
    size_t max_texts;
    size_t max_ids;  /* of all windows together: what the encoder computes */
    uint64_t client; /* of struct sr_infer_job */
    struct sr_span_ref origin;
    enum sr_infer_priority priority;
};

/* Whole texts at bulk priority: 2,048 texts, 131,072 ids, windows of all of the encoder's positions. */
struct sr_embed_options sr_embed_defaults(const struct sr_encoder *encoder);

/* The group holds a reference of the encoder. SR_EUNSUPPORTED: it has no embedding head. SR_EINVAL: layers or
 * dimensions beyond the encoder's. SR_ENOMEM. */
int sr_embed_new(struct sr_embed **out, struct sr_encoder *encoder, const struct sr_embed_options *options,
                 struct sr_err *err) SR_WARN_UNUSED;

/* Not while jobs are in progress. NULL is allowed. */
void sr_embed_free(struct sr_embed *group);

/* Adds a text before the group is submitted; the text is not needed afterwards. SR_ELIMIT: too many texts
 * or ids, or a text over SR_TOKENIZER_TEXT_MAX; SR_EINVAL: an empty text where the tokenizer has no
 * template; SR_ENOMEM. */
int sr_embed_add(struct sr_embed *group, struct sr_bytes text) SR_WARN_UNUSED;

/* Before it is submitted. */
void sr_embed_set_priority(struct sr_embed *group, enum sr_infer_priority priority);

size_t sr_embed_count(const struct sr_embed *group);
size_t sr_embed_dimensions(const struct sr_embed *group);

/* The windows of text i, which say what was read. They live as long as the group. */
const struct sr_windows *sr_embed_windows(const struct sr_embed *group, size_t i);

/* Submits a group once, with at least one text. After SR_OK `done` is called exactly once, on a thread of
 * the engine or inside sr_embed_cancel: short, does not block, submits nothing; the group may not be freed
 * in it. `status` is the first error of any job. Errors of sr_infer_submit_all; then the group may be
 * freed. */
int sr_embed_submit(struct sr_embed *group, struct sr_infer *infer, void (*done)(void *ctx, int status),
                    void *ctx) SR_WARN_UNUSED;

/* Cancels a submitted group, on any thread, before it is freed; `done` is still called once. */
void sr_embed_cancel(struct sr_embed *group);

/* Submits and waits; for commands and worker threads. */
int sr_embed_run(struct sr_embed *group, struct sr_infer *infer) SR_WARN_UNUSED;

/* After `done` with SR_OK: vector i into out[dimensions], at length 1. */
void sr_embed_vector(const struct sr_embed *group, size_t i, float *out);

#endif

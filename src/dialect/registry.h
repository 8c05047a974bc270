/*
 * All dialects, which one an endpoint speaks, and their compiled path tables.
 *
 * Used at the start of an exchange and by tests; later stages have the dialect's ops.
 */
#ifndef SR_DIALECT_REGISTRY_H
#define SR_DIALECT_REGISTRY_H

#include "dialect/dialect.h"

extern const struct sr_dialect_ops sr_dialect_chat, sr_dialect_completions, sr_dialect_embeddings,
    sr_dialect_messages, sr_dialect_responses, sr_dialect_rerank, sr_dialect_score, sr_dialect_classify,
    sr_dialect_moderations, sr_dialect_tokenize, sr_dialect_speech, sr_dialect_images,
    sr_dialect_count_tokens, sr_dialect_input_tokens;
extern const struct sr_dialect_ops sr_dialect_other; /* any other POST below /v1 */

/* All dialects, from 0 on; NULL past the last one. */
const struct sr_dialect_ops *sr_dialect_number(size_t number);

/* The dialect whose endpoint has exactly this path (without the query); NULL: only sr_dialect_other may
 * have it. */
const struct sr_dialect_ops *sr_dialect_at(struct sr_bytes path);

/* The tables of all dialects, compiled: immutable, shared between threads. */
struct sr_dialect_paths;

/* Compiles all tables. SR_ENOMEM; SR_EINVAL for a malformed table. */
int sr_dialect_paths_new(struct sr_dialect_paths **out, struct sr_err *err) SR_WARN_UNUSED;
void sr_dialect_paths_free(struct sr_dialect_paths *paths);

/* The tables of one dialect; they live as long as `paths`. */
struct sr_paths *sr_dialect_request_paths(const struct sr_dialect_paths *paths,
                                          const struct sr_dialect_ops *dialect);
const struct sr_answer_paths *sr_dialect_answer_paths(const struct sr_dialect_paths *paths,
                                                      const struct sr_dialect_ops *dialect);

#endif

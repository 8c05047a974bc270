/*
 * Requests and answers of embeddings and similarities that are computed here: bodies into texts and
 * settings, vectors into answers.
 *
 * Computes on the calling thread, without connection or engine. The shapes are vLLM Semantic Router's, and
 * OpenAI's on its own path or when the body has `input`.
 */
#ifndef SR_ROUTER_EMBED_REQUEST_H
#define SR_ROUTER_EMBED_REQUEST_H

#include "base/buf.h"
#include "infer/embed.h"
#include "router/embed/kind.h"
#include "json/doc.h"

#define SR_EMBEDDINGS_TEXTS_MAX  2048u
#define SR_EMBEDDINGS_IDS_MAX    131072u            /* tokens of all windows of a request */
#define SR_EMBEDDINGS_ANSWER_MAX ((size_t)64 << 20) /* bytes */

struct sr_embeddings_request {
    enum sr_embeddings_kind kind;
    bool openai, base64;
    bool may_be_empty;      /* while reading: a text may have no character */
    struct sr_bytes *texts; /* [n], the query first; borrowed from `doc` */
    size_t n;
    uint16_t dimension, layer; /* 0: all */
    size_t top_k;
    struct sr_doc *doc;
};

/* Reads a body for the model of this name (NULL: any name will do). Returns 200, or another HTTP status with
 * a message for the client in `err`; dispose in any case. */
int sr_embeddings_parse(struct sr_embeddings_request *request, enum sr_embeddings_kind kind,
                        struct sr_bytes body, const char *model, struct sr_err *err);
void sr_embeddings_dispose(struct sr_embeddings_request *request);

/* The answer from the vectors of `request->texts`, which took `ns`. SR_ELIMIT, SR_ENOMEM. */
int sr_embeddings_format(const struct sr_embeddings_request *request, const struct sr_embed *group,
                         const char *model, uint64_t ns, struct sr_buf *out) SR_WARN_UNUSED;

/* The last part of the encoder's folder. */
const char *sr_embeddings_name(const struct sr_encoder *encoder);

/* GET /api/v1/embeddings/models: the one model, or none (NULL). */
int sr_embeddings_models(const struct sr_encoder *encoder, struct sr_buf *out) SR_WARN_UNUSED;

#endif

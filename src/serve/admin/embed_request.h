/*
 * Requests and answers of the API's embeddings and similarities: bodies into texts and settings, vectors
 * into answers.
 *
 * Computes on the calling thread, without connection or engine. The shapes are vLLM Semantic Router's, and
 * OpenAI's on its own path or when the body has `input`.
 */
#ifndef SR_SERVE_ADMIN_EMBED_REQUEST_H
#define SR_SERVE_ADMIN_EMBED_REQUEST_H

#include "base/buf.h"
#include "infer/embed.h"
#include "json/doc.h"

#define SR_API_EMBED_TEXTS_MAX  2048u
#define SR_API_EMBED_IDS_MAX    131072u            /* tokens of all windows of a request */
#define SR_API_EMBED_ANSWER_MAX ((size_t)64 << 20) /* bytes */

enum sr_api_embed_kind {
    SR_API_EMBEDDINGS,   /* {texts} or OpenAI's {input} */
    SR_API_OPENAI,       /* only OpenAI's {input}, errors always in its shape */
    SR_API_SIMILARITY,   /* {text1, text2} */
    SR_API_SIMILARITIES, /* {query, candidates, top_k} */
};

struct sr_api_embed_request {
    enum sr_api_embed_kind kind;
    bool openai, base64;
    bool may_be_empty;      /* while reading: a text may have no character */
    struct sr_bytes *texts; /* [n], the query first; borrowed from `doc` */
    size_t n;
    uint16_t dimension, layer; /* 0: all */
    size_t top_k;
    struct sr_doc *doc;
};

/* Reads a body for the model of this name. Returns 200, or another HTTP status with a message for the client
 * in `err`; dispose in any case. */
int sr_api_embed_parse(struct sr_api_embed_request *request, enum sr_api_embed_kind kind,
                       struct sr_bytes body, const char *model, struct sr_err *err);
void sr_api_embed_dispose(struct sr_api_embed_request *request);

/* The answer from the vectors of `request->texts`, which took `ns`. SR_ELIMIT, SR_ENOMEM. */
int sr_api_embed_format(const struct sr_api_embed_request *request, const struct sr_embed *group,
                        const char *model, uint64_t ns, struct sr_buf *out) SR_WARN_UNUSED;

/* Appends an error in the shape of the request's API. */
void sr_api_embed_error(bool openai, int status, const char *message, struct sr_buf *out);

/* The last part of the encoder's folder. */
const char *sr_api_embed_name(const struct sr_encoder *encoder);

/* GET /api/v1/embeddings/models: the one model, or none (NULL). */
int sr_api_embed_models(const struct sr_encoder *encoder, struct sr_buf *out) SR_WARN_UNUSED;

#endif

/*
 * The lists of models: the automatic names, and the models of the configuration with their cards.
 *
 * Each function appends the body of one answer to `out`. SR_ENOMEM, SR_ELIMIT.
 */
#ifndef SR_ROUTER_REPLY_MODELS_H
#define SR_ROUTER_REPLY_MODELS_H

#include "base/buf.h"
#include "router/identity/identity.h"
#include "router/router.h"

/* GET /v1/models. A client that may use only some models sees these. */
int sr_reply_models(const struct sr_router *router, const struct sr_identity *identity,
                    struct sr_buf *out) SR_WARN_UNUSED;

/* One model by its id as sent in the path. SR_ENOENT: the client has none of that name, and `refusal` is
 * filled. */
int sr_reply_model(const struct sr_router *router, const struct sr_identity *identity,
                   struct sr_bytes escaped_id, struct sr_arena *arena, struct sr_refusal *refusal,
                   struct sr_buf *out) SR_WARN_UNUSED;

#endif

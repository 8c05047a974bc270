/*
 * From the exchange to router/embed, and back into a reply. The body is the one that guards have edited, so
 * what they redact is in no vector.
 */
#include "router/exchange/embed.h"
#include "router/exchange/mail.h"

#include "base/clock.h"
#include "router/embed/work.h"
#include "router/exchange/phase.h"
#include "router/exchange/reply.h"

static enum sr_phase_step refuse(sr_exchange *x, int status, const char *message)
{
    struct sr_refusal refusal;
    const char *code = status == 413   ? SR_CODE_TOO_LARGE
                       : status == 503 ? "embedding_unavailable"
                       : status == 504 ? "embedding_timeout"
                       : status >= 500 ? "embedding_error"
                                       : "invalid_value";
    sr_refuse(&refusal, status, code, NULL, "%s", message);
    refusal.reason = status == 504 ? "timeout" : NULL;
    sr_exchange_refuse(x, &refusal);
    return SR_PHASE_SETTLED;
}

static void on_done(void *ctx)
{
    sr_exchange *x = ctx;
    x->resumed(x);
}

/* Clients that may use some models only have not been given this one. */
static enum sr_phase_step refuse_model(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 403, SR_CODE_MODEL, "model", "this client may not use model `%s`", x->router->embeds);
    refusal.type = "permission_error";
    refusal.reason = "model_not_allowed";
    sr_exchange_refuse(x, &refusal);
    return SR_PHASE_SETTLED;
}

static int start(sr_exchange *x)
{
    struct sr_buf body;
    struct sr_embeddings_options options = {.kind = SR_EMBEDDINGS_OPENAI,
                                            .model = x->router->embeds,
                                            .runtime = x->runtime,
                                            .done = on_done,
                                            .ctx = x};
    options.mailbox = sr_exchange_mailbox(x);
    int rc = options.mailbox ? SR_OK : x->env.post ? SR_ENOMEM : SR_EBUSY;
    sr_buf_init(&body, x->sending.size + 1);
    for (size_t i = 0; i < x->sending.n && !rc; i++)
        rc = sr_buf_append_bytes(&body, x->sending.slices[i]);
    rc = rc ? rc : sr_embeddings_start(&x->embeddings, &body, &options);
    sr_buf_dispose(&body);
    return rc;
}

static enum sr_phase_step begin(sr_exchange *x)
{
    if (sr_identity_is_limited(&x->identity))
        return refuse_model(x);
    x->embed_deadline_ns = sr_clock_ns() + SR_EMBEDDINGS_TIMEOUT_MS * SR_NS_PER_MS;
    int rc = start(x);
    if (rc == SR_ENOMEM) {
        sr_exchange_refuse_memory(x);
        return SR_PHASE_SETTLED;
    }
    return rc ? refuse(x, 503, "the server is busy") : SR_PHASE_WAITS;
}

static enum sr_phase_step end(sr_exchange *x)
{
    if (!x->embeddings)
        return refuse(x, 504, "the texts took too long");
    struct sr_embeddings_result result = sr_embeddings_result(x->embeddings);
    if (result.status != 200)
        return refuse(x, result.status, result.message);
    x->own_tokens = result.tokens;
    x->record.model_name = x->router->embeds;
    sr_exchange_begin_reply(x, SR_OUTCOME_LOCAL, 200, "local");
    int rc = sr_buf_append_bytes(&x->reply, result.answer);
    if (rc == SR_ELIMIT)
        return refuse(x, 413, "the answer is too large; ask for fewer texts at once");
    sr_exchange_finish_reply(x, "application/json", rc);
    return SR_PHASE_SETTLED;
}

static uint64_t deadline_ns(const sr_exchange *x)
{
    return x->embed_deadline_ns;
}

void sr_exchange_embed_dispose(sr_exchange *x)
{
    sr_embeddings_free(x->embeddings);
    x->embeddings = NULL;
}

const struct sr_phase sr_phase_embed = {.begin = begin,
                                        .end = end,
                                        .deadline_ns = deadline_ns,
                                        .give_up = sr_exchange_embed_dispose,
                                        .own_work = true};

/*
 * The phase that translates a request for a model whose upstream speaks another API.
 *
 * The edited body is what is translated, so the edits need to know one API. Another model of the decision
 * gets the client's request edited and translated anew.
 */
#include "router/exchange/translate.h"

#include "base/clock.h"
#include "router/exchange/reply.h"

#define ARENA_MAX ((size_t)512 << 20)

int sr_exchange_translates(const struct sr_exchange *x, int model)
{
    const struct sr_dialect_ops *dialect = x->body.doc.dialect;
    int to = x->router->models[model].api, from = sr_translate_api_named(dialect->name);
    bool its_own = dialect->path && sr_bytes_eq(x->head.path.path, sr_bytes_str(dialect->path));
    return from < 0 || to < 0 || from == to || !its_own ? -1 : to;
}

/* The body that is sent, in one run. SR_ENOMEM, SR_ELIMIT. */
static int join(const struct sr_exchange *x, struct sr_buf *joined, struct sr_bytes *body)
{
    int rc = SR_OK;
    *body = x->sending.n == 1 ? x->sending.slices[0] : (struct sr_bytes){"", 0};
    if (x->sending.n <= 1)
        return SR_OK;
    rc = sr_buf_reserve(joined, x->sending.size);
    for (size_t i = 0; i < x->sending.n && !rc; i++)
        rc = sr_buf_append_bytes(joined, x->sending.slices[i]);
    *body = sr_buf_view(joined);
    return rc;
}

static void refuse(sr_exchange *x, int rc, const struct sr_err *err)
{
    struct sr_refusal refusal;
    if (rc == SR_ELIMIT) {
        sr_refuse_size(&refusal, SR_TRANSLATE_BODY_MAX);
    } else if (rc == SR_EPARSE || rc == SR_EUNSUPPORTED) {
        sr_refuse(&refusal, 400, "not_translatable", NULL, "%s", err->message);
        refusal.reason = "not_translatable";
    } else {
        sr_exchange_refuse_memory(x);
        return;
    }
    sr_exchange_refuse(x, &refusal);
}

static int translate_body(sr_exchange *x, struct sr_translation *translation, struct sr_err *err)
{
    struct sr_buf joined;
    struct sr_bytes body;
    struct sr_arena arena;
    sr_buf_init(&joined, SR_TRANSLATE_BODY_MAX);
    sr_arena_init(&arena, ARENA_MAX);
    sr_buf_clear(&x->translated);
    int rc = join(x, &joined, &body);
    if (!rc)
        rc = sr_translate_request(translation->client, translation->upstream, body, &translation->settings,
                                  &arena, &x->translated, &translation->lost, err);
    sr_arena_dispose(&arena);
    sr_buf_dispose(&joined);
    return rc;
}

static enum sr_phase_step translate(sr_exchange *x)
{
    const struct sr_request *doc = &x->body.doc;
    struct sr_err err = {.code = 0};
    int to = sr_exchange_translates(x, x->record.model);
    x->translation = NULL;
    x->record.translated = to;
    x->record.lost = NULL;
    if (to < 0)
        return SR_PHASE_NEXT;
    if (x->head.answer_unseen) {
        struct sr_refusal refusal;
        sr_refuse(&refusal, 500, "answer_unseen", NULL,
                  "the model's upstream speaks another API, and Envoy does not show answers to semroute: set "
                  "`response_body_mode` of the filter");
        sr_exchange_refuse(x, &refusal);
        return SR_PHASE_SETTLED;
    }
    struct sr_translation *translation = sr_arena_calloc(&x->arena, 1, sizeof *translation);
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    int rc = translation && slice ? SR_OK : SR_ENOMEM;
    if (!rc) {
        translation->client = (enum sr_translate_api)sr_translate_api_named(doc->dialect->name);
        translation->upstream = (enum sr_translate_api)to;
        translation->settings = (struct sr_translate_settings){
            .asked = sr_buf_view(&x->body.bytes),
            .now_s = sr_clock_wall_ns() / SR_NS_PER_S,
            .usage = x->edited.hidden_usage || sr_request_is_true(doc, doc->at.include_usage),
        };
        rc = translate_body(x, translation, &err);
    }
    if (rc) {
        refuse(x, rc, &err);
        return SR_PHASE_SETTLED;
    }
    *slice = sr_buf_view(&x->translated);
    x->sending = (struct sr_sending){slice, 1, slice->n};
    x->translation = translation;
    x->record.lost = &translation->lost;
    return SR_PHASE_NEXT;
}

const struct sr_phase sr_phase_translate = {.begin = translate};

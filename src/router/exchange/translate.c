/*
 * The phase that translates a request for a model whose upstream speaks another API.
 *
 * The edited body is what is translated, so the edits need to know one API. Another model of the decision
 * gets the client's request edited and translated anew. Where the targets of one model speak different APIs,
 * the request is translated when one of them was chosen (sr_exchange_aim of send.h).
 */
#include "router/exchange/translate.h"

#include "base/clock.h"
#include "router/exchange/reply.h"
#include "router/exchange/store.h"

#define ARENA_MAX ((size_t)512 << 20)

/* The API of the client; -1: it is not translated. */
static int api_of_client(const struct sr_dialect_ops *dialect)
{
    return sr_translate_api_named(dialect->counts ? dialect->counts : dialect->name);
}

/* The API into which the request is translated for an upstream that speaks `to`; -1: it is sent as it is. */
static int between(const struct sr_exchange *x, int to)
{
    const struct sr_dialect_ops *dialect = x->body.doc.dialect;
    int from = api_of_client(dialect);
    bool its_own = dialect->path && sr_bytes_eq(x->head.path.path, sr_bytes_str(dialect->path));
    return from < 0 || to < 0 || from == to || !its_own ? -1 : to;
}

static int api_of(const struct sr_target *target)
{
    return target->api ? sr_translate_api_named(target->api) : -1;
}

int sr_exchange_translates(const struct sr_exchange *x, int model)
{
    const struct sr_router_model *of = &x->router->models[model];
    int to = between(x, of->api);
    for (size_t i = 0; of->mixed && to < 0 && i < of->n_targets; i++)
        to = between(x, api_of(&of->targets[i]));
    return to;
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

static void refuse(sr_exchange *x, const char *code, const char *message)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 500, code, NULL, "%s", message);
    sr_exchange_refuse(x, &refusal);
}

void sr_exchange_refuse_translation(sr_exchange *x, int rc, const struct sr_err *err)
{
    struct sr_refusal refusal;
    switch (rc) {
    case SR_ELIMIT:
        sr_refuse_size(&refusal, SR_TRANSLATE_BODY_MAX);
        sr_exchange_refuse(x, &refusal);
        break;
    case SR_EPARSE:
    case SR_EUNSUPPORTED:
        sr_refuse(&refusal, 400, "not_translatable", NULL, "%s", err->message);
        refusal.reason = "not_translatable";
        sr_exchange_refuse(x, &refusal);
        break;
    case SR_EMISMATCH:
        refuse(x, "answer_unseen",
               "the model's upstream speaks another API, and Envoy does not show answers to semroute: set "
               "`response_body_mode` of the filter");
        break;
    case SR_ENOENT:
        refuse(x, "backend_unknown",
               "the model's backends speak different APIs, and Envoy does not tell which one gets the "
               "request: set `global.semroute.extproc.destination_header`");
        break;
    default:
        sr_exchange_refuse_memory(x);
    }
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

/* What is sent is in the API `to`; -1: in the client's. */
static int translate_into(sr_exchange *x, int to, struct sr_err *err)
{
    x->sending = x->untranslated;
    x->translation = NULL;
    x->record.translated = -1;
    x->record.lost = NULL;
    if (to < 0)
        return SR_OK;
    if (x->head.answer_unseen)
        return SR_EMISMATCH;
    const struct sr_request *doc = &x->body.doc;
    struct sr_translation *translation = sr_arena_calloc(&x->arena, 1, sizeof *translation);
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    char *unique = sr_arena_alloc(&x->arena, SR_REQUEST_ID_SIZE);
    if (!translation || !slice || !unique)
        return SR_ENOMEM;
    sr_runtime_request_id(x->runtime, unique);
    translation->client = (enum sr_translate_api)api_of_client(doc->dialect);
    translation->upstream = (enum sr_translate_api)to;
    translation->settings = (struct sr_translate_settings){
        .asked = sr_buf_view(&x->body.bytes),
        .now_s = sr_clock_wall_ns() / SR_NS_PER_S,
        .unique = sr_bytes_str(unique),
        .usage = x->edited.hidden_usage || sr_request_is_true(doc, doc->at.include_usage),
        .counts = doc->dialect->counts != NULL,
        .stores = sr_exchange_keeps_state(x),
    };
    int rc = translate_body(x, translation, err);
    if (rc)
        return rc;
    *slice = sr_buf_view(&x->translated);
    x->sending = (struct sr_sending){slice, 1, slice->n};
    x->translation = translation;
    x->record.translated = to;
    x->record.lost = &translation->lost;
    return SR_OK;
}

/* What all targets of the model get; SR_ENOENT: they get different bodies. */
static int common(const struct sr_exchange *x, const struct sr_router_model *model, int *to)
{
    *to = model->n_targets ? between(x, api_of(&model->targets[0])) : -1;
    for (size_t i = 1; i < model->n_targets; i++)
        if (between(x, api_of(&model->targets[i])) != *to)
            return SR_ENOENT;
    return SR_OK;
}

int sr_exchange_translate_for(sr_exchange *x, const struct sr_target *target, struct sr_err *err)
{
    int to = target ? between(x, api_of(target)) : -1;
    int rc = target ? SR_OK : common(x, &x->router->models[x->record.model], &to);
    if (rc || to == x->record.translated)
        return rc;
    return translate_into(x, to, err);
}

static enum sr_phase_step translate(sr_exchange *x)
{
    struct sr_err err = {.code = 0};
    const struct sr_router_model *model = &x->router->models[x->record.model];
    x->untranslated = x->sending;
    int rc = translate_into(x, model->mixed ? -1 : between(x, model->api), &err);
    if (rc)
        sr_exchange_refuse_translation(x, rc, &err);
    return rc ? SR_PHASE_SETTLED : SR_PHASE_NEXT;
}

const struct sr_phase sr_phase_translate = {.begin = translate};

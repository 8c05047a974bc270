/*
 * The phase that translates a request for a model whose upstream speaks another API. Where it is known to
 * speak the client's, reasoning that other APIs left in the conversation is cut out.
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

/* The API of the client; -1: its request is not translated. */
static int api_of_client(const struct sr_exchange *x)
{
    const struct sr_dialect_ops *dialect = x->body.doc.dialect;
    if (!dialect->path || !sr_bytes_eq(x->head.path.path, sr_bytes_str(dialect->path)))
        return -1;
    return sr_translate_api_named(dialect->counts ? dialect->counts : dialect->name);
}

/* The API into which the request is translated for an upstream that speaks `to`; -1: it is sent as it is. */
static int between(const struct sr_exchange *x, int to)
{
    int from = api_of_client(x);
    return from < 0 || to < 0 || from == to ? -1 : to;
}

/* Is a request in the API of an upstream that speaks `to` cleaned of what that refuses? Of a chat nothing is.
 */
static bool cleans(const struct sr_exchange *x, int to)
{
    return to > SR_TRANSLATE_CHAT && api_of_client(x) == to;
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

bool sr_exchange_cleans(const struct sr_exchange *x, int model)
{
    const struct sr_router_model *of = &x->router->models[model];
    bool found = cleans(x, of->api);
    for (size_t i = 0; of->mixed && i < of->n_targets; i++)
        found |= cleans(x, api_of(&of->targets[i]));
    return found;
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

/* Makes another body in `x->translated`: translated, or without a translation cleaned for the API `own`. */
static int make_body(sr_exchange *x, struct sr_translation *translation, int own,
                     struct sr_translate_warnings *lost, struct sr_err *err)
{
    struct sr_buf joined;
    struct sr_bytes body;
    struct sr_arena arena;
    sr_buf_init(&joined, SR_TRANSLATE_BODY_MAX);
    sr_arena_init(&arena, ARENA_MAX);
    sr_buf_clear(&x->translated);
    int rc = join(x, &joined, &body);
    if (!rc && translation)
        rc = sr_translate_request(translation->client, translation->upstream, body, &translation->settings,
                                  &arena, &x->translated, lost, err);
    else if (!rc)
        rc = sr_translate_clean((enum sr_translate_api)own, body, &arena, &x->translated, lost);
    sr_arena_dispose(&arena);
    sr_buf_dispose(&joined);
    return rc;
}

/* What was made is sent. SR_ENOMEM. */
static int send_made(sr_exchange *x, const struct sr_translate_warnings *lost)
{
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    if (!slice)
        return SR_ENOMEM;
    *slice = sr_buf_view(&x->translated);
    x->sending = (struct sr_sending){slice, 1, slice->n};
    x->record.lost = lost;
    return SR_OK;
}

/* What is sent goes to an upstream of the client's API `own`. A body that is too large to be cleaned is sent
 * as it is. */
static int clean(sr_exchange *x, int own)
{
    if (x->sending.size > SR_TRANSLATE_BODY_MAX)
        return SR_OK;
    struct sr_translate_warnings *lost = sr_arena_calloc(&x->arena, 1, sizeof *lost);
    int rc = lost ? make_body(x, NULL, own, lost, NULL) : SR_ENOMEM;
    return rc == SR_ENOENT ? SR_OK : rc ? rc : send_made(x, lost);
}

/* What is sent is what an upstream that speaks `api` gets; -1: it is not known what it speaks. */
static int make_for(sr_exchange *x, int api, struct sr_err *err)
{
    int to = between(x, api);
    x->sending = x->untranslated;
    x->translation = NULL;
    x->record.translated = -1;
    x->record.lost = NULL;
    x->cleaned = cleans(x, api);
    if (to < 0)
        return x->cleaned ? clean(x, api) : SR_OK;
    if (x->head.answer_unseen)
        return SR_EMISMATCH;
    const struct sr_request *doc = &x->body.doc;
    struct sr_translation *translation = sr_arena_calloc(&x->arena, 1, sizeof *translation);
    char *unique = sr_arena_alloc(&x->arena, SR_REQUEST_ID_SIZE);
    if (!translation || !unique)
        return SR_ENOMEM;
    sr_runtime_request_id(x->runtime, unique);
    translation->client = (enum sr_translate_api)api_of_client(x);
    translation->upstream = (enum sr_translate_api)to;
    translation->settings = (struct sr_translate_settings){
        .asked = sr_buf_view(&x->body.bytes),
        .now_s = sr_clock_wall_ns() / SR_NS_PER_S,
        .unique = sr_bytes_str(unique),
        .usage = x->edited.hidden_usage || sr_request_is_true(doc, doc->at.include_usage),
        .counts = doc->dialect->counts != NULL,
        .stores = sr_exchange_keeps_state(x),
    };
    int rc = make_body(x, translation, -1, &translation->lost, err);
    if (!rc)
        rc = send_made(x, &translation->lost);
    if (rc)
        return rc;
    x->translation = translation;
    x->record.translated = to;
    return SR_OK;
}

/* The API of which all targets of the model get a request; it is cleaned for those that speak the client's.
 * SR_ENOENT: they get requests of different APIs. */
static int common(const struct sr_exchange *x, const struct sr_router_model *model, int *api)
{
    *api = model->n_targets ? api_of(&model->targets[0]) : -1;
    for (size_t i = 1; i < model->n_targets; i++) {
        int other = api_of(&model->targets[i]);
        if (between(x, other) != between(x, *api))
            return SR_ENOENT;
        if (cleans(x, other))
            *api = other;
    }
    return SR_OK;
}

int sr_exchange_translate_for(sr_exchange *x, const struct sr_target *target, struct sr_err *err)
{
    int api = target ? api_of(target) : -1;
    int rc = target ? SR_OK : common(x, &x->router->models[x->record.model], &api);
    if (rc || (between(x, api) == x->record.translated && cleans(x, api) == x->cleaned))
        return rc;
    return make_for(x, api, err);
}

static enum sr_phase_step translate(sr_exchange *x)
{
    struct sr_err err = {.code = 0};
    const struct sr_router_model *model = &x->router->models[x->record.model];
    x->untranslated = x->sending;
    int rc = make_for(x, model->mixed ? -1 : model->api, &err);
    if (rc)
        sr_exchange_refuse_translation(x, rc, &err);
    return rc ? SR_PHASE_SETTLED : SR_PHASE_NEXT;
}

const struct sr_phase sr_phase_translate = {.begin = translate};

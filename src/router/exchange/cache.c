/*
 * The phases of the cache: the answer to the same bytes before any signal, and after the decision the answer
 * to the same question.
 */
#include "router/exchange/cache.h"

#include "router/cache/replay.h"
#include "router/exchange/edit.h"
#include "router/exchange/limit.h"
#include "router/exchange/permit.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"
#include "router/exchange/session.h"
#include "router/exchange/store.h"
#include "router/exchange/tiers.h"
#include "router/exchange/trace.h"

/* Replies with what the cache has. */
static void reply_cached(sr_exchange *x, bool early)
{
    const struct sr_cache_fields *fields = &x->recall.record->f;
    sr_exchange_begin_reply(x, SR_OUTCOME_CACHED, 200, "cache");
    x->record.model_name = x->router->config->models[x->record.model].name;
    sr_exchange_note_cache(x, early);
    int rc = sr_replay_answer(fields, &x->body.doc, x->router, &x->reply);
    if (!rc)
        sr_exchange_store_reply(x, fields->form == SR_CACHE_SSE, true);
    sr_exchange_finish_reply(x, sr_replay_content_type(fields->form), rc);
}

/* ---- before any signal ---- */

/* What decisions read from headers: an answer of another workload, or of another conversation's model, is
 * none to this request. */
static void add_headers(sr_exchange *x, struct sr_recall_env *env)
{
    const struct sr_config_learning *learning = &x->router->config->global.learning;
    if (sr_signals_wants(x->router->signals).workload)
        env->workload = sr_bytes_str(sr_config_workload_name(sr_exchange_workload(x)));
    if (!learning->enabled || !learning->protection.enabled)
        return;
    sr_exchange_name_session(x);
    env->session = x->session.id;
    env->conversation = x->session.conversation;
}

/* Makes the request known to the cache. False: it is not looked up. */
static bool begin_recall(sr_exchange *x)
{
    struct sr_recall_env env = {
        .runtime = x->runtime,
        .router = x->router,
        .exchange = &x->env,
        .mailbox = &x->mailbox,
        .arena = &x->arena,
        .identity = &x->identity,
        .doc = &x->body.doc,
        .target = x->head.path.target,
        .streams = x->body.is_stream,
        .workload = SR_LIT(""),
        .session = SR_LIT(""),
        .conversation = SR_LIT(""),
        .versions = sr_key_texts(x->head.versions, x->head.n_versions, &x->arena),
        .client = sr_identity_client(&x->identity, x->head.peer),
        .origin = sr_exchange_origin(x),
        .done = x->resumed,
        .ctx = x,
    };
    add_headers(x, &env);
    return sr_recall_begin(&x->recall, &env) == SR_OK;
}

static enum sr_phase_step answer_early(sr_exchange *x)
{
    enum sr_phase_step step = sr_exchange_limit_step(x);
    if (step != SR_PHASE_NEXT)
        return step;
    reply_cached(x, true);
    return SR_PHASE_SETTLED;
}

static enum sr_phase_step begin_early(sr_exchange *x)
{
    if (!x->router->caches || x->head.skip || sr_body_is_upload(&x->body) ||
        (x->named && !sr_exchange_caches_named(x)) || !begin_recall(x) || !x->recall.record)
        return SR_PHASE_NEXT;
    struct sr_record before = x->record;
    if (sr_replay_read_verdict(&x->recall.record->f, x->router->config, &x->arena, &x->record) == SR_OK &&
        sr_exchange_may_use(x, x->record.model))
        return answer_early(x);
    x->record = before;
    sr_cache_record_unref(x->recall.record);
    x->recall.record = NULL;
    return SR_PHASE_NEXT;
}

bool sr_exchange_caches_named(const sr_exchange *x)
{
    return x->router->caches && x->router->config->global.cache.use.set && !x->head.skip &&
           !sr_body_is_upload(&x->body);
}

/* It waits for the limits only. */
const struct sr_phase sr_phase_early = {.part = SR_PART_EARLY,
                                        .begin = begin_early,
                                        .end = answer_early,
                                        .deadline_ns = sr_exchange_limit_deadline_ns,
                                        .give_up = sr_exchange_limit_give_up};

/* ---- after the decision ---- */

/* Why the answer to this request must not come from the cache or go into it; NULL: it may. */
static const char *why_uncached(const struct sr_record *r)
{
    const struct sr_signal_result *pii = r->results[SR_SIGNAL_PII];
    bool found = r->guard.types || r->guard.redacted;
    for (size_t i = 0; pii && i < pii->n_hits; i++)
        found |= pii->hits[i].matched;
    if (found)
        return "pii_detected";
    if (r->decision.errors)
        return "degraded";
    return r->guard.action > SR_GUARD_ALLOW ? "guarded" : NULL;
}

/* What the lookup has found, or was found without one. */
static enum sr_phase_step recalled(sr_exchange *x)
{
    sr_exchange_note_cache(x, false);
    if (!x->recall.record || x->recall.purpose != SR_PURPOSE_SERVE)
        return SR_PHASE_NEXT;
    reply_cached(x, false);
    return SR_PHASE_SETTLED;
}

/* Asks the cache, once. */
static enum sr_phase_step begin_recalled(sr_exchange *x)
{
    struct sr_edit_inputs in;
    struct sr_edited edited;
    if (!x->recall.env.runtime || x->recall.asked || sr_exchange_edit_inputs(x, &in))
        return SR_PHASE_NEXT;
    in.hides_usage = false; /* the answer is the same with the usage and without */
    if (sr_edit_body(&in, &x->arena, &edited))
        return SR_PHASE_NEXT;
    struct sr_recall_decided decided = {
        .decision = in.decision,
        .model = x->router->config->models[x->record.model].name,
        .slices = edited.slices,
        .n_slices = edited.n_slices,
        .why_not = why_uncached(&x->record),
    };
    int rc = sr_recall_start(&x->recall, &decided);
    if (rc == SR_AGAIN)
        return SR_PHASE_WAITS;
    if (rc == SR_OK)
        return recalled(x);
    sr_exchange_note_cache(x, false);
    return SR_PHASE_NEXT;
}

static uint64_t deadline_ns(const sr_exchange *x)
{
    return x->recall.deadline_ns;
}

static void give_up(sr_exchange *x)
{
    sr_recall_deadline(&x->recall);
}

const struct sr_phase sr_phase_recall = {.part = SR_PART_CACHE,
                                         .begin = begin_recalled,
                                         .end = recalled,
                                         .deadline_ns = deadline_ns,
                                         .give_up = give_up,
                                         .hurries = true};

/* The last phases: waits for what the policy that picks the worker needs, and makes the verdict to forward.
 */
#include "router/exchange/send.h"

#include "router/exchange/pick.h"
#include "router/exchange/place.h"
#include "router/exchange/reply.h"
#include "router/exchange/tiers.h"
#include "router/exchange/translate.h"
#include "router/reply/headers.h"

/* ---- what the policy needs ---- */

static enum sr_phase_step begin_pick(sr_exchange *x)
{
    sr_exchange_rank_pools(x);
    return sr_exchange_awaits_pick(x, x->sending.slices, x->sending.n) ? SR_PHASE_WAITS : SR_PHASE_NEXT;
}

static enum sr_phase_step end_pick(sr_exchange *x)
{
    sr_pick_go_on(&x->pick);
    return SR_PHASE_NEXT;
}

static uint64_t deadline_ns(const sr_exchange *x)
{
    return x->pick.deadline_ns;
}

static void give_up(sr_exchange *x)
{
    sr_pick_go_on(&x->pick);
}

const struct sr_phase sr_phase_pick = {.part = SR_PART_PICK,
                                       .begin = begin_pick,
                                       .end = end_pick,
                                       .deadline_ns = deadline_ns,
                                       .give_up = give_up,
                                       .own_work = true,
                                       .hurries = true};

/* ---- the verdict ---- */

/* Where the upstream counts the tokens of a translated request: workers may have a path of their own. */
static struct sr_bytes count_path(const sr_exchange *x)
{
    const struct sr_router_pool *pool = sr_exchange_pool(x);
    const char *own =
        pool->entry && x->translation->upstream == SR_TRANSLATE_CHAT ? pool->entry->kv_events.tokenize : "";
    return sr_bytes_str(own[0] ? own : sr_translate_path(x->translation->upstream, true));
}

/* The path of the upstream's request; `p` NULL when it is out of memory. */
static struct sr_bytes target_of(sr_exchange *x, const struct sr_router_model *model)
{
    if (x->translation && x->translation->settings.counts)
        return count_path(x);
    bool chat =
        x->translation ? x->translation->upstream == SR_TRANSLATE_CHAT : x->body.doc.dialect->takes_chat_path;
    if (x->translation && !(chat && model->chat_path.n))
        return sr_bytes_str(sr_translate_path(x->translation->upstream, false));
    if (!model->chat_path.n || !chat)
        return x->head.path.target;
    return sr_bytes_str(sr_arena_printf(&x->arena, "%s%.*s", model->chat_path.p, (int)x->head.path.query.n,
                                        x->head.path.query.p));
}

int sr_exchange_set_headers(sr_exchange *x)
{
    struct sr_verdict *v = &x->verdict;
    struct sr_header_edits headers;
    int rc = sr_headers_upstream(&x->record, &x->head, x->router, &x->arena, &headers);
    if (rc)
        return rc;
    v->set_headers = headers.set;
    v->n_set_headers = headers.n_set;
    v->remove_headers = headers.remove;
    v->n_remove_headers = headers.n_remove;
    return SR_OK;
}

/* What is sent, and where. SR_ENOMEM. */
static int put_request(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_verdict *v = &x->verdict;
    r->edited = v->edited =
        r->edits != 0 || x->sending.slices != x->untranslated.slices || x->inflate || x->stored.previous.n;
    r->body = sr_buf_view(&x->body.bytes);
    r->sent = v->body = x->sending.slices;
    r->n_sent = v->n_body = x->sending.n;
    v->body_size = x->sending.size;
    v->target = target_of(x, &x->router->models[r->model]);
    return v->target.n ? sr_exchange_set_headers(x) : SR_ENOMEM;
}

int sr_exchange_aim(sr_exchange *x, int target, struct sr_err *err)
{
    const struct sr_bytes *before = x->sending.slices;
    if (!x->router->models[x->record.model].mixed || x->verdict.streaming)
        return SR_OK;
    int rc = sr_exchange_translate_for(x, target < 0 ? NULL : &x->verdict.targets[target], err);
    if (rc == SR_OK && x->sending.slices == before)
        return SR_OK;
    int put = put_request(x);
    return rc ? rc : put;
}

static enum sr_phase_step send(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_config_decision *decision = sr_record_decision(r, x->router->config);
    struct sr_exchange_place place;
    r->action = SR_ACTION_FORWARD;
    r->decision_name = decision ? decision->name : "";
    r->category = r->automatic ? r->decision.category_name : "";
    r->confidence = decision || r->automatic ? (double)r->decision.confidence : 0;
    r->model_name = x->router->config->models[r->model].name;
    if (put_request(x) || sr_exchange_open_place(x, sr_exchange_pool(x), &place)) {
        sr_exchange_refuse_memory(x);
        return SR_PHASE_SETTLED;
    }
    sr_exchange_take_place(x, &place);
    sr_exchange_publish(x);
    return SR_PHASE_SETTLED;
}

const struct sr_phase sr_phase_send = {.begin = send};

/*
 * Makes the verdict from the results of the stages: a reply, or targets, headers and a body to forward.
 *
 * Facts are written to the record first; headers and the door's struct sr_verdict are made from the
 * record.
 */
#include "router/exchange_verdict.h"

#include "base/clock.h"
#include "base/hash.h"
#include "router/cache/replay.h"
#include "router/exchange_key.h"
#include "router/exchange_limit.h"
#include "router/exchange_pick.h"
#include "router/exchange_record.h"
#include "router/exchange_tiers.h"
#include "router/reply/headers.h"
#include "router/reply/models.h"
#include "router/reply/reply.h"
#include "router/route/guard_block.h"

#include <stdio.h>

#define RETRY_AFTER_MAX_S 10u /* what waits has a deadline */

/* Fills the door's struct sr_verdict from the record. */
static void publish(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_verdict *v = &x->verdict;
    v->action = r->action;
    v->outcome = r->outcome;
    v->decision = r->decision_name;
    v->category = r->category;
    v->confidence = r->confidence;
    v->reasoning = r->reasoning;
    v->effort = r->effort;
    v->model = r->model_name;
    v->edited = r->edited;
    v->status = r->status;
    v->reply = r->reply;
    r->has_verdict = true;
    x->state = SR_EXCHANGE_SETTLED;
}

/* ---- replies ---- */

static void begin_reply(sr_exchange *x, enum sr_outcome outcome, int status, const char *path)
{
    struct sr_record *r = &x->record;
    r->action = SR_ACTION_REPLY;
    r->outcome = outcome;
    r->status = status;
    r->response_path = path;
    r->edited = false;
    r->n_sent = 0;
    x->verdict.streaming = false;
    x->verdict.n_body = 0;
    x->verdict.body_size = 0;
    sr_buf_clear(&x->reply);
}

/* Makes the verdict from the reply buffer, whose writer returned `rc`; when out of memory the reply is a
 * constant. */
static void finish_reply(sr_exchange *x, const char *content_type, int rc)
{
    struct sr_record *r = &x->record;
    struct sr_verdict *v = &x->verdict;
    if (!rc)
        rc = sr_headers_reply(r, x->router->config, content_type, &x->arena, &v->headers, &v->n_headers);
    r->reply = sr_buf_view(&x->reply);
    if (rc) {
        struct sr_reply_constant constant = sr_reply_out_of_memory();
        r->outcome = SR_OUTCOME_SHED;
        r->status = 503;
        r->error_code = "out_of_memory";
        r->reply = constant.body;
        v->headers = constant.headers;
        v->n_headers = constant.n_headers;
    }
    publish(x);
}

/* When what waits is done. */
static unsigned retry_after_s(const sr_exchange *x)
{
    uint64_t seconds = sr_runtime_rest_ns(x->runtime) / SR_NS_PER_S + 1;
    return (unsigned)(seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S);
}

void sr_exchange_refuse(sr_exchange *x, const struct sr_refusal *refusal)
{
    struct sr_record *r = &x->record;
    int status = refusal->status;
    enum sr_outcome outcome = refusal->blocked                 ? SR_OUTCOME_BLOCKED
                              : status == 503 || status == 429 ? SR_OUTCOME_SHED
                              : status >= 500                  ? SR_OUTCOME_FAILED
                                                               : SR_OUTCOME_REFUSED;
    r->error_code = refusal->code;
    if (refusal->reason)
        r->error_reason = refusal->reason;
    r->allow = refusal->allow;
    r->retry_after_s = status == 503 ? retry_after_s(x) : refusal->retry_after_s;
    begin_reply(x, outcome, status, refusal->path ? refusal->path : refusal->blocked ? "blocked" : "error");
    finish_reply(x, "application/json", sr_reply_error(x->body.doc.dialect, refusal, &x->reply));
}

static void refuse_memory(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse_memory(&refusal);
    sr_exchange_refuse(x, &refusal);
}

/* Others leave no time to read what the guards need. */
static void refuse_busy(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse_busy(&refusal);
    sr_exchange_refuse(x, &refusal);
    sr_runtime_tell(x->runtime, sr_identity_client(&x->identity, x->head.peer),
                    sr_clock_ns() + x->record.retry_after_s * SR_NS_PER_S);
}

static void reply_message(sr_exchange *x, struct sr_reply_message message)
{
    message.stream = x->body.is_stream;
    finish_reply(x, message.stream ? "text/event-stream" : "application/json",
                 sr_reply_message(&x->body.doc, &message, &x->reply));
}

void sr_exchange_reply_models(sr_exchange *x)
{
    begin_reply(x, SR_OUTCOME_LOCAL, 200, NULL);
    finish_reply(x, "application/json", sr_reply_models(x->router, &x->identity, &x->reply));
}

void sr_exchange_reply_model(sr_exchange *x, struct sr_bytes escaped_id)
{
    struct sr_refusal refusal;
    begin_reply(x, SR_OUTCOME_LOCAL, 200, NULL);
    int rc = sr_reply_model(x->router, &x->identity, escaped_id, &x->arena, &refusal, &x->reply);
    if (rc == SR_ENOENT)
        sr_exchange_refuse(x, &refusal);
    else
        finish_reply(x, "application/json", rc);
}

/* Makes the reply of a request that a guard or a policy blocks. */
static void block(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_guard_block block;
    int rc = sr_guard_block(&x->routing.guard, &block);
    r->decision_name = block.name;
    r->confidence = (double)r->guard.confidence;
    r->error_reason = block.reason;
    if (rc) {
        refuse_memory(x);
        return;
    }
    if (block.status == 200) {
        r->error_code = block.code;
        begin_reply(x, SR_OUTCOME_BLOCKED, 200, "blocked");
        reply_message(x, (struct sr_reply_message){sr_bytes_str(block.message), "blocked", "security-filter",
                                                   "content_filter", false});
        return;
    }
    struct sr_refusal refusal;
    sr_refuse(&refusal, block.status, block.code, NULL, "%s", block.message);
    refusal.type = block.status == 503 ? NULL : "invalid_request_error";
    refusal.blocked = block.status != 503 && block.status != 413;
    sr_exchange_refuse(x, &refusal);
}

/* ---- forwarding ---- */

/* The path of the upstream's request; `p` NULL when it is out of memory. */
static struct sr_bytes target_of(sr_exchange *x, const struct sr_router_model *model)
{
    if (!model->chat_path.n || !x->body.doc.dialect->takes_chat_path)
        return x->head.path.target;
    return sr_bytes_str(sr_arena_printf(&x->arena, "%s%.*s", model->chat_path.p, (int)x->head.path.query.n,
                                        x->head.path.query.p));
}

bool sr_exchange_may_use(const sr_exchange *x, int model)
{
    if (!sr_identity_may_use(&x->identity, x->router->config, model))
        return false;
    struct sr_bytes own;
    if (sr_exchange_key_for(x, model, &own) == SR_KEY_INJECTED)
        return true; /* it uses no key of the operator */
    return !x->identity.anonymous || x->router->config->global.access.allow_anonymous ||
           !x->router->models[model].has_key;
}

/* The client's key or tenant does not have the record's model. */
static void refuse_model(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 403, SR_CODE_MODEL, "model",
              "this client may not use model `%s`; GET /v1/models lists those that it may use",
              x->router->config->models[x->record.model].name);
    refusal.type = "permission_error";
    refusal.reason = "model_not_allowed";
    sr_exchange_refuse(x, &refusal);
}

/* No provider of authz has a key for the upstream. */
static void refuse_no_key(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 401, "missing_upstream_key", NULL,
              "Authentication failed. Check your API key configuration: no provider of global.services.authz "
              "has a key for model `%s`",
              x->router->config->models[x->record.model].name);
    refusal.reason = "authentication_failed";
    sr_exchange_refuse(x, &refusal);
}

static void refuse_anonymous(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(
        &refusal, 401, "anonymous_client", NULL,
        "model `%s` needs a known client: the operator gives keys in global.semroute.identity.keys, names "
        "a trusted header in global.semroute.guards.tenant_header, or sets "
        "global.semroute.allow_anonymous",
        x->router->config->models[x->record.model].name);
    refusal.reason = "anonymous_client";
    sr_exchange_refuse(x, &refusal);
}

bool sr_exchange_picks_by_body(const struct sr_exchange *x, int model)
{
    const struct sr_router_pool *pool = &x->router->models[model].pools[0];
    uint32_t needs = sr_pool_group_needs(pool->group);
    return x->router->models[model].n_pools > 1 || (needs & SR_POOL_NEEDS_PROMPT) ||
           ((needs & SR_POOL_NEEDS_SESSION) && !sr_exchange_session(x, pool->entry).n);
}

/* The place of the request in the queue of its pool: the header's, or its decision's. */
static int priority_of(const sr_exchange *x, const struct sr_config_pool *pool)
{
    int priority = 0;
    if (!pool || (pool->queue.priority_header[0] &&
                  sr_config_priority(sr_head_named(&x->head, pool->queue.priority_header), &priority)))
        return priority;
    const struct sr_name_values *given = &pool->queue.priorities;
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->items[i].name, x->record.decision_name) == 0 &&
            sr_config_priority(sr_bytes_str(given->items[i].value), &priority))
            return priority;
    return 0;
}

/* Opens a ticket of the pool, with what its policy needs. SR_ENOMEM. */
static int open_ticket(sr_exchange *x, const struct sr_router_pool *pool, struct sr_ticket *ticket)
{
    const struct sr_pool_ask *ask;
    int rc = sr_ticket_open(ticket, pool->group, &x->arena);
    ticket->priority = priority_of(x, pool->entry);
    if (rc == SR_OK)
        rc = sr_exchange_ask(x, pool, &ask);
    if (rc == SR_OK)
        sr_ticket_ask(ticket, ask);
    return rc;
}

/* The targets of a pool whose workers are discovered: those of its ticket. */
static int discovered_targets(sr_exchange *x, struct sr_exchange_place *place)
{
    static const struct sr_target plain = {.struct_size = sizeof plain,
                                           .scheme = "http",
                                           .base_path = "",
                                           .tls_ca_file = "",
                                           .tls_verify = true,
                                           .weight = 1};
    const struct sr_router_model *model = &x->router->models[x->record.model];
    struct sr_target *targets = sr_arena_calloc(&x->arena, place->ticket.n + 1, sizeof *targets);
    int rc = targets ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; i < place->ticket.n && rc == SR_OK; i++)
        rc = sr_exchange_worker_target(&targets[i], model->n_targets ? &model->targets[0] : &plain,
                                       sr_ticket_worker(&place->ticket, i), &x->arena);
    place->targets = targets;
    place->n_targets = place->ticket.n;
    return rc;
}

int sr_exchange_open_place(sr_exchange *x, const struct sr_router_pool *pool, struct sr_exchange_place *out)
{
    *out = (struct sr_exchange_place){.targets = pool->targets, .n_targets = pool->n_targets};
    out->ticket.at = -1;
    int rc = open_ticket(x, pool, &out->ticket);
    if (!rc && pool->discovered)
        rc = discovered_targets(x, out);
    struct sr_bytes value;
    if (!rc && sr_exchange_key_for(x, x->record.model, &value) == SR_KEY_INJECTED)
        rc = sr_exchange_key_inject(x, value, &out->targets, out->n_targets);
    if (rc)
        sr_ticket_dispose(&out->ticket);
    return rc;
}

void sr_exchange_take_place(sr_exchange *x, const struct sr_exchange_place *place)
{
    x->ticket = place->ticket;
    x->verdict.ticket = &x->ticket;
    x->verdict.targets = place->targets;
    x->verdict.n_targets = place->n_targets;
}

bool sr_exchange_renew(sr_exchange *x)
{
    struct sr_ticket before = x->ticket;
    struct sr_exchange_place place;
    if (!sr_exchange_pool(x)->discovered || !sr_ticket_is_stale(&before) ||
        sr_exchange_open_place(x, sr_exchange_pool(x), &place))
        return false;
    sr_exchange_take_place(x, &place);
    sr_ticket_take_over(&x->ticket, &before);
    return true;
}

/* The mailbox of the exchange; NULL: there is none, and nothing can be waited for. */
static struct sr_mailbox *mailbox_of(sr_exchange *x)
{
    if (x->env.post && !x->mailbox && sr_mailbox_new(&x->mailbox, x->env.post, x->env.ctx))
        x->mailbox = NULL;
    return x->env.post ? x->mailbox : NULL;
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

/* Forwards these slices to the record's model. */
static void forward(sr_exchange *x, const struct sr_bytes *slices, size_t n, size_t size)
{
    struct sr_record *r = &x->record;
    struct sr_verdict *v = &x->verdict;
    const struct sr_config_decision *decision = sr_record_decision(r, x->router->config);
    struct sr_exchange_place place;
    struct sr_bytes own;
    if (!sr_identity_may_use(&x->identity, x->router->config, r->model)) {
        refuse_model(x);
        return;
    }
    if (!sr_exchange_may_use(x, r->model)) {
        refuse_anonymous(x);
        return;
    }
    enum sr_exchange_key key = sr_exchange_key_for(x, r->model, &own);
    if (key == SR_KEY_MISSING) {
        refuse_no_key(x);
        return;
    }
    x->head.injects = key == SR_KEY_INJECTED;
    sr_exchange_rank_pools(x);
    if (sr_exchange_awaits_pick(x, slices, n)) {
        x->sending = slices;
        x->n_sending = n;
        x->sending_size = size;
        x->state = SR_EXCHANGE_WAITING;
        return;
    }
    r->action = SR_ACTION_FORWARD;
    r->decision_name = decision ? decision->name : "";
    r->category = r->automatic ? r->decision.category_name : "";
    r->confidence = decision || r->automatic ? (double)r->decision.confidence : 0;
    r->model_name = x->router->config->models[r->model].name;
    r->edited = r->edits != 0;
    r->body = sr_buf_view(&x->body.bytes);
    r->sent = v->body = slices;
    r->n_sent = v->n_body = n;
    v->body_size = size;
    v->target = target_of(x, &x->router->models[r->model]);
    if (!v->target.n || sr_exchange_set_headers(x) ||
        sr_exchange_open_place(x, sr_exchange_pool(x), &place)) {
        refuse_memory(x);
        return;
    }
    sr_exchange_take_place(x, &place);
    publish(x);
}

void sr_exchange_send(sr_exchange *x)
{
    sr_pick_go_on(&x->pick);
    forward(x, x->sending, x->n_sending, x->sending_size);
}

/* Asks the limits. True: the request is refused, or their answer is awaited. */
static bool limited(sr_exchange *x, enum sr_exchange_then then, bool named)
{
    struct sr_refusal refusal;
    if (!sr_exchange_may_use(x, x->record.model))
        return false; /* it is refused for that */
    switch (sr_exchange_limit(x)) {
    case SR_LIMITING_OPEN:
    case SR_LIMITING_PASSED:
        return false;
    case SR_LIMITING_WAITS:
        x->then = then;
        x->named = named;
        return true;
    case SR_LIMITING_REFUSED:
    case SR_LIMITING_AWAY:
        break;
    }
    sr_exchange_limit_refusal(x, &refusal);
    sr_exchange_refuse(x, &refusal);
    return true;
}

void sr_exchange_forward(sr_exchange *x)
{
    if (limited(x, SR_THEN_FORWARD, true))
        return;
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    x->record.outcome = SR_OUTCOME_PASSED;
    if (!slice) {
        refuse_memory(x);
        return;
    }
    *slice = sr_buf_view(&x->body.bytes);
    forward(x, slice, slice->n ? 1 : 0, slice->n);
}

/* What the edits of the body are made from. */
static int edit_inputs(const sr_exchange *x, bool named, struct sr_edit_inputs *in)
{
    const struct sr_guard *guard = &x->routing.guard;
    *in = (struct sr_edit_inputs){
        .router = x->router,
        .doc = &x->body.doc,
        .root_open = sr_scan_root_open(x->body.scan),
        .model = x->record.model,
        .choice = &x->record.choice,
        .decision = sr_record_decision(&x->record, x->router->config),
        .effort = x->record.effort,
        .named = named,
        .hides_usage = !x->head.skip && !x->head.answer_unseen,
        .tools = x->tools.begun ? &x->tools.plan : NULL,
        .units = &guard->units,
    };
    return sr_guard_redactions(guard, &in->redactions, &in->n_redactions);
}

/* ---- the cache ---- */

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

/* Replies with what the cache has. */
static void reply_cached(sr_exchange *x, bool early)
{
    const struct sr_cache_fields *fields = &x->recall.record->f;
    begin_reply(x, SR_OUTCOME_CACHED, 200, "cache");
    x->record.model_name = x->router->config->models[x->record.model].name;
    sr_exchange_note_cache(x, early);
    finish_reply(x, sr_replay_content_type(fields->form),
                 sr_replay_answer(fields, &x->body.doc, x->router, &x->reply));
}

bool sr_exchange_reply_early(sr_exchange *x)
{
    struct sr_record before = x->record;
    if (!x->recall.record)
        return false;
    if (sr_replay_read_verdict(&x->recall.record->f, x->router->config, &x->arena, &x->record) ||
        !sr_exchange_may_use(x, x->record.model)) {
        x->record = before;
        sr_cache_record_unref(x->recall.record);
        x->recall.record = NULL;
        return false;
    }
    if (!limited(x, SR_THEN_CACHED, false))
        reply_cached(x, true);
    return true;
}

/* Asks the cache, once. True: it has answered, or its answer is awaited. */
static bool recalls(sr_exchange *x, bool named)
{
    struct sr_edit_inputs in;
    struct sr_edited edited;
    if (!x->recall.env.runtime || x->recall.asked || !sr_exchange_may_use(x, x->record.model))
        return false;
    int rc = edit_inputs(x, named, &in);
    in.hides_usage = false; /* the answer is the same with the usage and without */
    if (rc || sr_edit_body(&in, &x->arena, &edited))
        return false;
    struct sr_recall_decided decided = {
        .decision = in.decision,
        .model = x->router->config->models[x->record.model].name,
        .slices = edited.slices,
        .n_slices = edited.n_slices,
        .why_not = why_uncached(&x->record),
    };
    rc = sr_recall_start(&x->recall, &decided);
    if (rc == SR_AGAIN) {
        x->named = named;
        x->state = SR_EXCHANGE_WAITING;
        return true;
    }
    sr_exchange_note_cache(x, false);
    if (rc || !x->recall.record || x->recall.purpose == SR_PURPOSE_EXPLAIN)
        return false;
    reply_cached(x, false);
    return true;
}

/* ---- edits ---- */

/* Edits the body for the record's model and forwards it. */
static void edit(sr_exchange *x, bool named)
{
    uint64_t start = sr_clock_ns();
    struct sr_edit_inputs in;
    if (limited(x, SR_THEN_EDIT, named) || recalls(x, named))
        return;
    int rc = edit_inputs(x, named, &in);
    if (!rc)
        rc = sr_edit_body(&in, &x->arena, &x->edited);
    x->record.times.edit_ns = sr_clock_ns() - start;
    sr_exchange_note_edits(x);
    if (rc == SR_ECONFLICT || rc == SR_ELIMIT) {
        struct sr_refusal refusal;
        sr_refuse(&refusal, 400, "too_complex", NULL, "the request has too many members to be edited");
        sr_exchange_refuse(x, &refusal);
    } else if (rc) {
        refuse_memory(x);
    } else {
        forward(x, x->edited.slices, x->edited.n_slices, x->edited.size);
    }
}

void sr_exchange_recalled(sr_exchange *x)
{
    sr_exchange_note_cache(x, false);
    if (x->recall.record && x->recall.purpose == SR_PURPOSE_SERVE)
        reply_cached(x, false);
    else
        edit(x, x->named);
}

void sr_exchange_limited(sr_exchange *x)
{
    if (x->then == SR_THEN_FORWARD)
        sr_exchange_forward(x);
    else if (x->then == SR_THEN_EDIT)
        edit(x, x->named);
    else if (!limited(x, SR_THEN_CACHED, false))
        reply_cached(x, true);
}

void sr_exchange_forward_named(sr_exchange *x)
{
    x->record.outcome = SR_OUTCOME_PASSED;
    edit(x, true);
}

/* ---- tools ---- */

void sr_exchange_tools_chosen(sr_exchange *x)
{
    const struct sr_record *r = &x->record;
    int rc = sr_tool_choice_end(&x->tools,
                                sr_bytes_str(r->decision.category_name ? r->decision.category_name : ""),
                                (double)r->decision.confidence);
    sr_exchange_note_tools(x);
    if (rc)
        refuse_memory(x);
    else
        edit(x, false);
}

/* Chooses the tools of the request where the decision's plugins say so, then edits it. */
static void choose_tools(sr_exchange *x, const struct sr_config_decision *decision)
{
    const struct sr_config *config = x->router->config;
    if (!decision || !x->body.doc.dialect->has_messages || !sr_tools_asked(config, &decision->plugins)) {
        edit(x, false);
        return;
    }
    struct sr_tool_choice_in in = {
        .box = x->router->tools,
        .config = config,
        .plugins = &decision->plugins,
        .doc = &x->body.doc,
        .client = sr_identity_client(&x->identity, x->head.peer),
        .mailbox = mailbox_of(x),
        .arena = &x->arena,
    };
    int rc = sr_tool_choice_begin(&x->tools, &in);
    if (rc == SR_AGAIN)
        x->state = SR_EXCHANGE_WAITING;
    else if (rc)
        refuse_memory(x);
    else
        sr_exchange_tools_chosen(x);
}

/* ---- decisions ---- */

/* Continues with a request that named its model and passed the guards. */
static void guarded(sr_exchange *x)
{
    if (x->record.guard.action == SR_GUARD_BLOCK) {
        block(x);
        return;
    }
    x->record.outcome = x->record.decision.errors ? SR_OUTCOME_DEGRADED : SR_OUTCOME_PASSED;
    edit(x, true);
}

/* Goes on to the best candidate that the client may use; without one the first stays, and is refused. */
static void choose_permitted(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_choice first = r->choice;
    while (r->choice.model >= 0 && !sr_identity_may_use(&x->identity, x->router->config, r->choice.model)) {
        if (sr_routing_next(&x->routing)) {
            r->choice = first;
            return;
        }
        r->choice = x->routing.choice;
    }
}

/* Chooses the model and its reasoning. False: there is no model. */
static bool choose(sr_exchange *x, const struct sr_config_decision *decision)
{
    struct sr_record *r = &x->record;
    choose_permitted(x);
    r->model = r->choice.model;
    if (r->model < 0)
        return false;
    r->outcome = r->decision.errors ? SR_OUTCOME_DEGRADED : decision ? SR_OUTCOME_ROUTED : SR_OUTCOME_DEFAULT;
    r->reasoning = decision && r->choice.use_reasoning;
    if (r->reasoning) {
        const char *effort = r->choice.effort[0] ? r->choice.effort : x->router->config->default_effort;
        r->effort = effort[0] ? effort : "medium";
    }
    return true;
}

static void routed(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_config_decision *decision = sr_record_decision(r, x->router->config);
    r->decision_name = decision ? decision->name : "";
    r->category = r->decision.category_name;
    r->confidence = (double)r->decision.confidence;
    if (r->guard.action == SR_GUARD_BLOCK) {
        block(x);
    } else if (decision && decision->plugins.fast_response.set) {
        begin_reply(x, SR_OUTCOME_FAST, 200, "fast_response");
        reply_message(x, (struct sr_reply_message){sr_bytes_str(decision->plugins.fast_response.message),
                                                   "fast", "router", "stop", false});
    } else if (choose(x, decision)) {
        choose_tools(x, decision);
    } else if (r->ranking && r->ranking->refused) {
        struct sr_refusal refusal;
        sr_refuse(&refusal, 503, "no_eligible_model", NULL,
                  "every candidate of decision `%s` is beyond a limit of its algorithm", r->decision_name);
        refusal.reason = "no_eligible_model";
        sr_exchange_refuse(x, &refusal);
    } else {
        struct sr_refusal refusal;
        sr_refuse(&refusal, 400, "no_model_selected", "model",
                  "unable to route request: no model selected and no default model configured");
        refusal.reason = "no_model_selected";
        sr_exchange_refuse(x, &refusal);
    }
}

void sr_exchange_decided(sr_exchange *x, int rc)
{
    struct sr_record *r = &x->record;
    sr_exchange_note_routing(x);
    if (rc == SR_EBUSY) {
        refuse_busy(x);
        return;
    }
    if (rc) {
        refuse_memory(x);
        return;
    }
    if (r->decision.errors && !r->error_reason)
        r->error_reason = "classification_failed";
    if (r->automatic || r->decision.decision >= 0)
        routed(x);
    else
        guarded(x);
}

void sr_exchange_forward_next(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_ticket before = x->ticket;
    x->ticket = (struct sr_ticket){.at = -1};
    r->failovers++;
    r->choice = x->routing.choice;
    r->effort = "";
    if (choose(x, sr_record_decision(r, x->router->config)))
        edit(x, false);
    if (x->ticket.group) { /* the place in the retry budget goes over to it */
        x->ticket.retries = before.retries;
        before.retries = false;
    }
    sr_ticket_dispose(&before);
    sr_exchange_note_placed(x);
}

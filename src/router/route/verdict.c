/*
 * Verdicts that send a request on: which targets, headers and body it goes out with.
 */
#include "base/clock.h"
#include "router/edit/edit.h"
#include "router/exchange.h"
#include "router/reply/reply.h"

void sr_exchange_refuse_memory(sr_exchange *x)
{
    sr_reply_error(x, (struct sr_error_reply){503, NULL, "out_of_memory", NULL},
                   "the request needs more memory than one request may use");
}

static void fill_verdict(sr_exchange *x)
{
    struct sr_verdict *v = &x->verdict;
    const struct sr_router_model *model = &x->router->models[x->model];
    const struct sr_config_decision *decision = sr_exchange_decision(x);
    v->action = SR_ACTION_FORWARD;
    v->decision = decision ? decision->name : "";
    v->category = x->automatic ? x->decision.category_name : "";
    v->confidence = decision || x->automatic ? (double)x->decision.confidence : 0;
    v->model = sr_exchange_model(x)->name;
    v->targets = model->targets;
    v->n_targets = model->n_targets;
    v->target = x->head.target;
    if (model->chat_path.n && x->doc.dialect->takes_chat_path) {
        const char *path =
            sr_arena_printf(&x->arena, "%s%.*s", model->chat_path.p, (int)x->head.query.n, x->head.query.p);
        v->target = sr_bytes_str(path);
    }
    v->ticket = &x->ticket;
    if (!v->target.n || sr_headers_upstream(x) || sr_ticket_open(&x->ticket, model->group, &x->arena)) {
        sr_exchange_refuse_memory(x);
        return;
    }
    x->has_verdict = true;
    x->state = SR_EXCHANGE_SETTLED;
}

void sr_exchange_forward(sr_exchange *x)
{
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    if (!slice) {
        sr_exchange_refuse_memory(x);
        return;
    }
    *slice = sr_buf_view(&x->body);
    x->verdict.body = slice;
    x->verdict.n_body = slice->n ? 1 : 0;
    x->verdict.body_size = slice->n;
    fill_verdict(x);
}

void sr_exchange_edit(sr_exchange *x, int (*edit)(sr_exchange *x))
{
    uint64_t start = sr_clock_ns();
    int rc = edit(x);
    x->record.times.edit_ns = sr_clock_ns() - start;
    if (rc == SR_ECONFLICT || rc == SR_ELIMIT)
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "too_complex", NULL},
                       "the request has too many members to be edited");
    else if (rc)
        sr_exchange_refuse_memory(x);
    else
        fill_verdict(x);
}

void sr_exchange_guarded(sr_exchange *x)
{
    if (sr_guard_action(x) == SR_GUARD_BLOCK) {
        sr_guard_block(x);
        return;
    }
    x->verdict.outcome = x->decision.errors ? SR_OUTCOME_DEGRADED : SR_OUTCOME_PASSED;
    sr_exchange_edit(x, sr_edit_named);
}

void sr_exchange_routed(sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    const struct sr_config_decision *decision = sr_exchange_decision(x);
    struct sr_verdict *v = &x->verdict;
    v->decision = decision ? decision->name : "";
    v->category = x->decision.category_name;
    v->confidence = (double)x->decision.confidence;
    if (sr_guard_action(x) == SR_GUARD_BLOCK) {
        sr_guard_block(x);
        return;
    }
    if (decision && decision->plugins.fast_response.set) {
        sr_reply_fast(x, decision->plugins.fast_response.message);
        return;
    }
    x->model = x->choice.model;
    if (x->model < 0) {
        x->error_reason = "no_model_selected";
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "no_model_selected", "model"},
                       "unable to route request: no model selected and no default model configured");
        return;
    }
    v->outcome = x->decision.errors ? SR_OUTCOME_DEGRADED : decision ? SR_OUTCOME_ROUTED : SR_OUTCOME_DEFAULT;
    v->reasoning = decision && x->choice.use_reasoning;
    v->effort = "";
    if (v->reasoning) {
        const char *effort = x->choice.effort[0] ? x->choice.effort : config->default_effort;
        v->effort = effort[0] ? effort : "medium";
    }
    sr_exchange_edit(x, sr_edit_body);
}

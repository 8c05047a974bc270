/*
 * The phase of signals and decisions: starts the routing, waits for it, and makes of its result a block, a
 * message, or the choice of a model.
 */
#include "router/exchange/route.h"

#include "base/clock.h"
#include "base/hash.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"
#include "router/exchange/session.h"
#include "router/exchange/tiers.h"
#include "router/exchange/trace.h"
#include "router/route/guard_block.h"

/* A client that comes back before the time that it was told hears that there is no room after so long. */
#define REFUSAL_PAUSE_NS SR_NS_PER_S

/* ---- the result ---- */

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
        sr_exchange_refuse_memory(x);
        return;
    }
    if (block.status == 200) {
        r->error_code = block.code;
        sr_exchange_begin_reply(x, SR_OUTCOME_BLOCKED, 200, "blocked");
        sr_exchange_reply_message(x, (struct sr_reply_message){sr_bytes_str(block.message), "blocked",
                                                               "security-filter", "content_filter", false});
        return;
    }
    struct sr_refusal refusal;
    sr_refuse(&refusal, block.status, block.code, NULL, "%s", block.message);
    refusal.type = block.status == 503 ? NULL : "invalid_request_error";
    refusal.blocked = block.status != 503 && block.status != 413;
    sr_exchange_refuse(x, &refusal);
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

static void refuse_without_model(sr_exchange *x)
{
    const struct sr_record *r = &x->record;
    struct sr_refusal refusal;
    if (r->ranking && r->ranking->refused) {
        sr_refuse(&refusal, 503, "no_eligible_model", NULL,
                  "every candidate of decision `%s` is beyond a limit of its algorithm", r->decision_name);
        refusal.reason = "no_eligible_model";
    } else {
        sr_refuse(&refusal, 400, "no_model_selected", "model",
                  "unable to route request: no model selected and no default model configured");
        refusal.reason = "no_model_selected";
    }
    sr_exchange_refuse(x, &refusal);
}

/* Continues with a request that named its model and was read by guards. */
static enum sr_phase_step guarded(sr_exchange *x)
{
    if (x->record.guard.action == SR_GUARD_BLOCK) {
        block(x);
        return SR_PHASE_SETTLED;
    }
    x->record.outcome = x->record.decision.errors ? SR_OUTCOME_DEGRADED : SR_OUTCOME_PASSED;
    x->named = true;
    return SR_PHASE_NEXT;
}

/* The decision may be for this request, or not: a condition of it is not understood. Its answer is not given,
 * and no model is asked. */
static void refuse_undecided(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 503, "condition_not_supported", NULL,
              "decision `%s` depends on a condition that this router does not have", x->record.decision_name);
    refusal.reason = "condition_not_supported";
    sr_exchange_refuse(x, &refusal);
}

static enum sr_phase_step routed(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_config_decision *decision = sr_record_decision(r, x->router->config);
    r->decision_name = decision ? decision->name : "";
    r->category = r->decision.category_name;
    r->confidence = (double)r->decision.confidence;
    if (r->guard.action == SR_GUARD_BLOCK) {
        block(x);
    } else if (decision && decision->plugins.fast_response.set && r->decision.unknown) {
        refuse_undecided(x);
    } else if (decision && decision->plugins.fast_response.set) {
        sr_exchange_begin_reply(x, SR_OUTCOME_FAST, 200, "fast_response");
        sr_exchange_reply_message(
            x, (struct sr_reply_message){sr_bytes_str(decision->plugins.fast_response.message), "fast",
                                         "router", "stop", false});
    } else if (choose(x, decision)) {
        return SR_PHASE_NEXT;
    } else {
        refuse_without_model(x);
    }
    return SR_PHASE_SETTLED;
}

/* The routing has ended with this code, or was skipped. */
static enum sr_phase_step decided(sr_exchange *x, int rc)
{
    struct sr_record *r = &x->record;
    sr_exchange_note_routing(x);
    if (rc) {
        if (rc == SR_EBUSY)
            sr_exchange_refuse_busy(x);
        else
            sr_exchange_refuse_memory(x);
        return SR_PHASE_SETTLED;
    }
    if (r->decision.errors && !r->error_reason)
        r->error_reason = "classification_failed";
    return (r->automatic || r->decision.decision >= 0) && !x->body.builtin ? routed(x) : guarded(x);
}

bool sr_exchange_choose_next(sr_exchange *x)
{
    x->record.choice = x->routing.choice;
    x->record.effort = "";
    return choose(x, sr_record_decision(&x->record, x->router->config));
}

/* ---- the phase ---- */

/* True when the refusal of a client that did not wait is held back: asking at once gains nothing. */
static bool holds_back(sr_exchange *x, uint64_t client)
{
    uint64_t now = sr_clock_ns(), until = sr_runtime_told(x->runtime, client);
    if (!x->env.post || until <= now)
        return false;
    x->refuse_at = until < now + REFUSAL_PAUSE_NS ? until : now + REFUSAL_PAUSE_NS;
    sr_prefetch_dispose(&x->prefetch);
    return true;
}

/* A number that a client cannot choose. */
static uint64_t draw_of(const sr_exchange *x)
{
    char number[SR_REQUEST_ID_SIZE];
    sr_runtime_request_id(x->runtime, number);
    return sr_hash64(sr_bytes_str(number), 0);
}

/* Runs on the owner's thread: the routing ended while the exchange was waiting. */
static void on_routed(void *ctx, int rc)
{
    sr_exchange *x = ctx;
    x->routed = rc;
    x->resumed(x);
}

static enum sr_phase_step begin(sr_exchange *x)
{
    sr_exchange_name_session(x);
    if (x->head.skip) {
        sr_routing_skip(&x->routing, x->router->config);
        return decided(x, SR_OK);
    }
    struct sr_routing_inputs in = {
        .runtime = x->runtime,
        .router = x->router,
        .env = &x->env,
        .mailbox = &x->mailbox,
        .doc = &x->body.doc,
        .automatic = x->body.automatic,
        .model = x->body.model,
        .share_key = x->identity.user.n ? x->identity.user : x->head.request_id,
        .tenant = x->identity.tenant,
        .rules = x->identity.rules,
        .instructs = x->identity.instructs,
        .identity = &x->identity,
        .workload = sr_signals_wants(x->router->signals).workload ? sr_exchange_workload(x) : 0,
        .session = &x->session,
        .draw = draw_of(x),
        .client = sr_identity_client(&x->identity, x->head.peer),
        .origin = sr_exchange_origin(x),
        .arena = &x->arena,
        .done = on_routed,
        .ctx = x,
    };
    int rc = sr_routing_start(&x->routing, &in, sr_prefetch_take(&x->prefetch));
    if (rc == SR_EBUSY && holds_back(x, in.client))
        return SR_PHASE_WAITS;
    if (rc != SR_AGAIN)
        return decided(x, rc);
    sr_recall_prefetch(&x->recall);
    return SR_PHASE_WAITS;
}

static enum sr_phase_step end(sr_exchange *x)
{
    return decided(x, x->routed);
}

static uint64_t deadline_ns(const sr_exchange *x)
{
    return x->refuse_at ? x->refuse_at : x->routing.deadline_ns;
}

/* What is missing by now stays unknown; a refusal that was held back is given. */
static void give_up(sr_exchange *x)
{
    x->routed = x->refuse_at ? SR_EBUSY : sr_routing_deadline(&x->routing);
}

const struct sr_phase sr_phase_route = {.part = SR_PART_SIGNALS,
                                        .begin = begin,
                                        .end = end,
                                        .deadline_ns = deadline_ns,
                                        .give_up = give_up,
                                        .own_work = true};

/*
 * From the texts of a request to a decision: guards, then the route, then the model's policy. Starts signals
 * one after the other, cheapest first, and only those that are still needed. While one is under way
 * elsewhere, those are begun that will be needed if it finds nothing, as most do: encoders and neural
 * classifiers then read in the same batch. They count when they are asked for.
 *
 * Short texts are worked on here and now; long ones on the workers where the exchange has an env. What an
 * encoder says comes late in either case.
 */
#include "base/clock.h"
#include "router/exchange.h"
#include "router/route/bridge.h"

/* Texts up to this size are quicker to read than to hand over. */
#define INLINE_BYTES ((size_t)32 << 10)

static void advance(sr_exchange *x);

/* Owner's thread, through the mailbox: a signal has its result. */
static void signal_done(void *ctx, enum sr_signal_type type)
{
    sr_exchange *x = ctx;
    if (!(x->wanted >> type & 1))
        return;
    x->results[type] = sr_signal_run_result(x->run, type);
    x->record.times.signals_ns += x->results[type]->ns;
    advance(x);
    if (x->has_verdict) {
        sr_exchange_woken(x);
        x->env.ready(x->env.ctx, x);
    }
}

/* A guard's decision routes the request itself. */
static void take_over(sr_exchange *x, const struct sr_decision *decision)
{
    x->decision = *decision;
    x->plan = x->automatic ? x->router->guards : x->router->named;
}

static const struct sr_plan *guards_of(const sr_exchange *x)
{
    return x->automatic ? x->router->guards : x->router->named;
}

static int decide_guards(sr_exchange *x, uint32_t *needed)
{
    struct sr_decision decision = {.decision = -1, .category = -1, .category_name = ""};
    int rc = guards_of(x) ? sr_plan_decide(guards_of(x), x->results, &decision, needed) : SR_OK;
    if (rc)
        return rc;
    bool takes_over = sr_guard_decided(x, &decision);
    if (takes_over)
        take_over(x, &decision);
    x->phase = !x->automatic || takes_over ? SR_PHASE_POLICY : SR_PHASE_ROUTE;
    if (sr_guard_action(x) == SR_GUARD_BLOCK)
        x->phase = SR_PHASE_DONE;
    else if (x->phase == SR_PHASE_POLICY && takes_over)
        sr_plan_choose(x->plan, &x->decision, x->results, &x->choice);
    return SR_OK;
}

static int decide_policy(sr_exchange *x, uint32_t *needed)
{
    if (sr_guard_wants_pii(x) && !x->results[SR_SIGNAL_PII]) {
        *needed = UINT32_C(1) << SR_SIGNAL_PII;
        return SR_AGAIN;
    }
    x->phase = SR_PHASE_DONE;
    return sr_guard_apply_policy(x);
}

/* Goes through the phases as far as the results allow. SR_OK: all is decided; SR_AGAIN: one of the types in
 * `*needed` comes first. */
static int decide(sr_exchange *x, uint32_t *needed)
{
    int rc = SR_OK;
    if (x->phase == SR_PHASE_GUARD)
        rc = decide_guards(x, needed);
    if (!rc && x->phase == SR_PHASE_ROUTE) {
        rc = sr_plan_decide(x->plan, x->results, &x->decision, needed);
        if (!rc) {
            sr_plan_choose(x->plan, &x->decision, x->results, &x->choice);
            x->phase = SR_PHASE_POLICY;
        }
    }
    if (!rc && x->phase == SR_PHASE_POLICY)
        rc = decide_policy(x, needed);
    return rc;
}

static void decided(sr_exchange *x)
{
    sr_signal_run_cancel(x->run, SR_ECANCELED); /* what was begun and is not needed */
    x->decision.errors |= x->guard.errors;
    if (sr_guard_wants_pii(x) && x->results[SR_SIGNAL_PII] && x->results[SR_SIGNAL_PII]->status)
        x->decision.errors |= UINT32_C(1) << SR_SIGNAL_PII;
    if (x->decision.errors && !x->error_reason)
        x->error_reason = "classification_failed";
    if (x->automatic || x->decision.decision >= 0)
        sr_exchange_routed(x);
    else
        sr_exchange_guarded(x);
}

/* Begins one type, or looks what has become of it: SR_OK when its result is there, SR_AGAIN, or another
 * error.
 */
static int begin_type(sr_exchange *x, enum sr_signal_type type)
{
    struct sr_bridge *expects = x->begun >> type & 1 ? NULL : x->bridge;
    x->begun |= UINT32_C(1) << type;
    if (expects)
        sr_bridge_expect(expects);
    int rc = sr_signal_run_start(x->run, type, signal_done, x);
    if (expects && rc != SR_AGAIN)
        sr_bridge_unexpect(expects);
    return rc;
}

/* The same for a type that is needed, with its result in place. */
static int start_type(sr_exchange *x, enum sr_signal_type type)
{
    x->wanted |= UINT32_C(1) << type;
    int rc = begin_type(x, type);
    if (rc != SR_AGAIN)
        x->results[type] = sr_signal_run_result(x->run, type);
    return rc == SR_AGAIN || x->results[type] ? rc : SR_ENOMEM;
}

/* Types that are needed next if all that is under way finds nothing; 0: none, or memory is out. */
static uint32_t needed_next(sr_exchange *x)
{
    const struct sr_plan *plans[] = {x->phase == SR_PHASE_GUARD ? guards_of(x) : NULL,
                                     x->automatic && x->phase <= SR_PHASE_ROUTE ? x->router->plan : NULL};
    const struct sr_signal_result *assumed[SR_SIGNAL_TYPES] = {NULL};
    struct sr_signal_result nothing[SR_SIGNAL_TYPES];
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        size_t n = sr_signals_rules(x->router->signals, (enum sr_signal_type)type);
        if (!(x->begun >> type & 1))
            continue;
        assumed[type] = sr_signal_run_result(x->run, (enum sr_signal_type)type);
        if (assumed[type])
            continue;
        nothing[type] = (struct sr_signal_result){.tier = "", .top = -1, .n_hits = n};
        nothing[type].hits = sr_arena_calloc(&x->arena, n + 1, sizeof *nothing[type].hits);
        if (!nothing[type].hits)
            return 0;
        assumed[type] = &nothing[type];
    }
    struct sr_choice choice = {.model = x->automatic ? -1 : x->model};
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        struct sr_decision decision;
        uint32_t needed = 0;
        int rc = plans[i] ? sr_plan_decide(plans[i], assumed, &decision, &needed) : SR_OK;
        if (rc)
            return rc == SR_AGAIN ? needed : 0;
        if (plans[i] && plans[i] == x->router->plan)
            sr_plan_choose(plans[i], &decision, assumed, &choice);
    }
    bool policy = x->router->may_see && choice.model >= 0 && ~x->router->may_see[choice.model];
    return policy ? UINT32_C(1) << SR_SIGNAL_PII : 0;
}

/* Something is under way: begins what comes next. What was not begun when time is up is not known. */
static void begin_next(sr_exchange *x)
{
    uint32_t needed;
    while ((needed = needed_next(x)) && !(needed & x->begun))
        if (begin_type(x, sr_plan_cheapest(needed)) == SR_ENOMEM)
            return;
}

static void advance(sr_exchange *x)
{
    for (;;) {
        uint32_t needed = 0;
        uint64_t start = sr_clock_ns();
        int rc = decide(x, &needed);
        uint64_t decided_at = sr_clock_ns();
        x->record.times.decide_ns += decided_at - start;
        if (rc == SR_OK) {
            decided(x);
            return;
        }
        if (rc != SR_AGAIN || !needed) {
            sr_exchange_refuse_memory(x);
            return;
        }
        rc = start_type(x, sr_plan_cheapest(needed));
        x->record.times.signals_ns += sr_clock_ns() - decided_at;
        if (rc == SR_AGAIN) {
            x->state = SR_EXCHANGE_WAITING;
            begin_next(x);
            return;
        }
        if (rc == SR_ENOMEM) {
            sr_exchange_refuse_memory(x);
            return;
        }
    }
}

/* Readies the way to other threads when the text is long enough for it, or an answer may come late. */
static int bridge_for(sr_exchange *x, struct sr_signal_env *env)
{
    *env = (struct sr_signal_env){.inline_bytes = INLINE_BYTES};
    bool late = sr_signals_may_be_late(x->router->signals);
    size_t bytes = sr_signal_input_bytes(x->input, SR_SIGNAL_PII);
    if (!x->env.post || (x->input->text.n <= INLINE_BYTES && bytes <= INLINE_BYTES && !late))
        return SR_OK;
    env->workers = sr_runtime_workers(x->runtime);
    if (!env->workers && !late)
        return SR_OK;
    int rc = sr_bridge_new(&x->bridge, &x->env);
    if (rc)
        return rc;
    env->mailbox = sr_bridge_mailbox(x->bridge);
    uint64_t deadline = x->router->config->global.signal_deadline_ms;
    x->deadline_ns = deadline ? sr_clock_ns() + deadline * SR_NS_PER_MS : 0;
    return SR_OK;
}

void sr_route_start(sr_exchange *x)
{
    uint64_t total;
    struct sr_signal_env env;
    x->plan = x->automatic ? x->router->plan : x->router->named;
    x->phase = guards_of(x) ? SR_PHASE_GUARD : x->automatic ? SR_PHASE_ROUTE : SR_PHASE_POLICY;
    struct sr_bytes text = sr_request_text(&x->doc, &x->arena, &total);
    if (text.p)
        x->input = sr_signal_input_new(text, total);
    if (!x->input || sr_signal_input_shorten(x->input, x->router->signals, sr_early_take(&x->early)) ||
        sr_guard_begin(x) || bridge_for(x, &env) ||
        sr_signal_run_new(&x->run, x->router->signals, x->input, env, &x->arena)) {
        sr_exchange_refuse_memory(x);
        return;
    }
    advance(x);
}

void sr_route_give_up(sr_exchange *x, int status)
{
    if (status == SR_ETIMEOUT)
        sr_signal_run_settle(x->run);
    sr_signal_run_cancel(x->run, status);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (x->wanted >> type & 1)
            x->results[type] = sr_signal_run_result(x->run, (enum sr_signal_type)type);
    /* What was not started counts as given up too: nothing may be started any more. */
    static const struct sr_signal_result none = {.status = SR_ETIMEOUT, .tier = "", .top = -1};
    uint32_t needed;
    while (decide(x, &needed) == SR_AGAIN && needed) {
        for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
            if ((needed >> type & 1) && !x->results[type])
                x->results[type] =
                    x->begun >> type & 1 ? sr_signal_run_result(x->run, (enum sr_signal_type)type) : &none;
        }
    }
    decided(x);
}

void sr_route_dispose(sr_exchange *x)
{
    if (x->run)
        sr_signal_run_dispose(x->run);
    x->run = NULL;
    sr_bridge_detach(x->bridge);
    x->bridge = NULL;
    if (x->input)
        sr_signal_input_unref(x->input);
    x->input = NULL;
}

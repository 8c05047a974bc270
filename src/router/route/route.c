/*
 * Runs signals and evaluates the plans. While a signal is in progress on another thread, the signals that
 * are needed if it finds nothing (the usual case) are begun, so that encoders and neural classifiers share
 * a batch. Their results are used only when a plan asks for them.
 *
 * Short texts are classified at once on this thread, long ones on worker threads if there is an env.
 * Results of an encoder always arrive later.
 */
#include "router/route/route.h"

#include "base/clock.h"
#include "router/pick/rank.h"
#include "router/request/facts.h"

#include <limits.h>

/* Texts up to this size in bytes are faster to classify here than on another thread. */
#define INLINE_BYTES ((size_t)32 << 10)

static int advance(struct sr_routing *r);

void sr_routing_init(struct sr_routing *r)
{
    *r = (struct sr_routing){.decision = {.decision = -1, .category = -1, .category_name = ""}};
    sr_guard_init(&r->guard);
}

void sr_routing_skip(struct sr_routing *r, const struct sr_config *config)
{
    sr_routing_init(r);
    r->choice = (struct sr_choice){.model = config->default_model,
                                   .lora_name = config->default_lora ? config->default_lora : "",
                                   .effort = "",
                                   .algorithm = "default"};
}

uint32_t sr_routing_types_to_prefetch(const struct sr_router *router, bool automatic, int model)
{
    uint32_t policy = router->may_see ? UINT32_C(1) << SR_SIGNAL_PII : 0;
    uint32_t guards = router->guards ? sr_plan_signals(router->guards) : 0;
    uint32_t named = router->named ? sr_plan_signals(router->named) : 0;
    uint32_t shadow = router->shadow ? sr_plan_signals(router->shadow) : 0;
    if (automatic)
        return guards | sr_plan_signals(router->plan) | policy | shadow;
    if (model >= 0)
        return sr_guard_names(router, model) ? named | policy | (router->shadow_named ? shadow : 0) : 0;
    return router->config->global.guards.explicit_models ? named & (guards | sr_plan_signals(router->plan))
                                                         : 0;
}

/* Runs on the owner's thread, through the mailbox: a signal has its result. */
static void signal_done(void *ctx, enum sr_signal_type type)
{
    struct sr_routing *r = ctx;
    if (!(r->wanted >> type & 1))
        return;
    r->results[type] = sr_signal_run_result(r->run, type);
    r->signals_ns += r->results[type]->ns;
    int rc = advance(r);
    if (rc != SR_AGAIN)
        r->in.done(r->in.ctx, rc);
}

/* A guard's decision routes the request itself. */
static void take_over(struct sr_routing *r, const struct sr_decision *decision)
{
    r->decision = *decision;
    r->plan = r->in.automatic ? r->in.router->guards : r->in.router->named;
}

static const struct sr_plan *guards_of(const struct sr_routing *r)
{
    return r->in.automatic ? r->in.router->guards : r->in.router->named;
}

static int strictness(const struct sr_routing *r, const struct sr_decision *decision)
{
    const struct sr_config_plugins *plugins = &r->in.router->config->decisions[decision->decision].plugins;
    return plugins->guard.set ? sr_guard_strictness(plugins->guard.action) : INT_MAX;
}

/* The guard that applies. One that matches only because a text could not be read does not keep a stricter
 * one of lower priority from what it finds. */
static int choose_guard(struct sr_routing *r, struct sr_decision *out, uint32_t *needed)
{
    size_t n = r->in.router->config->n_decisions;
    int rc = sr_plan_decide(guards_of(r), r->without, r->results, out, needed);
    if (rc || out->decision < 0 || !out->unsure)
        return rc;
    struct sr_decision next = *out;
    memcpy(r->without_unsure, r->without, n * sizeof *r->without);
    while (!rc && next.decision >= 0 && next.unsure) {
        r->without_unsure[next.decision] = true;
        rc = sr_plan_decide(guards_of(r), r->without_unsure, r->results, &next, needed);
        if (!rc && next.decision >= 0 && strictness(r, &next) > strictness(r, out))
            *out = next;
    }
    return rc;
}

static int decide_guards(struct sr_routing *r, uint32_t *needed)
{
    struct sr_decision decision = {.decision = -1, .category = -1, .category_name = ""};
    int rc = guards_of(r) ? choose_guard(r, &decision, needed) : SR_OK;
    if (rc)
        return rc;
    bool takes_over = sr_guard_decided(&r->guard, &decision);
    if (takes_over)
        take_over(r, &decision);
    r->phase = takes_over ? SR_PHASE_MODEL : r->in.automatic ? SR_PHASE_ROUTE : SR_PHASE_POLICY;
    if (sr_guard_action(&r->guard) == SR_GUARD_BLOCK)
        r->phase = SR_PHASE_SHADOW;
    return SR_OK;
}

/* The decision's algorithm ranks its candidates; where it compares meanings it waits for the vector. */
static int decide_model(struct sr_routing *r, uint32_t *needed)
{
    const struct sr_signal_result *meaning = r->results[SR_SIGNAL_EMBEDDING];
    if (sr_rank_needs_vector(r->in.router, &r->decision) && !meaning) {
        *needed = UINT32_C(1) << SR_SIGNAL_EMBEDDING;
        return SR_AGAIN;
    }
    struct sr_protection_inputs kept = {r->in.router, &r->decision, r->in.session, r->in.client, r->in.doc};
    struct sr_rank_inputs in = {.router = r->in.router,
                                .decision = &r->decision,
                                .meaning = meaning,
                                .text = r->input->text,
                                .draw = r->in.draw,
                                .steady = sr_protection_begin(&r->protection, &kept)};
    int rc = sr_rank_candidates(&in, r->in.arena, &r->ranking);
    if (rc)
        return rc;
    r->decision.scores = r->ranking.scores;
    r->decision.algorithm = r->ranking.algorithm;
    rc = sr_protection_apply(&r->protection, &kept, r->plan, &r->decision, r->in.arena);
    if (rc)
        return rc;
    sr_plan_choose(r->plan, &r->decision, r->results, &r->choice);
    if (r->ranking.refused)
        r->choice.model = -1;
    r->phase = SR_PHASE_POLICY;
    return SR_OK;
}

static int decide_policy(struct sr_routing *r, uint32_t *needed)
{
    if (sr_guard_wants_pii(&r->guard, &r->decision, &r->choice) && !r->results[SR_SIGNAL_PII]) {
        *needed = UINT32_C(1) << SR_SIGNAL_PII;
        return SR_AGAIN;
    }
    r->phase = SR_PHASE_SHADOW;
    return sr_guard_apply_policy(&r->guard, r->plan, &r->decision, &r->choice);
}

/* A request that is blocked does not wait for them: its signals so far are what they have. */
static int decide_shadows(struct sr_routing *r, uint32_t *needed)
{
    int rc = sr_trial_shadows(r->in.router, r->without, r->results, r->in.arena, &r->shadows, needed);
    if (rc == SR_AGAIN && sr_guard_action(&r->guard) == SR_GUARD_BLOCK)
        rc = SR_OK;
    if (!rc)
        r->phase = SR_PHASE_DONE;
    return rc;
}

/* Runs the phases as far as the results allow. SR_OK: all is decided; SR_AGAIN: it needs the result of one
 * of the types in `*needed`. */
static int decide(struct sr_routing *r, uint32_t *needed)
{
    int rc = SR_OK;
    if (r->phase == SR_PHASE_GUARD)
        rc = decide_guards(r, needed);
    if (!rc && r->phase == SR_PHASE_ROUTE) {
        rc = sr_plan_decide(r->plan, r->without, r->results, &r->decision, needed);
        if (!rc)
            r->phase = SR_PHASE_MODEL;
    }
    if (!rc && r->phase == SR_PHASE_MODEL)
        rc = decide_model(r, needed);
    if (!rc && r->phase == SR_PHASE_POLICY)
        rc = decide_policy(r, needed);
    if (!rc && r->phase == SR_PHASE_SHADOW)
        rc = decide_shadows(r, needed);
    return rc;
}

/* All is decided: cancels signals that were begun and are not needed. */
static void finish(struct sr_routing *r)
{
    const struct sr_signal_result *pii = r->results[SR_SIGNAL_PII];
    sr_signal_run_cancel(r->run);
    r->decision.errors |= r->guard.errors;
    if (sr_guard_wants_pii(&r->guard, &r->decision, &r->choice) && pii && pii->status)
        r->decision.errors |= UINT32_C(1) << SR_SIGNAL_PII;
}

/* Begins one type or checks its run: SR_OK when its result is ready, SR_AGAIN, or another error. */
static int begin_type(struct sr_routing *r, enum sr_signal_type type)
{
    bool first = !(r->begun >> type & 1);
    r->begun |= UINT32_C(1) << type;
    if (first)
        r->started_ns[type] = sr_clock_ns();
    return sr_signal_run_start(r->run, type, signal_done, r);
}

/* The same for a type that is needed, and stores its result. */
static int start_type(struct sr_routing *r, enum sr_signal_type type)
{
    r->wanted |= UINT32_C(1) << type;
    int rc = begin_type(r, type);
    if (rc != SR_AGAIN)
        r->results[type] = sr_signal_run_result(r->run, type);
    return rc == SR_AGAIN || r->results[type] ? rc : SR_ENOMEM;
}

/* Types that are needed next if no signal in progress has findings; 0: none, or out of memory. */
static uint32_t needed_next(struct sr_routing *r)
{
    const struct sr_plan *plans[] = {r->phase == SR_PHASE_GUARD ? guards_of(r) : NULL,
                                     r->in.automatic && r->phase <= SR_PHASE_ROUTE ? r->in.router->plan
                                                                                   : NULL};
    const struct sr_signal_result *assumed[SR_SIGNAL_TYPES] = {NULL};
    struct sr_signal_result nothing[SR_SIGNAL_TYPES];
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        size_t n = sr_signals_rules(r->in.router->signals, (enum sr_signal_type)type);
        bool derived = n && !sr_signal_registry[type]->start &&
                       sr_signals_needs(r->in.router->signals, (enum sr_signal_type)type);
        if (!(r->begun >> type & 1) && !derived)
            continue;
        assumed[type] = sr_signal_run_result(r->run, (enum sr_signal_type)type);
        if (assumed[type] && (r->begun >> type & 1))
            continue;
        nothing[type] = (struct sr_signal_result){.tier = "", .top = -1, .n_hits = n};
        nothing[type].hits = sr_arena_calloc(r->in.arena, n + 1, sizeof *nothing[type].hits);
        if (!nothing[type].hits)
            return 0;
        assumed[type] = &nothing[type];
    }
    struct sr_choice choice = {.model = r->in.automatic ? -1 : r->in.model};
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        struct sr_decision decision;
        uint32_t needed = 0;
        int rc = plans[i] ? sr_plan_decide(plans[i], r->without, assumed, &decision, &needed) : SR_OK;
        if (rc)
            return rc == SR_AGAIN ? needed : 0;
        if (plans[i] && plans[i] == r->in.router->plan) {
            sr_plan_choose(plans[i], &decision, assumed, &choice);
            if (sr_rank_needs_vector(r->in.router, &decision) && !(r->begun >> SR_SIGNAL_EMBEDDING & 1))
                return UINT32_C(1) << SR_SIGNAL_EMBEDDING;
        }
    }
    bool policy = r->in.router->may_see && choice.model >= 0 && ~r->in.router->may_see[choice.model];
    uint32_t pii = policy ? UINT32_C(1) << SR_SIGNAL_PII : 0, needed = 0;
    if (pii & ~r->begun)
        return pii;
    struct sr_shadows shadows = r->shadows;
    int rc = sr_trial_shadows(r->in.router, r->without, assumed, r->in.arena, &shadows, &needed);
    r->shadows.matches = shadows.matches;
    return rc == SR_AGAIN ? needed : 0;
}

/* While a signal is in progress, begins the signals that come next, but for those that ask elsewhere. Signals
 * that were not begun before the deadline have no result. */
static void begin_next(struct sr_routing *r)
{
    uint32_t needed, not_yet = sr_signals_elsewhere(r->in.router->signals);
    while ((needed = needed_next(r) & ~not_yet) && !(needed & r->begun))
        if (begin_type(r, sr_plan_cheapest(needed)) == SR_ENOMEM)
            return;
}

/* Was something refused, for lack of time, that a guard or the model's policy needs? */
static bool is_shed(const struct sr_routing *r)
{
    uint32_t guards = guards_of(r) ? sr_plan_signals(guards_of(r)) : 0;
    uint32_t policy = r->phase == SR_PHASE_POLICY ? UINT32_C(1) << SR_SIGNAL_PII : 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (((guards | policy) & r->wanted) >> type & 1 && r->results[type] &&
            r->results[type]->status == SR_EBUSY)
            return true;
    return false;
}

/* SR_OK: decided. SR_AGAIN: signals are in progress. SR_EBUSY, SR_ENOMEM: nothing is decided. */
static int advance(struct sr_routing *r)
{
    for (;;) {
        if (is_shed(r)) {
            sr_signal_run_cancel(r->run);
            return SR_EBUSY;
        }
        uint32_t needed = 0;
        uint64_t start = sr_clock_ns();
        int rc = decide(r, &needed);
        uint64_t decided_at = sr_clock_ns();
        r->decide_ns += decided_at - start;
        if (rc == SR_OK) {
            finish(r);
            return SR_OK;
        }
        if (rc != SR_AGAIN || !needed)
            return SR_ENOMEM;
        rc = start_type(r, sr_plan_cheapest(needed));
        r->signals_ns += sr_clock_ns() - decided_at;
        if (rc == SR_AGAIN)
            begin_next(r);
        if (rc == SR_AGAIN || rc == SR_ENOMEM)
            return rc;
    }
}

/* Prepares the mailbox when the text is long enough for worker threads, or a result may arrive later. */
static int ready_env(struct sr_routing *r, struct sr_signal_env *env)
{
    *env =
        (struct sr_signal_env){.inline_bytes = INLINE_BYTES, .consults = sr_runtime_consults(r->in.runtime)};
    bool late = sr_signals_may_be_late(r->in.router->signals);
    size_t bytes = sr_signal_input_bytes(r->input, SR_SIGNAL_PII);
    if (!r->in.env->post || (r->input->text.n <= INLINE_BYTES && bytes <= INLINE_BYTES && !late))
        return SR_OK;
    env->workers = sr_runtime_workers(r->in.runtime);
    if (!env->workers && !late)
        return SR_OK;
    const struct sr_exchange_env *owner = r->in.env;
    int rc = *r->in.mailbox ? SR_OK : sr_mailbox_new(r->in.mailbox, owner->post, owner->ctx);
    if (rc)
        return rc;
    env->mailbox = *r->in.mailbox;
    uint64_t deadline = sr_config_signal_deadline_ms(r->in.router->config,
                                                     bytes > r->input->text.n ? bytes : r->input->text.n);
    r->deadline_ns = deadline ? sr_clock_ns() + deadline * SR_NS_PER_MS : 0;
    env->client = r->in.client;
    env->origin = r->in.origin;
    env->deadline_ns = r->deadline_ns;
    env->allowed_ns = deadline * SR_NS_PER_MS;
    env->whole = true;
    return SR_OK;
}

/* Gives the signals what they read beside the text. */
static int add_wants(struct sr_routing *r)
{
    const struct sr_routing_inputs *in = &r->in;
    struct sr_signal_wants wants = sr_signals_wants(in->router->signals);
    struct sr_signal_facts facts;
    int rc = wants.vector ? sr_signal_input_share_vector(r->input) : SR_OK;
    if (rc || !wants.facts)
        return rc;
    rc = sr_facts_read(&facts, in->doc, wants.turns, in->arena);
    facts.workload = in->workload;
    if (in->identity) {
        facts.user = in->identity->user;
        facts.groups = in->identity->groups;
        facts.n_groups = in->identity->n_groups;
    }
    return rc ? rc : sr_signal_input_add_facts(r->input, &facts);
}

static int prepare(struct sr_routing *r, struct sr_signal_brief *prefetched)
{
    uint64_t total;
    struct sr_signal_env env;
    const struct sr_routing_inputs *in = &r->in;
    size_t n_decisions = in->router->config->n_decisions;
    struct sr_guard_inputs guards = {in->router,    r->results, in->arena,
                                     in->automatic, in->model,  in->instructs};
    struct sr_bytes text = sr_request_text(in->doc, in->arena, &total);
    if (text.p)
        r->input = sr_signal_input_new(text, total);
    if (!r->input) {
        sr_signal_brief_free(prefetched);
        return SR_ENOMEM;
    }
    int rc = sr_signal_input_shorten(r->input, in->router->signals, prefetched);
    if (!rc)
        rc = add_wants(r);
    r->without = sr_arena_calloc(in->arena, n_decisions + 1, sizeof *r->without);
    r->without_unsure = sr_arena_calloc(in->arena, n_decisions + 1, sizeof *r->without_unsure);
    if (!rc && (!r->without || !r->without_unsure))
        rc = SR_ENOMEM;
    if (!rc)
        sr_trial_leave_out(in->router, in->automatic, in->share_key.n ? in->share_key : text, in->rules,
                           r->without);
    if (!rc)
        rc = sr_guard_begin(&r->guard, &guards, in->doc, in->tenant, r->input);
    if (!rc)
        rc = ready_env(r, &env);
    return rc ? rc : sr_signal_run_new(&r->run, in->router->signals, r->input, env, in->arena);
}

int sr_routing_start(struct sr_routing *r, const struct sr_routing_inputs *in,
                     struct sr_signal_brief *prefetched)
{
    r->in = *in;
    r->plan = in->automatic ? in->router->plan : in->router->named;
    r->phase = guards_of(r) ? SR_PHASE_GUARD : in->automatic ? SR_PHASE_ROUTE : SR_PHASE_POLICY;
    return prepare(r, prefetched) ? SR_ENOMEM : advance(r);
}

int sr_routing_deadline(struct sr_routing *r)
{
    sr_signal_run_expire(r->run);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (r->wanted >> type & 1)
            r->results[type] = sr_signal_run_result(r->run, (enum sr_signal_type)type);
    /* Types that were not started count as cancelled too: none may start any more. */
    static const struct sr_signal_result none = {.status = SR_ETIMEOUT, .tier = "", .top = -1};
    uint32_t needed = 0;
    int rc;
    while ((rc = decide(r, &needed)) == SR_AGAIN && needed) {
        for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
            if (!(needed >> type & 1) || r->results[type])
                continue;
            r->results[type] = sr_signal_run_result(r->run, (enum sr_signal_type)type);
            if (!r->results[type])
                r->results[type] = &none;
        }
        needed = 0;
    }
    finish(r);
    return rc ? SR_ENOMEM : SR_OK;
}

static bool is_candidate(const struct sr_config *config, const struct sr_decision *decision, int model)
{
    const struct sr_config_decision *chosen = &config->decisions[decision->decision];
    for (size_t i = 0; i < chosen->n_refs; i++)
        if (chosen->refs[i].model == model)
            return true;
    return false;
}

int sr_routing_next(struct sr_routing *r)
{
    size_t n = r->in.router ? r->in.router->config->n_models : 0;
    if (!r->plan || r->decision.decision < 0 || r->choice.model < 0)
        return SR_ENOENT;
    if (!r->tried)
        r->tried = sr_arena_calloc(r->in.arena, n, sizeof *r->tried);
    bool *barred = sr_arena_calloc(r->in.arena, n, sizeof *barred);
    if (!r->tried || !barred)
        return SR_ENOMEM;
    r->tried[r->choice.model] = true;
    for (size_t i = 0; i < n; i++)
        barred[i] = r->tried[i];
    /* The default model is no candidate: the decision may have left it out on purpose. */
    if (r->in.router->config->default_model >= 0)
        barred[r->in.router->config->default_model] |=
            !is_candidate(r->in.router->config, &r->decision, r->in.router->config->default_model);
    sr_guard_bar(&r->guard, barred);
    struct sr_choice next;
    sr_plan_choose_other(r->plan, &r->decision, barred, &next);
    if (next.model < 0)
        return SR_ENOENT;
    r->choice = next;
    return SR_OK;
}

void sr_routing_dispose(struct sr_routing *r)
{
    if (r->run)
        sr_signal_run_dispose(r->run);
    r->run = NULL;
    if (r->input)
        sr_signal_input_unref(r->input);
    r->input = NULL;
}

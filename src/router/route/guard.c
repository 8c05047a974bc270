/* What guards find out and decide. The reply of a block is in guard_block.c. */
#include "router/route/guard.h"

#include "router/exchange.h"

void sr_guard_init(struct sr_guard *guard)
{
    *guard = (struct sr_guard){.decision = -1, .risk = -1, .kind = ""};
}

bool sr_guard_names(const sr_exchange *x)
{
    bool policy = x->router->may_see && x->model >= 0 && ~x->router->may_see[x->model];
    return x->router->config->global.guards.explicit_models && !x->head.skip && (x->router->named || policy);
}

static bool reads_turns(const sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    return config->n_jailbreaks || config->n_piis || config->global.n_policies;
}

struct sr_bytes sr_guard_tenant(const sr_exchange *x)
{
    return reads_turns(x) ? x->identity.tenant : SR_LIT("");
}

int sr_guard_begin(sr_exchange *x)
{
    if (!reads_turns(x))
        return SR_OK;
    int rc = sr_turns_read(&x->doc, &x->arena, &x->guard.turns);
    return rc ? rc
              : sr_signal_input_add_turns(x->input, x->guard.turns.items, x->guard.turns.n, x->identity.tenant);
}

static const struct sr_config_decision *guard_of(const sr_exchange *x)
{
    return x->guard.decision >= 0 ? &x->router->config->decisions[x->guard.decision] : NULL;
}

int sr_guard_action(const sr_exchange *x)
{
    const struct sr_config_decision *decision = guard_of(x);
    if (x->guard.denied)
        return SR_GUARD_BLOCK;
    return decision && decision->plugins.guard.set ? (int)decision->plugins.guard.action : -1;
}

/* ---- what matched ---- */

static void note_attack(sr_exchange *x, const struct sr_signal_result *result, size_t rule)
{
    struct sr_guard *guard = &x->guard;
    if (result->status) {
        guard->risk = 1;
        guard->kind = "classification_error";
        return;
    }
    guard->risk = result->hits[rule].confidence;
    guard->kind = "jailbreak";
    if (result->n_finds && result->finds[0].type < result->n_labels)
        guard->kind = result->labels[result->finds[0].type];
}

/* Marks what the leaves of the tree found that matched. */
static void note_leaves(sr_exchange *x, const struct sr_config_rule *rule, bool *rules)
{
    for (size_t i = 0; rule->op != SR_RULE_LEAF && i < rule->n_children; i++)
        note_leaves(x, &rule->children[i], rules);
    int type = rule->op == SR_RULE_LEAF ? sr_signal_finding(sr_bytes_str(rule->type)) : -1;
    if (type != SR_SIGNAL_JAILBREAK && type != SR_SIGNAL_PII)
        return;
    const struct sr_signal_result *result = x->results[type];
    int index = sr_signals_find_rule(x->router->signals, (enum sr_signal_type)type, sr_bytes_str(rule->name));
    if (!result || index < 0)
        return;
    bool failed = result->status && rule->on_error == SR_ON_ERROR_MATCH;
    bool matched = !result->status && (size_t)index < result->n_hits && result->hits[index].matched;
    if (!failed && !matched)
        return;
    if (type == SR_SIGNAL_PII)
        rules[index] = true;
    else
        note_attack(x, result, (size_t)index);
}

bool sr_guard_counts(const sr_exchange *x, const struct sr_signal_finding *find)
{
    const struct sr_config *config = x->router->config;
    for (size_t i = 0; i < config->n_piis; i++)
        if ((!x->guard.rules || x->guard.rules[i]) && sr_signal_pii_counts(&config->piis[i], find))
            return true;
    return false;
}

static uint32_t counted_types(const sr_exchange *x)
{
    const struct sr_signal_result *result = x->results[SR_SIGNAL_PII];
    uint32_t types = 0;
    for (size_t i = 0; result && !result->status && i < result->n_finds; i++)
        if (sr_guard_counts(x, &result->finds[i]))
            types |= UINT32_C(1) << result->finds[i].type;
    return types;
}

bool sr_guard_decided(sr_exchange *x, const struct sr_decision *decision)
{
    const struct sr_config *config = x->router->config;
    struct sr_guard *guard = &x->guard;
    guard->errors = decision->errors;
    if (decision->decision < 0)
        return false;
    const struct sr_config_decision *matched = &config->decisions[decision->decision];
    bool *rules = sr_arena_calloc(&x->arena, config->n_piis + 1, sizeof *rules), any = false;
    guard->decision = decision->decision;
    guard->confidence = decision->confidence;
    if (rules && matched->has_rules)
        note_leaves(x, &matched->rules, rules);
    for (size_t i = 0; rules && i < config->n_piis; i++)
        any |= rules[i];
    guard->rules = any ? rules : NULL;
    bool private_data = any || sr_guard_action(x) == SR_GUARD_REDACT;
    guard->types = private_data ? counted_types(x) : 0;
    return matched->plugins.fast_response.set ||
           (matched->n_refs > 0 && (x->automatic || sr_guard_action(x) == SR_GUARD_ROUTE));
}

/* ---- policies ---- */

bool sr_guard_wants_pii(const sr_exchange *x)
{
    if (sr_guard_action(x) == SR_GUARD_BLOCK)
        return false;
    if (sr_guard_action(x) == SR_GUARD_REDACT)
        return true;
    int model = x->automatic || x->decision.decision >= 0 ? x->choice.model : x->model;
    return x->router->may_see && model >= 0 && ~x->router->may_see[model];
}

/* Types that would reach a model: sure enough, and not taken out. */
static uint32_t sent_types(const sr_exchange *x)
{
    const struct sr_signal_result *result = x->results[SR_SIGNAL_PII];
    float threshold = (float)x->router->config->global.pii_threshold;
    bool redacts = sr_guard_action(x) == SR_GUARD_REDACT;
    uint32_t types = 0;
    for (size_t i = 0; i < result->n_finds; i++) {
        const struct sr_signal_finding *find = &result->finds[i];
        if (find->confidence >= threshold && !(redacts && sr_guard_counts(x, find)))
            types |= UINT32_C(1) << find->type;
    }
    return types;
}

static int move(sr_exchange *x, uint32_t types)
{
    size_t n = x->router->config->n_models;
    bool *barred = sr_arena_calloc(&x->arena, n, sizeof *barred);
    struct sr_choice other;
    if (!barred)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        barred[i] = (types & ~x->router->may_see[i]) != 0;
    sr_plan_choose_other(x->plan, &x->decision, barred, &other);
    if (other.model < 0) {
        x->guard.denied = true;
        return SR_OK;
    }
    x->guard.moved = true;
    x->choice = other;
    return SR_OK;
}

int sr_guard_apply_policy(sr_exchange *x)
{
    const struct sr_signal_result *result = x->results[SR_SIGNAL_PII];
    bool chooses = x->automatic || x->decision.decision >= 0;
    int model = chooses ? x->choice.model : x->model;
    if (sr_guard_action(x) == SR_GUARD_REDACT && result && !result->status)
        x->guard.types = counted_types(x);
    if (!x->router->may_see || model < 0 || !~x->router->may_see[model] ||
        sr_guard_action(x) == SR_GUARD_BLOCK)
        return SR_OK;
    /* What could not be read may hold anything: such a model does not get it. */
    uint32_t types = !result || result->status ? ~UINT32_C(0) : sent_types(x);
    uint32_t denied = types & ~x->router->may_see[model];
    if (!denied)
        return SR_OK;
    x->guard.types = denied & ((UINT32_C(1) << SR_ENTITY_TYPES) - 1);
    if (chooses)
        return move(x, types);
    x->guard.denied = true;
    return SR_OK;
}

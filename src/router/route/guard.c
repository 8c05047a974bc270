/* Evaluates guards. The reply of a block is in guard_block.c. */
#include "router/route/guard.h"

#include "base/hash.h"
#include "router/refusal.h"

void sr_guard_init(struct sr_guard *guard)
{
    *guard = (struct sr_guard){.decision = -1, .risk = -1, .kind = "", .why = ""};
}

bool sr_guard_names(const struct sr_router *router, int model)
{
    bool policy = router->may_see && model >= 0 && ~router->may_see[model];
    return router->config->global.guards.explicit_models && (router->named || policy || router->shadow_named);
}

bool sr_guard_reads_units(const struct sr_config *config)
{
    return config->n_jailbreaks || config->n_piis || config->global.n_policies;
}

/* True when the configuration has a text of the system role. */
static int is_configured(const struct sr_config *config, struct sr_bytes text, bool *yes)
{
    const struct sr_strings *known = &config->global.guards.system_prompts.sha256;
    char hex[SR_SHA256_HEX];
    *yes = false;
    for (size_t i = 0; i < config->n_decisions; i++)
        *yes |= config->decisions[i].plugins.system_prompt.set &&
                sr_bytes_eq(text, sr_bytes_str(config->decisions[i].plugins.system_prompt.text));
    if (*yes || !known->count)
        return SR_OK;
    int rc = sr_sha256_hex(text, hex);
    for (size_t i = 0; !rc && i < known->count; i++)
        *yes |= strcmp(hex, known->items[i]) == 0;
    return rc;
}

/* Marks the operator's units. A seam is the operator's when all of its parts are. */
static int mark_operators(const struct sr_guard *guard)
{
    const struct sr_units *units = &guard->units;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < units->list.n; i++) {
        struct sr_signal_unit *unit = &units->items[i];
        if (unit->role != SR_ROLE_SYSTEM || unit->source != SR_SOURCE_MESSAGE)
            continue;
        unit->operators = guard->in.instructs || unit->n_parts;
        for (size_t k = 0; k < unit->n_parts; k++) /* parts stand before their seam */
            unit->operators &= units->items[units->list.parts[unit->first_part + k].unit].operators;
        if (!unit->operators && !unit->n_parts)
            rc = is_configured(guard->in.router->config, unit->text, &unit->operators);
    }
    return rc;
}

int sr_guard_begin(struct sr_guard *guard, const struct sr_guard_inputs *in, const struct sr_request *doc,
                   struct sr_bytes tenant, struct sr_signal_input *input)
{
    guard->in = *in;
    if (!sr_guard_reads_units(in->router->config))
        return SR_OK;
    int rc = sr_units_read(doc, in->arena, &guard->units);
    if (rc == SR_OK)
        rc = mark_operators(guard);
    for (size_t kind = 0; kind < SR_UNREAD_KINDS; kind++)
        if (in->router->config->global.guards.unread[kind] == SR_UNREAD_ON_ERROR)
            guard->units.list.unread += guard->units.unread.of[kind].bytes;
    return rc ? rc : sr_signal_input_add_units(input, &guard->units.list, tenant);
}

int sr_guard_strictness(enum sr_guard_action action)
{
    static const int order[] = {[SR_GUARD_ALLOW] = 0,
                                [SR_GUARD_FLAG] = 1,
                                [SR_GUARD_ROUTE] = 2,
                                [SR_GUARD_REDACT] = 3,
                                [SR_GUARD_BLOCK] = 4};
    return order[action];
}

static const struct sr_config_decision *guard_of(const struct sr_guard *guard)
{
    return guard->decision >= 0 ? &guard->in.router->config->decisions[guard->decision] : NULL;
}

int sr_guard_action(const struct sr_guard *guard)
{
    const struct sr_config_decision *decision = guard_of(guard);
    if (guard->denied || guard->blind)
        return SR_GUARD_BLOCK;
    return decision && decision->plugins.guard.set ? (int)decision->plugins.guard.action : -1;
}

/* ---- what matched ---- */

static void note_attack(struct sr_guard *guard, const struct sr_signal_result *result, size_t rule)
{
    if (result->status) {
        guard->risk = 1;
        guard->kind = SR_CODE_CLASSIFICATION_ERROR;
        return;
    }
    guard->risk = result->hits[rule].confidence;
    guard->kind = "jailbreak";
    if (result->n_findings && result->findings[0].type < result->n_labels)
        guard->kind = result->labels[result->findings[0].type];
}

enum { UNKNOWN_FAILED = 1, UNKNOWN_LATE = 2, UNKNOWN_UNREAD = 4, UNKNOWN_OVER = 8 };

static unsigned unknown_of(const struct sr_signal_result *result)
{
    if (!result)
        return 0;
    if (result->over)
        return UNKNOWN_OVER;
    switch (result->status) {
    case SR_OK:
        return result->unread_bytes ? UNKNOWN_UNREAD : 0;
    case SR_ETIMEOUT:
    case SR_EBUSY:
    case SR_ENOMEM:
        return UNKNOWN_LATE;
    default:
        return UNKNOWN_FAILED;
    }
}

/* What the leaves of a tree do not know: bits. */
static unsigned unknowns(const struct sr_guard *guard, const struct sr_config_rule *rule)
{
    unsigned all = 0;
    if (rule->op == SR_RULE_LEAF) {
        int type = sr_signal_find_type(sr_bytes_str(rule->type));
        return type < 0 ? 0 : unknown_of(guard->in.results[type]);
    }
    for (size_t i = 0; i < rule->n_children; i++)
        all |= unknowns(guard, &rule->children[i]);
    return all;
}

static const char *code_of(unsigned unknown)
{
    return unknown & UNKNOWN_FAILED ? SR_CODE_CLASSIFICATION_ERROR
           : unknown & UNKNOWN_OVER ? SR_CODE_TOO_LARGE
           : unknown & UNKNOWN_LATE ? SR_CODE_OVERLOADED
           : unknown                ? SR_CODE_UNREAD_CONTENT
                                    : "";
}

/* Counts the pii leaves of a tree, and those that the file leaves open. */
static void count_pii(const struct sr_config_rule *rule, size_t *all, size_t *open)
{
    for (size_t i = 0; rule->op != SR_RULE_LEAF && i < rule->n_children; i++)
        count_pii(&rule->children[i], all, open);
    if (rule->op != SR_RULE_LEAF || strcmp(rule->type, "pii") != 0)
        return;
    ++*all;
    *open += rule->says_on_error && rule->on_error == SR_ON_ERROR_NO_MATCH;
}

/* A redaction promises that no private data passes. It blocks what could not be read, unless all pii leaves
 * of its rules say `no_match`. */
static void check_blind(struct sr_guard *guard, const struct sr_config_decision *decision)
{
    unsigned unknown = unknown_of(guard->in.results[SR_SIGNAL_PII]);
    size_t all = 0, open = 0;
    if (decision->has_rules)
        count_pii(&decision->rules, &all, &open);
    if (!unknown || (all && open == all))
        return;
    guard->blind = true;
    guard->why = code_of(unknown);
}

/* Records the findings of the leaves of the tree that matched. */
static void note_leaves(struct sr_guard *guard, const struct sr_config_rule *rule, bool *rules)
{
    for (size_t i = 0; rule->op != SR_RULE_LEAF && i < rule->n_children; i++)
        note_leaves(guard, &rule->children[i], rules);
    int type = rule->op == SR_RULE_LEAF ? sr_signal_find_type(sr_bytes_str(rule->type)) : -1;
    if (type != SR_SIGNAL_JAILBREAK && type != SR_SIGNAL_CONTRASTIVE && type != SR_SIGNAL_PII)
        return;
    const struct sr_signal_result *result = guard->in.results[type];
    int index =
        sr_signals_find_rule(guard->in.router->signals, (enum sr_signal_type)type, sr_bytes_str(rule->name));
    if (!result || index < 0)
        return;
    bool failed = result->status && rule->on_error == SR_ON_ERROR_MATCH;
    bool matched = !result->status && (size_t)index < result->n_hits && result->hits[index].matched;
    if (!failed && !matched)
        return;
    if (type == SR_SIGNAL_PII)
        rules[index] = true;
    else
        note_attack(guard, result, (size_t)index);
}

static bool counts(const struct sr_guard *guard, const struct sr_signal_finding *finding)
{
    const struct sr_config *config = guard->in.router->config;
    for (size_t i = 0; i < config->n_piis; i++)
        if ((!guard->rules || guard->rules[i]) && sr_signal_pii_counts(&config->piis[i], finding))
            return true;
    return false;
}

static uint32_t counted_types(const struct sr_guard *guard)
{
    const struct sr_signal_result *result = guard->in.results[SR_SIGNAL_PII];
    uint32_t types = 0;
    for (size_t i = 0; result && !result->status && i < result->n_findings; i++)
        if (counts(guard, &result->findings[i]))
            types |= UINT32_C(1) << result->findings[i].type;
    return types;
}

bool sr_guard_decided(struct sr_guard *guard, const struct sr_decision *decision)
{
    const struct sr_config *config = guard->in.router->config;
    guard->errors = decision->errors;
    if (decision->decision < 0)
        return false;
    const struct sr_config_decision *matched = &config->decisions[decision->decision];
    bool *rules = sr_arena_calloc(guard->in.arena, config->n_piis + 1, sizeof *rules), any = false;
    guard->decision = decision->decision;
    guard->confidence = decision->confidence;
    if (rules && matched->has_rules)
        note_leaves(guard, &matched->rules, rules);
    if (decision->unsure)
        guard->why = code_of(unknowns(guard, &matched->rules));
    for (size_t i = 0; rules && i < config->n_piis; i++)
        any |= rules[i];
    guard->rules = any ? rules : NULL;
    bool private_data = any || sr_guard_action(guard) == SR_GUARD_REDACT;
    guard->types = private_data ? counted_types(guard) : 0;
    return matched->plugins.fast_response.set ||
           (matched->n_refs > 0 && (guard->in.automatic || sr_guard_action(guard) == SR_GUARD_ROUTE));
}

/* ---- policies ---- */

/* The model that the request would go to. */
static int model_of(const struct sr_guard *guard, const struct sr_decision *decision,
                    const struct sr_choice *choice)
{
    return guard->in.automatic || decision->decision >= 0 ? choice->model : guard->in.model;
}

bool sr_guard_wants_pii(const struct sr_guard *guard, const struct sr_decision *decision,
                        const struct sr_choice *choice)
{
    const uint32_t *may_see = guard->in.router->may_see;
    int model = model_of(guard, decision, choice);
    if (sr_guard_action(guard) == SR_GUARD_BLOCK)
        return false;
    return sr_guard_action(guard) == SR_GUARD_REDACT || (may_see && model >= 0 && ~may_see[model]);
}

/* Types that would reach a model: above the threshold, and not redacted. */
static uint32_t sent_types(const struct sr_guard *guard)
{
    const struct sr_signal_result *result = guard->in.results[SR_SIGNAL_PII];
    float threshold = (float)guard->in.router->config->global.pii_threshold;
    bool redacts = sr_guard_action(guard) == SR_GUARD_REDACT;
    uint32_t types = 0;
    for (size_t i = 0; i < result->n_findings; i++) {
        const struct sr_signal_finding *finding = &result->findings[i];
        if (finding->confidence >= threshold && !(redacts && counts(guard, finding)))
            types |= UINT32_C(1) << finding->type;
    }
    return types;
}

/* Types that may reach a model. An unread text may hold any type. */
static uint32_t possible_types(const struct sr_guard *guard)
{
    const struct sr_signal_result *result = guard->in.results[SR_SIGNAL_PII];
    bool unknown = !result || result->status || result->unread_bytes || result->over;
    return unknown ? ~UINT32_C(0) : sent_types(guard);
}

void sr_guard_bar(const struct sr_guard *guard, bool *barred)
{
    const uint32_t *may_see = guard->in.router->may_see;
    uint32_t types = may_see ? possible_types(guard) : 0;
    for (size_t i = 0; types && i < guard->in.router->config->n_models; i++)
        barred[i] |= (types & ~may_see[i]) != 0;
}

/* Moves the request to the best candidate that may see what it holds; without one the request is denied. */
static int move(struct sr_guard *guard, const struct sr_plan *plan, const struct sr_decision *decision,
                struct sr_choice *choice)
{
    size_t n = guard->in.router->config->n_models;
    bool *barred = sr_arena_calloc(guard->in.arena, n, sizeof *barred);
    struct sr_choice other;
    if (!barred)
        return SR_ENOMEM;
    sr_guard_bar(guard, barred);
    sr_plan_choose_other(plan, decision, barred, &other);
    guard->denied = other.model < 0;
    guard->moved = !guard->denied;
    if (guard->moved)
        *choice = other;
    return SR_OK;
}

int sr_guard_apply_policy(struct sr_guard *guard, const struct sr_plan *plan,
                          const struct sr_decision *decision, struct sr_choice *choice)
{
    const uint32_t *may_see = guard->in.router->may_see;
    int model = model_of(guard, decision, choice);
    if (sr_guard_action(guard) == SR_GUARD_REDACT) {
        guard->types = counted_types(guard);
        check_blind(guard, guard_of(guard));
    }
    if (!may_see || model < 0 || !~may_see[model] || sr_guard_action(guard) == SR_GUARD_BLOCK)
        return SR_OK;
    uint32_t denied = possible_types(guard) & ~may_see[model];
    if (!denied)
        return SR_OK;
    const struct sr_signal_result *pii = guard->in.results[SR_SIGNAL_PII];
    guard->types = pii && !pii->status ? sent_types(guard) & ~may_see[model] : 0;
    int rc = SR_OK;
    if (guard->in.automatic || decision->decision >= 0)
        rc = move(guard, plan, decision, choice);
    else
        guard->denied = true;
    if (guard->denied)
        guard->why = code_of(unknown_of(pii));
    return rc;
}

int sr_guard_redactions(const struct sr_guard *guard, const struct sr_signal_finding **findings, size_t *n)
{
    const struct sr_signal_result *result = guard->in.router ? guard->in.results[SR_SIGNAL_PII] : NULL;
    *findings = NULL;
    *n = 0;
    if (sr_guard_action(guard) != SR_GUARD_REDACT || !result || result->status || result->n_findings == 0)
        return SR_OK;
    struct sr_signal_finding *counted = sr_arena_calloc(guard->in.arena, result->n_findings, sizeof *counted);
    if (!counted)
        return SR_ENOMEM;
    for (size_t i = 0; i < result->n_findings; i++)
        if (counts(guard, &result->findings[i]))
            counted[(*n)++] = result->findings[i];
    *findings = counted;
    return SR_OK;
}

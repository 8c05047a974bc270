/* Names and sums that several reports compute from a record. */
#include "router/record.h"

void sr_record_init(struct sr_record *record)
{
    *record = (struct sr_record){
        .requested_model = -1,
        .model = -1,
        .family = -1,
        .translated = -1,
        .dialect = "",
        .model_name = "",
        .decision_name = "",
        .category = "",
        .effort = "",
        .decision = {.decision = -1, .category = -1, .category_name = ""},
        .guard = {.decision = -1, .action = -1, .risk = -1, .attack = "", .why = ""},
        .answer_guard = {.attack = ""},
    };
}

const struct sr_config_decision *sr_record_decision(const struct sr_record *record,
                                                    const struct sr_config *config)
{
    return record->decision.decision >= 0 ? &config->decisions[record->decision.decision] : NULL;
}

static const char *const outcomes[] = {
    [SR_OUTCOME_ROUTED] = "routed",     [SR_OUTCOME_DEFAULT] = "default", [SR_OUTCOME_PASSED] = "passed",
    [SR_OUTCOME_DEGRADED] = "degraded", [SR_OUTCOME_FAST] = "fast",       [SR_OUTCOME_LOCAL] = "local",
    [SR_OUTCOME_REFUSED] = "refused",   [SR_OUTCOME_SHED] = "shed",       [SR_OUTCOME_FAILED] = "failed",
    [SR_OUTCOME_BLOCKED] = "blocked",   [SR_OUTCOME_CACHED] = "cached",
};
static const char canceled[] = "canceled";

const char *sr_record_outcome(const struct sr_record *record)
{
    if (record->end == SR_END_CLIENT_GONE)
        return canceled;
    if (record->end == SR_END_UPSTREAM_LOST)
        return outcomes[SR_OUTCOME_FAILED];
    return record->has_verdict ? outcomes[record->outcome] : canceled;
}

bool sr_record_is_outcome(struct sr_bytes name)
{
    bool is = sr_bytes_eq(name, sr_bytes_str(canceled));
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        is |= outcomes[i] && sr_bytes_eq(name, sr_bytes_str(outcomes[i]));
    return is;
}

const char *sr_canary_side_name(enum sr_canary_side side)
{
    return side == SR_SIDE_CANARY ? "canary" : "control";
}

const char *sr_door_name(enum sr_door door)
{
    static const char *const names[] = {
        [SR_DOOR_LIBRARY] = "library", [SR_DOOR_GATEWAY] = "gateway", [SR_DOOR_EXTPROC] = "extproc"};
    return names[door];
}

const char *sr_record_failure(int status)
{
    switch (status) {
    case SR_ETIMEOUT:
        return "timeout";
    case SR_ECANCELED:
        return "canceled";
    case SR_EBUSY:
        return "busy";
    case SR_ELIMIT:
        return "limit";
    case SR_ENOENT:
        return "unavailable";
    default:
        return "error";
    }
}

const char *sr_guard_action_name(int action)
{
    static const char *const names[] = {[SR_GUARD_ALLOW] = "allow",
                                        [SR_GUARD_FLAG] = "flag",
                                        [SR_GUARD_ROUTE] = "route",
                                        [SR_GUARD_BLOCK] = "block",
                                        [SR_GUARD_REDACT] = "redact"};
    return action < 0 ? "" : names[action];
}

const char *sr_record_would(const struct sr_config_decision *decision)
{
    const struct sr_config_plugins *plugins = &decision->plugins;
    return plugins->guard.set           ? sr_guard_action_name((int)plugins->guard.action)
           : plugins->fast_response.set ? "reply"
                                        : "route";
}

const char *sr_record_entities(uint32_t types, struct sr_arena *arena)
{
    const char *names = "";
    for (int type = 0; type < SR_ENTITY_TYPES && names; type++)
        if (types >> type & 1)
            names = sr_arena_printf(arena, "%s%s%s", names, names[0] ? "," : "", sr_entity_names[type]);
    return names;
}

const char *sr_record_guard_name(const struct sr_record *record, const struct sr_config *config)
{
    const struct sr_record_guard *guard = &record->guard;
    return guard->denied || guard->decision < 0 ? "pii_policy" : config->decisions[guard->decision].name;
}

const char *sr_record_blocker(const struct sr_record *record, const struct sr_config *config)
{
    bool blocks = record->guard.denied || record->guard.action == SR_GUARD_BLOCK;
    return blocks && record->has_verdict && record->outcome == SR_OUTCOME_BLOCKED
               ? sr_record_guard_name(record, config)
               : NULL;
}

const char *sr_response_action_name(enum sr_response_action action)
{
    static const char *const names[] = {
        [SR_RESPONSE_HEADER] = "header", [SR_RESPONSE_BLOCK] = "block", [SR_RESPONSE_NONE] = "none"};
    return names[action];
}

double sr_record_coverage(const struct sr_signal_result *result)
{
    if (!result)
        return -1;
    if (result->status)
        return 0;
    return result->all_bytes ? (double)result->scanned_bytes / (double)result->all_bytes : 1;
}

double sr_record_cost(const struct sr_record *record, const struct sr_config *config)
{
    const struct sr_config_model *model = record->model >= 0 ? &config->models[record->model] : NULL;
    return model && model->pricing.set && record->usage.seen ? sr_record_price(record, model) : 0;
}

double sr_record_price(const struct sr_record *record, const struct sr_config_model *model)
{
    const struct sr_usage *usage = &record->usage;
    /* Cached tokens are part of the prompt tokens and may have a price of their own. */
    double plain = (double)usage->prompt, cost = 0;
    if (model->pricing.cached_input_per_1m > 0 && usage->cached <= usage->prompt) {
        plain -= (double)usage->cached;
        cost += (double)usage->cached * model->pricing.cached_input_per_1m;
    }
    if (model->pricing.cache_write_per_1m > 0 && (double)usage->cache_write <= plain) {
        plain -= (double)usage->cache_write;
        cost += (double)usage->cache_write * model->pricing.cache_write_per_1m;
    }
    cost +=
        plain * model->pricing.prompt_per_1m + (double)usage->completion * model->pricing.completion_per_1m;
    return cost / 1e6;
}

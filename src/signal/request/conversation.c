/* Conversation: the shape of a request: how many messages of a role, tools, calls and images it has. */
#include "base/mem.h"
#include "signal/types.h"

struct sr_signal_set {
    const struct sr_config_conversation *rules;
    size_t n;
};

static int conversation_compile(struct sr_signal_set **set, const struct sr_config *config,
                                struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    (void)err;
    if (config->n_conversations == 0)
        return SR_OK;
    *set = sr_mem_calloc(1, sizeof **set);
    if (!*set)
        return SR_ENOMEM;
    (*set)->rules = config->conversations;
    (*set)->n = config->n_conversations;
    return SR_OK;
}

static void conversation_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t conversation_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *conversation_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *conversation_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

/* Messages of a role; `developer` counts as one however many there are. */
static uint32_t messages(const struct sr_signal_facts *facts, const char *role)
{
    const struct {
        const char *role;
        uint32_t n;
    } roles[] = {{"user", facts->users},
                 {"assistant", facts->assistants},
                 {"system", facts->systems},
                 {"developer", facts->developer},
                 {"tool", facts->tools}};
    bool others = strcmp(role, "non_user") == 0;
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (!role[0] || (others && i > 0) || strcmp(role, roles[i].role) == 0)
            sum += roles[i].n;
    return sum;
}

static uint32_t count(const struct sr_config_conversation *rule, const struct sr_signal_facts *facts)
{
    switch (rule->source) {
    case SR_CONVERSATION_MESSAGE:
        return messages(facts, rule->role ? rule->role : "");
    case SR_CONVERSATION_TOOL_DEFINITION:
        return facts->definitions;
    case SR_CONVERSATION_TOOL_CHOICE_REQUIRED:
        return facts->tools_required;
    case SR_CONVERSATION_TOOL_CHOICE_NONE:
        return facts->tools_forbidden;
    case SR_CONVERSATION_TOOL_CALL:
        return facts->calls;
    case SR_CONVERSATION_TOOL_CYCLE:
        return facts->results;
    case SR_CONVERSATION_TOOL_LOOP:
        return facts->tool_loop;
    default:
        return facts->images;
    }
}

static int conversation_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                            struct sr_arena *arena, struct sr_signal_result *result)
{
    static const struct sr_signal_facts none = {0};
    const struct sr_signal_facts *facts = input->facts ? input->facts : &none;
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = set->n;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_conversation *rule = &set->rules[i];
        struct sr_signal_hit *hit = &result->hits[i];
        uint32_t n = count(rule, facts);
        hit->value = rule->counts ? n : n > 0;
        hit->matched = rule->counts ? !sr_predicate_any(&rule->predicate) ||
                                          sr_predicate_holds(&rule->predicate, hit->value)
                                    : n > 0;
        hit->confidence = hit->matched ? 1.0f : 0.0f;
    }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_conversation = {
    .name = "conversation",
    .header = "x-vsr-matched-conversation",
    .header_order = 8,
    .reads = SR_SIGNAL_READS_WHOLE,
    .facts = true,
    .cost_ns_per_kib = 1,
    .compile = conversation_compile,
    .free = conversation_free,
    .n_rules = conversation_rules,
    .rule_name = conversation_name,
    .rule_description = conversation_description,
    .run = conversation_run,
};

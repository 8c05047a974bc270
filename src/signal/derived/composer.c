/* Evaluated when the results are there, without confidences. */
#include "signal/derived/composer.h"

uint32_t sr_composer_types(const struct sr_config_rule *rule, int (*find)(struct sr_bytes name))
{
    uint32_t types = 0;
    if (rule->op == SR_RULE_LEAF) {
        int type = find(sr_bytes_str(rule->type));
        return type < 0 ? 0 : UINT32_C(1) << type;
    }
    for (size_t i = 0; i < rule->n_children; i++)
        types |= sr_composer_types(&rule->children[i], find);
    return types;
}

enum truth { NO, YES, DOUBT };

static enum truth leaf(const struct sr_config_rule *rule, const struct sr_signal_others *others, bool *unsure)
{
    struct sr_found found = others->found(others, rule->type, rule->name);
    if (!found.known) {
        *unsure = true;
        return rule->on_error == SR_ON_ERROR_MATCH ? YES : NO;
    }
    bool holds = sr_predicate_any(&rule->predicate) ? sr_predicate_holds(&rule->predicate, found.value)
                                                    : found.matched;
    return holds ? YES : NO;
}

static enum truth eval(const struct sr_config_rule *rule, const struct sr_signal_others *others, bool *unsure)
{
    if (rule->op == SR_RULE_LEAF)
        return leaf(rule, others, unsure);
    enum truth neutral = rule->op == SR_RULE_OR ? NO : YES, value = neutral;
    for (size_t i = 0; i < rule->n_children; i++) {
        enum truth child = eval(&rule->children[i], others, unsure);
        if (rule->op == SR_RULE_NOT)
            return child == DOUBT ? DOUBT : child == NO ? YES : NO;
        if (child == DOUBT)
            value = DOUBT;
        else if (child != neutral)
            return child;
    }
    return rule->op == SR_RULE_UNKNOWN ? DOUBT : value;
}

bool sr_composer_matches(const struct sr_config_rule *rule, const struct sr_signal_others *others,
                         bool *unsure)
{
    enum truth value = eval(rule, others, unsure);
    *unsure |= value == DOUBT;
    return value == YES;
}

/* Finds the rule and the action of each finding by the rule trees of the guards that matched. */
#include "router/report/findings.h"

/* True when a leaf of the tree, of the type `signal`, names this rule. */
static bool tree_names(const struct sr_config_rule *rule, const char *signal, const char *name)
{
    if (rule->op == SR_RULE_LEAF)
        return strcmp(rule->type, signal) == 0 && strcmp(rule->name, name) == 0;
    for (size_t i = 0; i < rule->n_children; i++)
        if (tree_names(&rule->children[i], signal, name))
            return true;
    return false;
}

/* True when a decision has a leaf of the type `signal`. */
static bool tree_asks(const struct sr_config_rule *rule, const char *signal)
{
    if (rule->op == SR_RULE_LEAF)
        return strcmp(rule->type, signal) == 0;
    for (size_t i = 0; i < rule->n_children; i++)
        if (tree_asks(&rule->children[i], signal))
            return true;
    return false;
}

struct rules {
    const struct sr_record *record;
    const struct sr_config *config;
    enum sr_signal_type type;
};

static size_t n_rules(const struct rules *r)
{
    return r->type == SR_SIGNAL_PII ? r->config->n_piis : r->config->n_jailbreaks;
}

static const char *rule_name(const struct rules *r, size_t rule)
{
    return r->type == SR_SIGNAL_PII ? r->config->piis[rule].name : r->config->jailbreaks[rule].name;
}

/* The rules of `jailbreak` are of two signals. */
static bool attack_counts(const struct rules *r, const struct sr_config_jailbreak *rule,
                          const struct sr_signal_finding *finding)
{
    bool contrastive = rule->method == SR_JAILBREAK_CONTRASTIVE;
    return contrastive == (r->type == SR_SIGNAL_CONTRASTIVE) && finding->confidence >= (float)rule->threshold;
}

static bool rule_counts(const struct rules *r, size_t rule, const struct sr_signal_finding *finding)
{
    return r->type == SR_SIGNAL_PII ? sr_signal_pii_counts(&r->config->piis[rule], finding)
                                    : attack_counts(r, &r->config->jailbreaks[rule], finding);
}

/* True when the decision matched, or would redact, because of this finding. */
static bool concerns(const struct rules *r, const struct sr_config_decision *decision,
                     const struct sr_signal_finding *finding)
{
    const char *signal = sr_signal_registry[r->type]->name;
    bool redacts = decision->plugins.guard.set && decision->plugins.guard.action == SR_GUARD_REDACT;
    bool asks = decision->has_rules && tree_asks(&decision->rules, signal);
    for (size_t i = 0; i < n_rules(r); i++)
        if (rule_counts(r, i, finding) && (asks ? tree_names(&decision->rules, signal, rule_name(r, i))
                                                : redacts && r->type == SR_SIGNAL_PII))
            return true;
    return false;
}

static const char *action_of(const struct rules *r, const struct sr_signal_finding *finding)
{
    const struct sr_record *record = r->record;
    const struct sr_record_guard *guard = &record->guard;
    bool policy = guard->denied && r->type == SR_SIGNAL_PII && guard->types >> finding->type & 1;
    if (policy)
        return sr_guard_action_name(SR_GUARD_BLOCK);
    if (guard->decision >= 0 && concerns(r, &r->config->decisions[guard->decision], finding))
        return sr_guard_action_name(guard->action);
    for (size_t i = 0; i < record->n_shadows; i++)
        if (concerns(r, &r->config->decisions[record->shadows[i].decision], finding))
            return "shadow";
    const struct sr_config_decision *routed = sr_record_decision(record, r->config);
    return routed && concerns(r, routed, finding) ? sr_record_would(routed) : "none";
}

static const char *type_name(const struct rules *r, const struct sr_signal_finding *finding)
{
    const struct sr_signal_result *result = r->record->results[r->type];
    if (r->type == SR_SIGNAL_PII)
        return sr_entity_names[finding->type];
    return finding->type < result->n_labels ? result->labels[finding->type] : "jailbreak";
}

static void put_finding(struct sr_json_writer *w, const struct rules *r,
                        const struct sr_signal_finding *finding)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "type", type_name(r, finding));
    sr_json_uint(w, "unit", finding->unit);
    sr_json_uint(w, "turn", finding->group);
    sr_json_text(w, "source", sr_signal_source_names[finding->source]);
    sr_json_uint(w, "start", finding->start);
    sr_json_uint(w, "end", finding->end);
    sr_json_real(w, "confidence", "%.4f", (double)finding->confidence);
    for (size_t i = 0; i < n_rules(r); i++)
        if (rule_counts(r, i, finding)) {
            sr_json_text(w, "rule", rule_name(r, i));
            break;
        }
    sr_json_text(w, "action", action_of(r, finding));
    sr_json_object_end(w);
}

/* The findings of a type: none where it failed; an attack only where a rule matched. */
static size_t count_of(const struct sr_record *record, enum sr_signal_type type)
{
    const struct sr_signal_result *result = record->results[type];
    bool any = type == SR_SIGNAL_PII;
    if (!result || result->status)
        return 0;
    for (size_t i = 0; !any && i < result->n_hits; i++)
        any = result->hits[i].matched;
    return any ? result->n_findings : 0;
}

size_t sr_findings_count(const struct sr_record *record)
{
    return count_of(record, SR_SIGNAL_JAILBREAK) + count_of(record, SR_SIGNAL_CONTRASTIVE) +
           count_of(record, SR_SIGNAL_PII);
}

/* Counts by type of the private data that is not listed; of attacks there are few. */
static void put_omitted(struct sr_json_writer *w, const struct sr_signal_result *pii, size_t from, size_t n)
{
    uint64_t counts[SR_ENTITY_TYPES] = {0};
    sr_json_uint(w, "findings_omitted", n - from);
    for (size_t i = from; i < n; i++)
        counts[pii->findings[i].type]++;
    sr_json_object(w, "omitted");
    for (int type = 0; type < SR_ENTITY_TYPES; type++)
        if (counts[type])
            sr_json_uint(w, sr_entity_names[type], counts[type]);
    sr_json_object_end(w);
}

void sr_findings_write(const struct sr_record *record, const struct sr_config *config,
                       struct sr_json_writer *w)
{
    static const enum sr_signal_type types[] = {SR_SIGNAL_JAILBREAK, SR_SIGNAL_CONTRASTIVE, SR_SIGNAL_PII};
    size_t listed = 0, of_pii = 0;
    if (!sr_findings_count(record))
        return;
    sr_json_array(w, "findings");
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct rules rules = {record, config, types[t]};
        size_t n = count_of(record, types[t]);
        of_pii = 0;
        for (size_t i = 0; i < n && listed < SR_FINDINGS_MAX; i++, listed++, of_pii++)
            put_finding(w, &rules, &record->results[types[t]]->findings[i]);
    }
    sr_json_array_end(w);
    size_t n = count_of(record, SR_SIGNAL_PII);
    if (n > of_pii)
        put_omitted(w, record->results[SR_SIGNAL_PII], of_pii, n);
}

/* `routing.decisions`: rule trees, candidates, plugins. Names of rules and models are checked in
 * config/link/. */
#include "config/section/plugins.h"

#define RULE(member)     offsetof(struct sr_config_rule, member)
#define REF(member)      offsetof(struct sr_config_model_ref, member)
#define DECISION(member) offsetof(struct sr_config_decision, member)

static const struct sr_enum_word operators[] = {
    {"AND", SR_RULE_AND}, {"OR", SR_RULE_OR}, {"NOT", SR_RULE_NOT}, {NULL, 0}};
const struct sr_enum_word sr_on_error_words[] = {
    {"no_match", SR_ON_ERROR_NO_MATCH}, {"match", SR_ON_ERROR_MATCH}, {NULL, 0}};

static const struct sr_field rule_fields[] = {
    {"operator", SR_FIELD_ENUM, RULE(op), .words = operators,
     .help = "AND, OR (over any number of `conditions`) or NOT (over one)"},
    {"conditions", SR_FIELD_LIST, RULE(children), RULE(n_children), .of = &sr_section_rule,
     .help = "rules, nested as deep as needed"},
    {"type", SR_FIELD_WORD, RULE(type), .words = sr_leaf_types, .later = sr_leaf_types_later,
     .flags = SR_FIELD_DROPPABLE, .help = "the signal type; `always` has no `name`, and matches"},
    {"name", SR_FIELD_TEXT, RULE(name), .help = "the name of one of that signal's rules"},
    {"on_error", SR_FIELD_ENUM, RULE(on_error), .words = sr_on_error_words,
     .def_note = "`match` in guards (not `allow`) and for jailbreak and pii, else `no_match`",
     .help = "the result when the signal failed, did not end before the deadline, or (jailbreak, pii) could "
             "not read all of the request"},
    {"predicate", SR_FIELD_OBJECT, RULE(predicate), .of = &sr_section_predicate,
     .help = "compares the value that the signal measured"},
};

static void finish_operator(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config_rule *rule)
{
    const struct sr_yaml_node *at = sr_bind_at(node, "conditions");
    if (sr_yaml_get(node, "type") || sr_yaml_get(node, "name"))
        sr_bind_error(b, node, "a rule has either `operator` and `conditions`, or `type` and `name`");
    else if (rule->op == SR_RULE_NOT && rule->n_children != 1)
        sr_bind_error(b, at, "NOT takes exactly one condition, found %zu", rule->n_children);
    else if (rule->op == SR_RULE_OR && rule->n_children == 0) {
        sr_bind_unsupported(b, at, "OR needs at least one condition; AND without any always matches");
        sr_bind_drop(b, node); /* some read it as always, others as never */
    }
}

static void finish_rule(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_rule *rule = target;
    const struct sr_yaml_node *type = sr_yaml_get(node, "type");
    rule->line = node->line;
    rule->column = node->column;
    rule->says_on_error = sr_yaml_get(node, "on_error") != NULL;
    if (node->count == 0)
        return;
    if (sr_yaml_get(node, "operator")) {
        finish_operator(b, node, rule);
        return;
    }
    if (sr_yaml_get(node, "conditions"))
        sr_bind_error(b, node, "`operator` is missing in this rule: AND, OR or NOT");
    else if (!type)
        sr_bind_error(b, node, "`type` is missing in this rule");
    else if (strcmp(rule->type, SR_RULE_ALWAYS) == 0) {
        rule->op = SR_RULE_AND; /* of nothing */
        rule->type = rule->name = "";
        return;
    } else if (!rule->type[0])
        rule->op = SR_RULE_UNKNOWN; /* of a type that is reported */
    else if (!rule->name[0])
        sr_bind_unsupported(b, node, "`name` is missing in this rule");
    if (b->lenient && !rule->name[0])
        rule->op = SR_RULE_UNKNOWN;
}

const struct sr_section sr_section_rule = {
    .name = "rule",
    .help = "Either `operator` and `conditions`, or `type` and `name` of a signal's rule.",
    .size = sizeof(struct sr_config_rule),
    SR_FIELDS(rule_fields),
    .exact = true,
    .later = (const char *const[]){"label", NULL},
    .finish = finish_rule,
};

static const struct sr_field ref_fields[] = {
    {"model", SR_FIELD_REF, .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "one of `providers.models`"},
    {"lora_name", SR_FIELD_TEXT, REF(lora_name),
     .help = "an adapter of that model; sent upstream as the model"},
    {"use_reasoning", SR_FIELD_BOOL, REF(use_reasoning),
     .def_note = "`use_reasoning` of the model's score in the domain, else `false`",
     .help = "whether the model uses reasoning"},
    {"reasoning_effort", SR_FIELD_WORD, REF(reasoning_effort), .words = sr_effort_words,
     .def_note = "`default_reasoning_effort`", .help = "the reasoning effort"},
    {"reasoning_description", SR_FIELD_TEXT, REF(reasoning_description),
     .help = "why, for people: shown by `explain` and in the access log"},
};

static void prepare_ref(void *target)
{
    ((struct sr_config_model_ref *)target)->model = -1;
}

static void finish_ref(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    (void)b;
    ((struct sr_config_model_ref *)target)->says_reasoning = sr_yaml_get(node, "use_reasoning") != NULL;
}

static const struct sr_section ref_section = {
    .name = "modelRef",
    .help = "A candidate for the requests that the decision matches.",
    .size = sizeof(struct sr_config_model_ref),
    SR_FIELDS(ref_fields),
    .inert =
        (const struct sr_inert_key[]){{"weight",
                                       "an algorithm or the scores choose, and else the first; a share of "
                                       "requests is `global.semroute.canaries`",
                                       false},
                                      {NULL, NULL, false}},
    .prepare = prepare_ref,
    .finish = finish_ref,
};

#define SR_INERT_CONTRACT "only algorithms that ask several models read it, and there is none of those"

static const struct sr_enum_word modes[] = {
    {"enforce", SR_MODE_ENFORCE}, {"shadow", SR_MODE_SHADOW}, {NULL, 0}};

static const struct sr_field decision_fields[] = {
    {"name", SR_FIELD_TEXT, DECISION(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "shown in headers, metrics and logs"},
    {"description", SR_FIELD_TEXT, DECISION(description), .help = "for people: shown by `explain`"},
    {"priority", SR_FIELD_INT64, DECISION(priority), .def = "0", .min = -1e9, .max = 1e9,
     .help = "of several that match, the highest wins (strategy `priority`)"},
    {"tier", SR_FIELD_INT64, DECISION(tier), .def = "0", .max = 1e9,
     .help = "with any tier above 0, the lowest tier goes first"},
    {"mode", SR_FIELD_ENUM, DECISION(mode), .words = modes, .def = "enforce",
     .help = "shadow: the decision is evaluated and recorded (metrics, logs, `explain`), and has no effect"},
    {"share", SR_FIELD_NUMBER, DECISION(share), .def = "1", .min = 0, .max = 1, .flags = SR_FIELD_EXCLUSIVE,
     .help = "the share of requests for which the decision counts; the same request always falls on the same "
             "side"},
    {"rules", SR_FIELD_OBJECT, DECISION(rules), .of = &sr_section_rule, .help = "when the decision matches",
     .def_note = "always"},
    {"modelRefs", SR_FIELD_LIST, DECISION(refs), DECISION(n_refs), .of = &ref_section,
     .help = "the candidates", .def_note = "the default model"},
    {"algorithm", SR_FIELD_OBJECT, DECISION(algorithm), .of = &sr_section_algorithm,
     .help = "how one of several candidates is chosen"},
    {"plugins", SR_FIELD_PLUGINS, DECISION(plugins), .variants = sr_plugins, .later = sr_plugins_later,
     .help = "what else happens to the request"},
    {"emits", SR_FIELD_LIST, DECISION(emits), DECISION(n_emits), .of = &sr_section_emit,
     .help = "what is to be kept of the conversation"},
    {"adaptations", SR_FIELD_OBJECT, DECISION(adaptations), .of = &sr_section_adaptations,
     .help = "what `global.router.learning` may do to its requests"},
    {"reliability", SR_FIELD_OBJECT, DECISION(retry), .of = &sr_section_reliability_of_decision,
     .help = "what happens when a worker fails one of its requests"},
};

static void finish_decision(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_yaml_node *rules = sr_yaml_get(node, "rules");
    struct sr_config_decision *decision = target;
    decision->has_rules = rules && rules->kind == SR_YAML_MAP && rules->count > 0;
    if (decision->n_emits > 1)
        sr_bind_error(b, sr_yaml_get(node, "emits"), "decision `%.60s` has more than one `retention`",
                      decision->name);
}

const struct sr_section sr_section_decision = {
    .name = "decision",
    .help = "Which requests it is for, and what happens to them.",
    .size = sizeof(struct sr_config_decision),
    SR_FIELDS(decision_fields),
    .later = (const char *const[]){"candidateIterations", NULL},
    .inert = (const struct sr_inert_key[]){{"annotations", SR_INERT_NOTE, false},
                                           {"output_contract", SR_INERT_CONTRACT, false},
                                           {"output_contract_spec", SR_INERT_CONTRACT, false},
                                           {NULL, NULL, false}},
    .finish = finish_decision,
};

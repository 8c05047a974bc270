/* Rules that compare the meaning of texts, or ask a small classifier: `complexity`, `reasks`, `preferences`,
 * `kb`, `fact_check`, `user_feedbacks` and `modality` of `routing.signals`, and the knowledge bases of
 * `global.model_catalog`. The signal layer evaluates them. */
#include "config/section/section.h"

#include <string.h>

#include <math.h>

#define COMPLEXITY(member) offsetof(struct sr_config_complexity, member)
#define REASK(member)      offsetof(struct sr_config_reask, member)
#define PREFERENCE(member) offsetof(struct sr_config_preference, member)
#define KB(member)         offsetof(struct sr_config_kb, member)
#define KB_RULE(member)    offsetof(struct sr_config_kb_rule, member)
#define LABEL(member)      offsetof(struct sr_config_label, member)
#define NAMED              SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY
#define SCORING_INERT                                                                                        \
    (const struct sr_inert_key[])                                                                            \
    {                                                                                                        \
        {"prototype_scoring", SR_INERT_PROTOTYPES, true},                                                    \
        {                                                                                                    \
            NULL, NULL, false                                                                                \
        }                                                                                                    \
    }

static const struct sr_field side_fields[] = {
    {"candidates", SR_FIELD_TEXTS, 0, .flags = NAMED, .help = "texts of this difficulty"},
};

static const struct sr_section side_section = {
    .name = "side of a complexity rule",
    .help = "Texts of one difficulty.",
    SR_FIELDS(side_fields),
    .later = (const char *const[]){"image_candidates", NULL},
};

static const struct sr_field complexity_fields[] = {
    {"name", SR_FIELD_TEXT, COMPLEXITY(name), .flags = NAMED,
     .help = "rules refer to NAME:hard, NAME:medium and NAME:easy"},
    {"description", SR_FIELD_TEXT, COMPLEXITY(description), .help = "for people: shown by `explain`"},
    {"threshold", SR_FIELD_NUMBER, COMPLEXITY(threshold), .def = "0", .min = 0, .max = 2,
     .help =
         "hard is a text that is nearer to the hard candidates by more than this, easy one that is nearer "
         "to the easy ones; medium is between"},
    {"hard_above", SR_FIELD_NUMBER, COMPLEXITY(hard_above), .min = -2, .max = 2, .def_note = "`threshold`",
     .help = "with `easy_below`: hard is above this margin"},
    {"easy_below", SR_FIELD_NUMBER, COMPLEXITY(easy_below), .min = -2, .max = 2,
     .def_note = "the negative of `threshold`", .help = "with `hard_above`: easy is below this margin"},
    {"hard", SR_FIELD_OBJECT, COMPLEXITY(hard), .of = &side_section, .flags = SR_FIELD_REQUIRED,
     .help = "hard requests"},
    {"easy", SR_FIELD_OBJECT, COMPLEXITY(easy), .of = &side_section, .flags = SR_FIELD_REQUIRED,
     .help = "easy requests"},
    {"composer", SR_FIELD_OBJECT, COMPLEXITY(composer), .of = &sr_section_rule,
     .help = "conditions that must match, too"},
};

static void prepare_complexity(void *target)
{
    struct sr_config_complexity *rule = target;
    rule->hard_above = rule->easy_below = NAN;
}

static void finish_complexity(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_complexity *rule = target;
    const struct sr_yaml_node *composer = sr_yaml_get(node, "composer");
    rule->has_composer = composer && composer->kind == SR_YAML_MAP && composer->count > 0;
    bool above = !isnan(rule->hard_above), below = !isnan(rule->easy_below);
    if (above != below)
        sr_bind_error(b, node, "`hard_above` and `easy_below` are given together, or `threshold`");
    else if (above && sr_yaml_get(node, "threshold"))
        sr_bind_error(b, sr_bind_at(node, "threshold"),
                      "`threshold` stands in place of `hard_above` and `easy_below`");
    else if (above && rule->easy_below > rule->hard_above)
        sr_bind_error(b, sr_bind_at(node, "easy_below"), "`easy_below` is above `hard_above`");
}

const struct sr_section sr_section_complexity = {
    .name = "complexity rule",
    .help = "How hard a request is, by texts that it is near to in meaning.",
    .size = sizeof(struct sr_config_complexity),
    SR_FIELDS(complexity_fields),
    .later = (const char *const[]){"hard_below", "easy_above", NULL},
    .inert = SCORING_INERT,
    .prepare = prepare_complexity,
    .finish = finish_complexity,
};

static const struct sr_field reask_fields[] = {
    {"name", SR_FIELD_TEXT, REASK(name), .flags = NAMED, .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, REASK(description), .help = "for people: shown by `explain`"},
    {"threshold", SR_FIELD_NUMBER, REASK(threshold), .def = "0.8", .min = -1, .max = 1,
     .help = "the cosine similarity from which a turn repeats another"},
    {"lookback_turns", SR_FIELD_INT, REASK(lookback_turns), .def = "1", .min = 1, .max = 8,
     .help = "how many turns of the user, one after the other, the last one repeats"},
};

const struct sr_section sr_section_reask = {
    .name = "reask rule",
    .help = "The user's text repeats the meaning of earlier turns. Of rules that match, those with the most "
            "`lookback_turns` count.",
    .size = sizeof(struct sr_config_reask),
    SR_FIELDS(reask_fields),
};

static const struct sr_field preference_fields[] = {
    {"name", SR_FIELD_TEXT, PREFERENCE(name), .flags = NAMED, .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, PREFERENCE(description), .def_note = "its `name`",
     .help = "shown by `explain`; without `examples` the text that requests are compared with"},
    {"examples", SR_FIELD_TEXTS, PREFERENCE(examples), .def_note = "`description`",
     .help = "texts with the meaning that the rule stands for"},
    {"threshold", SR_FIELD_NUMBER, PREFERENCE(threshold), .def = "0", .min = 0, .max = 1,
     .help = "the nearness from which it matches; 0 = any"},
};

static void finish_preference(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_preference *rule = target;
    if (rule->examples.count || rule->description[0] || !rule->name)
        return;
    sr_bind_warning(
        b, node,
        "preference `%.60s` has no `examples` and no `description`: requests are compared with its "
        "name",
        rule->name);
    char *words = sr_bind_calloc(b, strlen(rule->name) + 1, 1);
    for (size_t i = 0; words && rule->name[i]; i++)
        words[i] = rule->name[i] == '_' || rule->name[i] == '-' ? ' ' : rule->name[i];
    rule->description = words ? words : "";
}

const struct sr_section sr_section_preference = {
    .name = "preference rule",
    .help = "Of all preferences, the one whose texts are nearest to the user's text matches.",
    .size = sizeof(struct sr_config_preference),
    SR_FIELDS(preference_fields),
    .finish = finish_preference,
};

static const struct sr_enum_word kinds[] = {{"label", 0}, {"group", 1}, {NULL, 0}};
static const struct sr_enum_word matches[] = {{"threshold", 0}, {"best", 1}, {NULL, 0}};

static const struct sr_field target_fields[] = {
    {"kind", SR_FIELD_ENUM, KB_RULE(is_group), .words = kinds, .flags = SR_FIELD_REQUIRED,
     .help = "what `value` names"},
    {"value", SR_FIELD_TEXT, KB_RULE(value), .flags = NAMED, .help = "a label, or a group of labels"},
};

static const struct sr_section target_section = {
    .name = "knowledge base target",
    .help = "What a rule of type `kb` stands for.",
    SR_FIELDS(target_fields),
};

static const struct sr_field kb_rule_fields[] = {
    {"name", SR_FIELD_TEXT, KB_RULE(name), .flags = NAMED, .help = "the name that rules refer to"},
    {"kb", SR_FIELD_TEXT, KB_RULE(kb), .flags = NAMED,
     .help = "one of `global.model_catalog.kbs`, or `mmlu_kb`"},
    {"target", SR_FIELD_OBJECT, .of = &target_section, .flags = SR_FIELD_REQUIRED,
     .help = "what it stands for"},
    {"match", SR_FIELD_ENUM, KB_RULE(is_best), .words = matches, .def = "threshold",
     .help = "best: it is nearer than all others; threshold: it reaches its threshold"},
};

const struct sr_section sr_section_kb_rule = {
    .name = "kb rule",
    .help = "A label or a group of a knowledge base that the user's text is near to.",
    .size = sizeof(struct sr_config_kb_rule),
    SR_FIELDS(kb_rule_fields),
};

static const struct sr_field kb_source_fields[] = {
    {"path", SR_FIELD_TEXT, KB(path), .flags = NAMED,
     .help = "a folder; if it is relative, in the folder of the configuration"},
    {"manifest", SR_FIELD_TEXT, KB(manifest), .def = "labels.json", .flags = SR_FIELD_NOT_EMPTY,
     .help = "the file in it: `{\"labels\": {NAME: {\"exemplars\": [TEXT, ...]}}}`"},
};

static const struct sr_section kb_source_section = {
    .name = "knowledge base source",
    .help = "Where the texts are.",
    SR_FIELDS(kb_source_fields),
};

static const struct sr_field metric_fields[] = {
    {"name", SR_FIELD_TEXT, offsetof(struct sr_config_kb_metric, name), .flags = NAMED,
     .help = "the name that inputs of type `kb_metric` refer to"},
    {"type", SR_FIELD_WORD, .words = (const struct sr_enum_word[]){{"group_margin", 0}, {NULL, 0}},
     .def = "group_margin", .flags = SR_FIELD_DECLARED,
     .help = "group_margin: how much nearer the one group is than the other"},
    {"positive_group", SR_FIELD_TEXT, offsetof(struct sr_config_kb_metric, positive_group), .flags = NAMED,
     .help = "the group whose nearness counts"},
    {"negative_group", SR_FIELD_TEXT, offsetof(struct sr_config_kb_metric, negative_group), .flags = NAMED,
     .help = "the group whose nearness is subtracted"},
};

static const struct sr_section metric_section = {
    .name = "knowledge base metric",
    .help = "A number that a score of `routing.projections` can have as an input.",
    .size = sizeof(struct sr_config_kb_metric),
    SR_FIELDS(metric_fields),
};

static const struct sr_field kb_fields[] = {
    {"name", SR_FIELD_TEXT, KB(name), .flags = NAMED, .help = "the name that kb rules refer to"},
    {"source", SR_FIELD_OBJECT, .of = &kb_source_section, .flags = SR_FIELD_REQUIRED,
     .help = "where the texts are"},
    {"threshold", SR_FIELD_NUMBER, KB(threshold), .def = "0", .min = -1, .max = 1,
     .help = "the nearness from which a label matches"},
    {"label_thresholds", SR_FIELD_PAIRS, KB(label_thresholds), .help = "the same for single labels"},
    {"groups", SR_FIELD_TEXT_MAP, KB(groups), KB(n_groups), .help = "labels under a common name"},
    {"metrics", SR_FIELD_LIST, KB(metrics), KB(n_metrics), .of = &metric_section,
     .help = "numbers beyond `best_score` and `best_matched_score`"},
};

const struct sr_section sr_section_kb = {
    .name = "knowledge base",
    .help = "Labels with example texts that requests are compared with.",
    .size = sizeof(struct sr_config_kb),
    SR_FIELDS(kb_fields),
    .inert = SCORING_INERT,
};

/* ---- rules that are labels ---- */

static const char *const fact_check_labels[] = {"no_fact_check_needed", "needs_fact_check", NULL};
static const char *const feedback_labels[] = {"satisfied", "need_clarification", "wrong_answer",
                                              "want_different", NULL};
static const char *const modality_labels[] = {"AR", "DIFFUSION", "BOTH", NULL};

static bool same(char a, char b)
{
    return (a == '-' ? '_' : sr_ascii_lower(a)) == (b == '-' ? '_' : sr_ascii_lower(b));
}

/* The label that a name ends with, the longest; -1 for none. */
static int label_of(const char *name, const char *const *labels)
{
    size_t n = strlen(name), longest = 0;
    int found = -1;
    for (int i = 0; labels[i]; i++) {
        size_t k = strlen(labels[i]), at = 0;
        while (at < k && k <= n && same(name[n - k + at], labels[i][at]))
            at++;
        if (at == k && k > longest) {
            longest = k;
            found = i;
        }
    }
    return found;
}

static void finish_label(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config_label *rule,
                         const char *const *labels, int fallback)
{
    rule->label = label_of(rule->name, labels);
    if (rule->label >= 0)
        return;
    rule->label = fallback;
    sr_bind_warning(b, sr_bind_at(node, "name"),
                    "`%.60s` ends with no label of the classifier: it stands for `%s`", rule->name,
                    labels[fallback]);
}

static void finish_fact_check(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    finish_label(b, node, target, fact_check_labels, 1);
}

static void finish_feedback(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    finish_label(b, node, target, feedback_labels, 2);
}

static void finish_modality(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_label *rule = target;
    rule->label = label_of(rule->name, modality_labels);
    if (rule->label < 0)
        sr_bind_error(b, sr_bind_at(node, "name"),
                      "`name`: expected `AR`, `DIFFUSION` or `BOTH`, found `%.40s`", rule->name);
}

static const struct sr_field label_fields[] = {
    {"name", SR_FIELD_TEXT, LABEL(name), .flags = NAMED,
     .help = "the name that rules refer to: a label of the classifier, or a word that ends with one"},
    {"description", SR_FIELD_TEXT, LABEL(description), .help = "for people: shown by `explain`"},
};

const struct sr_section sr_section_fact_check = {
    .name = "fact_check rule",
    .help = "Whether an answer to the user's text states facts that could be checked: `needs_fact_check` or "
            "`no_fact_check_needed`.",
    .size = sizeof(struct sr_config_label),
    SR_FIELDS(label_fields),
    .finish = finish_fact_check,
};

const struct sr_section sr_section_feedback = {
    .name = "user_feedback rule",
    .help =
        "What the user says about the answer before: `satisfied`, `need_clarification`, `wrong_answer` or "
        "`want_different`.",
    .size = sizeof(struct sr_config_label),
    SR_FIELDS(label_fields),
    .finish = finish_feedback,
};

const struct sr_section sr_section_modality = {
    .name = "modality rule",
    .help = "What the user asks for: a text (`AR`), an image (`DIFFUSION`) or both (`BOTH`).",
    .size = sizeof(struct sr_config_label),
    SR_FIELDS(label_fields),
    .finish = finish_modality,
};

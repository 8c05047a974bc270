/* What a condition may name, and the predicate that it may have. */
#include "config/section/section.h"

#include <math.h>

/* A type of sr_section_signals each, by the name of its section: "TYPE rule". */
const struct sr_enum_word sr_leaf_types[] = {
    {"keyword", 0},      {"domain", 0},     {"context", 0},
    {"structure", 0},    {"language", 0},   {"jailbreak", 0},
    {"pii", 0},          {"embedding", 0},  {"conversation", 0},
    {"metadata", 0},     {"event", 0},      {"authz", 0},
    {"modality", 0},     {"fact_check", 0}, {"user_feedback", 0},
    {"reask", 0},        {"preference", 0}, {"complexity", 0},
    {"kb", 0},           {"workload", 0}, /* its rules are the words of enum sr_workload */
    {"projection", 0},                    /* its rules are the outputs of mappings */
    {SR_RULE_ALWAYS, 0}, {NULL, 0},
};
const char *const sr_leaf_types_later[] = {"classifier", NULL};

static const struct sr_field predicate_fields[] = {
    {"gt", SR_FIELD_NUMBER, offsetof(struct sr_config_predicate, gt), .help = "above"},
    {"gte", SR_FIELD_NUMBER, offsetof(struct sr_config_predicate, gte), .help = "at least"},
    {"lt", SR_FIELD_NUMBER, offsetof(struct sr_config_predicate, lt), .help = "below"},
    {"lte", SR_FIELD_NUMBER, offsetof(struct sr_config_predicate, lte), .help = "at most"},
};

static void prepare_predicate(void *target)
{
    *(struct sr_config_predicate *)target = (struct sr_config_predicate){NAN, NAN, NAN, NAN};
}

static void finish_predicate(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_predicate *p = target;
    double low = fmax(p->gt, p->gte), high = fmin(p->lt, p->lte); /* a NAN side gives the other */
    bool strict = p->gt >= low || p->lt <= high;
    if (node->count == 0)
        sr_bind_error(b, node, "a predicate needs at least one of `gt`, `gte`, `lt`, `lte`");
    else if (low > high || (low == high && strict))
        sr_bind_error(b, node, "no number satisfies this predicate");
}

const struct sr_section sr_section_predicate = {
    .name = "predicate",
    .help = "A comparison of a measured value; all given bounds must hold.",
    SR_FIELDS(predicate_fields),
    .exact = true,
    .prepare = prepare_predicate,
    .finish = finish_predicate,
};

/* `routing.projections`: what is computed from the results of signals. The signal layer computes it; names
 * are checked in config/link/. */
#include "config/section/section.h"

#include <math.h>

#define PARTITION(member) offsetof(struct sr_config_partition, member)
#define SCORE(member)     offsetof(struct sr_config_score, member)
#define INPUT(member)     offsetof(struct sr_config_score_input, member)
#define MAPPING(member)   offsetof(struct sr_config_mapping, member)
#define BAND(member)      offsetof(struct sr_config_band, member)
#define NAMED             SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY

static const struct sr_enum_word semantics[] = {{"exclusive", 0}, {"softmax_exclusive", 1}, {NULL, 0}};

static const struct sr_field partition_fields[] = {
    {"name", SR_FIELD_TEXT, PARTITION(name), .flags = NAMED, .help = "the name of the partition"},
    {"semantics", SR_FIELD_ENUM, PARTITION(softmax), .words = semantics, .def = "exclusive",
     .help = "exclusive: of the members that match, only the one with the highest confidence does; "
             "softmax_exclusive: the same, and its confidence becomes its share among them"},
    {"temperature", SR_FIELD_NUMBER, PARTITION(temperature), .def = "1", .min = 0, .max = 1000,
     .flags = SR_FIELD_EXCLUSIVE, .help = "of softmax_exclusive: the lower, the more the best one gets"},
    {"members", SR_FIELD_TEXTS, PARTITION(members), .flags = NAMED,
     .help = "names of rules, all of type `domain` or all of type `embedding`"},
    {"default", SR_FIELD_TEXT, PARTITION(fallback), .help = "the member that matches where none does"},
};

static const struct sr_section partition_section = {
    .name = "partition",
    .help = "Rules of which at most one matches.",
    .size = sizeof(struct sr_config_partition),
    SR_FIELDS(partition_fields),
};

static const struct sr_enum_word values[] = {{"binary", SR_PROJECTION_BINARY},
                                             {"confidence", SR_PROJECTION_CONFIDENCE},
                                             {"score", SR_PROJECTION_BINARY},
                                             {"raw", SR_PROJECTION_RAW},
                                             {NULL, 0}};

static const struct sr_field input_fields[] = {
    {"type", SR_FIELD_TEXT, INPUT(type), .flags = NAMED, .help = "a signal type, or `kb_metric`"},
    {"name", SR_FIELD_TEXT, INPUT(name), .help = "the name of one of that signal's rules"},
    {"kb", SR_FIELD_TEXT, INPUT(kb), .help = "of type `kb_metric`: the knowledge base"},
    {"metric", SR_FIELD_TEXT, INPUT(metric),
     .help = "of type `kb_metric`: one of its `metrics`, `best_score` or `best_matched_score`"},
    {"weight", SR_FIELD_NUMBER, INPUT(weight), .flags = SR_FIELD_REQUIRED, .help = "the factor of its value"},
    {"value_source", SR_FIELD_ENUM, INPUT(value), .words = values, .def = "binary",
     .help =
         "confidence: that of the rule where it matches, else 0; raw: what it measured; binary: `match` or "
         "`miss`. A `kb_metric` has its own value"},
    {"match", SR_FIELD_NUMBER, INPUT(match), .def = "1",
     .help = "of binary: the value when the rule matches"},
    {"miss", SR_FIELD_NUMBER, INPUT(miss), .def = "0", .help = "of binary: the value when it does not"},
};

static void finish_input(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_score_input *input = target;
    bool metric = strcmp(input->type, "kb_metric") == 0;
    if (metric && (!input->kb[0] || !input->metric[0]))
        sr_bind_error(b, node, "an input of type `kb_metric` needs `kb` and `metric`");
    else if (!metric && !input->name[0])
        sr_bind_error(b, node, "`name` is missing in this input");
}

static const struct sr_section input_section = {
    .name = "score input",
    .help = "The contribution of one signal's rule.",
    .size = sizeof(struct sr_config_score_input),
    SR_FIELDS(input_fields),
    .finish = finish_input,
};

static const struct sr_field score_fields[] = {
    {"name", SR_FIELD_TEXT, SCORE(name), .flags = NAMED, .help = "the name that mappings refer to"},
    {"method", SR_FIELD_WORD, .words = (const struct sr_enum_word[]){{"weighted_sum", 0}, {NULL, 0}},
     .def = "weighted_sum", .flags = SR_FIELD_DECLARED,
     .help = "weighted_sum: the sum of weight times value"},
    {"inputs", SR_FIELD_LIST, SCORE(inputs), SCORE(n_inputs), .of = &input_section, .flags = NAMED,
     .help = "what is added"},
};

static const struct sr_section score_section = {
    .name = "score",
    .help = "A number from the results of several rules.",
    .size = sizeof(struct sr_config_score),
    SR_FIELDS(score_fields),
};

static const struct sr_field calibration_fields[] = {
    {"method", SR_FIELD_WORD, .words = (const struct sr_enum_word[]){{"sigmoid_distance", 0}, {NULL, 0}},
     .def = "sigmoid_distance", .flags = SR_FIELD_DECLARED,
     .help = "sigmoid_distance: the confidence grows with the distance to the nearest bound"},
    {"slope", SR_FIELD_NUMBER, MAPPING(slope), .def = "12", .min = 0, .max = 1e6, .flags = SR_FIELD_EXCLUSIVE,
     .help = "how fast"},
};

static const struct sr_section calibration_section = {
    .name = "calibration",
    .help = "The confidence of a mapping's outputs.",
    SR_FIELDS(calibration_fields),
};

static const struct sr_field band_fields[] = {
    {"name", SR_FIELD_TEXT, BAND(name), .flags = NAMED,
     .help = "the name that rules of type `projection` refer to"},
    {"gt", SR_FIELD_NUMBER, BAND(bounds.gt), .help = "above"},
    {"gte", SR_FIELD_NUMBER, BAND(bounds.gte), .help = "at least"},
    {"lt", SR_FIELD_NUMBER, BAND(bounds.lt), .help = "below"},
    {"lte", SR_FIELD_NUMBER, BAND(bounds.lte), .help = "at most"},
};

static void prepare_band(void *target)
{
    ((struct sr_config_band *)target)->bounds = (struct sr_config_predicate){NAN, NAN, NAN, NAN};
}

static const struct sr_section band_section = {
    .name = "mapping output",
    .help = "A name for a range of the score; all given bounds must hold, without any it always fits.",
    .size = sizeof(struct sr_config_band),
    SR_FIELDS(band_fields),
    .prepare = prepare_band,
};

static const struct sr_enum_word methods[] = {{"threshold_bands", 0}, {"multi_emit", 1}, {NULL, 0}};

static const struct sr_field mapping_fields[] = {
    {"name", SR_FIELD_TEXT, MAPPING(name), .flags = NAMED, .help = "the name of the mapping"},
    {"source", SR_FIELD_TEXT, MAPPING(source), .flags = NAMED, .help = "one of `scores`"},
    {"method", SR_FIELD_ENUM, MAPPING(all), .words = methods, .def = "threshold_bands",
     .help = "threshold_bands: the first output that fits matches; multi_emit: every one"},
    {"calibration", SR_FIELD_OBJECT, .of = &calibration_section, .help = "the confidence of the outputs"},
    {"outputs", SR_FIELD_LIST, MAPPING(bands), MAPPING(n_bands), .of = &band_section, .flags = NAMED,
     .help = "names for ranges of the score"},
};

static const struct sr_section mapping_section = {
    .name = "mapping",
    .help = "Names for ranges of a score, which rules refer to.",
    .size = sizeof(struct sr_config_mapping),
    SR_FIELDS(mapping_fields),
};

static const struct sr_field projections_fields[] = {
    {"partitions", SR_FIELD_LIST, offsetof(struct sr_config, partitions),
     offsetof(struct sr_config, n_partitions), .of = &partition_section,
     .help = "rules of which at most one matches"},
    {"scores", SR_FIELD_LIST, offsetof(struct sr_config, scores), offsetof(struct sr_config, n_scores),
     .of = &score_section, .help = "numbers from the results of several rules"},
    {"mappings", SR_FIELD_LIST, offsetof(struct sr_config, mappings), offsetof(struct sr_config, n_mappings),
     .of = &mapping_section, .help = "names for ranges of scores"},
};

const struct sr_section sr_section_projections = {
    .name = "projections",
    .help = "What is computed from the results of signals, for rules of type `projection`.",
    SR_FIELDS(projections_fields),
};

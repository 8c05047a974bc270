/* Thresholds of the classifiers behind the `fact_check` and `user_feedback` signals, where vLLM Semantic
 * Router's file has them. What else it says there is about checking answers, which stays out. */
#include "config/section/section.h"

#define GLOBAL(member) offsetof(struct sr_config_global, member)

#define SR_INERT_OWN_HEAD "the signal has a built-in classifier"
#define SR_INERT_ANSWERS  "answers are not compared with their sources"
#define INERT_CLASSIFIER                                                                                     \
    (const struct sr_inert_key[])                                                                            \
    {                                                                                                        \
        SR_INERT_CLASSIFIER, {"model_id", SR_INERT_OWN_HEAD, true}, {"enabled", SR_INERT_ENABLED, false},    \
            {"fact_check_mapping_path", SR_INERT_LABELS, false},                                             \
            {"feedback_mapping_path", SR_INERT_LABELS, false},                                               \
        {                                                                                                    \
            NULL, NULL, false                                                                                \
        }                                                                                                    \
    }
#define DEFAULT 0.5

/* 0 is what other programs write for a threshold that is not set. */
static void set_default(double *threshold)
{
    if (*threshold == 0)
        *threshold = DEFAULT;
}

static void finish_fact_check(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    (void)b;
    (void)node;
    set_default(&((struct sr_config_global *)target)->fact_check_threshold);
}

static const struct sr_field fact_check_fields[] = {
    {"threshold", SR_FIELD_NUMBER, GLOBAL(fact_check_threshold), .def = "0.5", .min = 0, .max = 1,
     .help = "the probability from which a text is `needs_fact_check`; 0 = the default"},
};

static const struct sr_section fact_check_section = {
    .name = "fact_check classifier",
    .help = "The classifier behind the `fact_check` signal.",
    SR_FIELDS(fact_check_fields),
    .inert = INERT_CLASSIFIER,
    .finish = finish_fact_check,
};

static const struct sr_field hallucination_fields[] = {
    {"enabled", SR_FIELD_BOOL, .def = "false", .flags = SR_FIELD_DECLARED,
     .help = "only `false`: answers are not compared with their sources"},
    {"fact_check", SR_FIELD_OBJECT, .of = &fact_check_section,
     .help = "the classifier behind the `fact_check` signal"},
};

static void finish_hallucination(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_yaml_node *enabled = sr_yaml_get(node, "enabled");
    bool on = false;
    (void)target;
    if (enabled && sr_yaml_to_bool(enabled, &on) && on)
        sr_bind_unsupported(
            b, enabled,
            "`hallucination_mitigation` is not supported by this version of semroute: answers "
            "are read for attacks alone");
}

const struct sr_section sr_section_hallucination = {
    .name = "hallucination_mitigation",
    .help = "Of this only the classifier of the `fact_check` signal acts.",
    SR_FIELDS(hallucination_fields),
    .inert = (const struct sr_inert_key[]){{"on_hallucination_detected", SR_INERT_ANSWERS, false},
                                           {"detector", SR_INERT_ANSWERS, false},
                                           {"explainer", SR_INERT_ANSWERS, false},
                                           {NULL, NULL, false}},
    .finish = finish_hallucination,
};

static const struct sr_field feedback_fields[] = {
    {"threshold", SR_FIELD_NUMBER, GLOBAL(feedback_threshold), .def = "0.5", .min = 0, .max = 1,
     .help = "the probability from which a label counts; 0 = the default"},
};

static void finish_feedback(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    (void)b;
    (void)node;
    set_default(&((struct sr_config_global *)target)->feedback_threshold);
}

const struct sr_section sr_section_feedback_detector = {
    .name = "feedback_detector",
    .help = "The classifier behind the `user_feedback` signal.",
    SR_FIELDS(feedback_fields),
    .inert = INERT_CLASSIFIER,
    .finish = finish_feedback,
};

/* `global.semroute.canaries`: a share of a recipe's requests that is routed in a new way. Names are checked
 * in config/link/canaries.c. */
#include "config/section/section.h"

#define CANARY(member) offsetof(struct sr_config_canary, member)
#define NAMED          SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY

static const struct sr_enum_word keys[] = {
    {"user", SR_CANARY_USER}, {"session", SR_CANARY_SESSION}, {NULL, 0}};

static const struct sr_field classifier_fields[] = {
    {"domain", SR_FIELD_TEXT, CANARY(domain_model), .def_note = "the configured one",
     .help = "as `model_id` of the module `classifier.domain`"},
    {"jailbreak", SR_FIELD_TEXT, CANARY(jailbreak_model), .def_note = "the configured one",
     .help = "as `model_id` of the module `prompt_guard`"},
    {"pii", SR_FIELD_TEXT, CANARY(pii_model), .def_note = "the configured one",
     .help = "as `model_id` of the module `classifier.pii`"},
};

static const struct sr_section classifiers_section = {
    .name = "canary classifiers",
    .help = "Classifiers that take the place of the configured ones.",
    SR_FIELDS(classifier_fields),
};

static const struct sr_field fields[] = {
    {"name", SR_FIELD_TEXT, CANARY(name), .flags = NAMED, .help = "its label in metrics and logs"},
    {"of", SR_FIELD_TEXT, CANARY(of_name), .def = SR_RECIPE_DEFAULT, .flags = SR_FIELD_NOT_EMPTY,
     .help = "the recipe whose requests are split; `default`: the top-level `routing`"},
    {"share", SR_FIELD_NUMBER, CANARY(share), .flags = SR_FIELD_REQUIRED, .min = 0, .max = 1,
     .help = "the share of users or sessions that takes the new side: 1 promotes it, 0 takes it back"},
    {"by", SR_FIELD_ENUM, CANARY(by), .words = keys, .def = "user",
     .help = "what stays on one side: the user, else the tenant, else the client's address; session: the "
             "value of "
             "`session_header`, where there is one"},
    {"session_header", SR_FIELD_TEXT, CANARY(session_header), .def = "x-session-id",
     .flags = SR_FIELD_NOT_EMPTY, .help = "the header that names a session"},
    {"recipe", SR_FIELD_TEXT, CANARY(recipe_name), .def_note = "the same recipe",
     .help = "the recipe that routes the new side"},
    {"models", SR_FIELD_PAIRS, CANARY(models),
     .help = "models of `providers.models` that take the place of others: `old: new`"},
    {"classifiers", SR_FIELD_OBJECT, .of = &classifiers_section, .help = "classifiers of the new side"},
};

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_canary *canary = target;
    if (!canary->recipe_name[0] && !canary->models.count && !canary->domain_model[0] &&
        !canary->jailbreak_model[0] && !canary->pii_model[0])
        sr_bind_error(b, node, "a canary has at least one of `recipe`, `models` and `classifiers`");
}

const struct sr_section sr_section_canary = {
    .name = "canary",
    .help = "A share of a recipe's requests that is routed in a new way, with figures of both sides.",
    .size = sizeof(struct sr_config_canary),
    SR_FIELDS(fields),
    .finish = finish,
};

/* The plugin `response_jailbreak` of a decision. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_enum_word response_actions[] = {
    {"header", SR_RESPONSE_HEADER}, {"block", SR_RESPONSE_BLOCK}, {"none", SR_RESPONSE_NONE}, {NULL, 0}};

static const struct sr_field response_jailbreak_fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(response_jailbreak.set), .def = "true",
     .help = "switches the plugin off"},
    {"threshold", SR_FIELD_NUMBER, PLUGIN(response_jailbreak.threshold), .min = 0, .max = 1,
     .flags = SR_FIELD_EXCLUSIVE, .def_note = "`threshold` of `prompt_guard`",
     .help = "the probability of an attack from which an answer counts"},
    {"action", SR_FIELD_ENUM, PLUGIN(response_jailbreak.action), .words = response_actions, .def = "header",
     .help = "header (the answer says so in `x-vsr-response-warnings`), block (403; a stream ends) or none "
             "(metrics and the audit log say so)"},
};

static const struct sr_section response_jailbreak_section = {
    .name = "response_jailbreak plugin",
    .help = "Reads what the model answers with the models of the `jailbreak` signal.",
    SR_FIELDS(response_jailbreak_fields),
};

const struct sr_variant sr_plugin_response_jailbreak = {"response_jailbreak", "reads what the model answers",
                                                        &response_jailbreak_section,
                                                        PLUGIN(response_jailbreak.set)};

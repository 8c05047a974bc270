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
    {"on_error", SR_FIELD_ENUM, PLUGIN(response_jailbreak.on_error), .words = sr_on_error_words,
     .def_note = "`match` with the action `block`, else `no_match`",
     .help =
         "an answer whose classification failed or did not end before the deadline counts as an attack or "
         "not"},
};

static void finish_response_jailbreak(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_plugins *plugins = target;
    bool blocks = plugins->response_jailbreak.action == SR_RESPONSE_BLOCK;
    const struct sr_yaml_node *on_error = sr_yaml_get(node, "on_error");
    if (!on_error)
        plugins->response_jailbreak.on_error = blocks ? SR_ON_ERROR_MATCH : SR_ON_ERROR_NO_MATCH;
    else if (blocks && plugins->response_jailbreak.on_error == SR_ON_ERROR_NO_MATCH)
        sr_bind_warning(b, on_error, "`response_jailbreak` is open: answers that it could not read pass it");
}

static const struct sr_section response_jailbreak_section = {
    .name = "response_jailbreak plugin",
    .help = "Reads what the model answers with the models of the `jailbreak` signal.",
    SR_FIELDS(response_jailbreak_fields),
    .finish = finish_response_jailbreak,
};

const struct sr_variant sr_plugin_response_jailbreak = {"response_jailbreak", "reads what the model answers",
                                                        &response_jailbreak_section,
                                                        PLUGIN(response_jailbreak.set)};

/* The plugin `system_prompt` of a decision. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_enum_word prompt_modes[] = {
    {"insert", SR_PROMPT_INSERT}, {"append", SR_PROMPT_APPEND}, {"replace", SR_PROMPT_REPLACE}, {NULL, 0}};

static const struct sr_field system_prompt_fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(system_prompt.set), .def = "true", .help = "switches the plugin off"},
    {"system_prompt", SR_FIELD_TEXT, PLUGIN(system_prompt.text),
     .help = "the text; without one the plugin does nothing"},
    {"mode", SR_FIELD_ENUM, PLUGIN(system_prompt.mode), .words = prompt_modes, .def = "insert",
     .help = "insert: before the text of the client's system message; append: after it; replace: instead of "
             "it"},
};

static void finish_system_prompt(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_plugins *plugins = target;
    (void)b;
    (void)node;
    plugins->system_prompt.set = plugins->system_prompt.set && plugins->system_prompt.text[0];
}

static const struct sr_section system_prompt_section = {
    .name = "system_prompt plugin",
    .help = "Gives the model a system message.",
    SR_FIELDS(system_prompt_fields),
    .finish = finish_system_prompt,
};

const struct sr_variant sr_plugin_system_prompt = {"system_prompt", "gives the model a system message",
                                                   &system_prompt_section, PLUGIN(system_prompt.set)};

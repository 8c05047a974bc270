/* The plugin `system_prompt` of a decision. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_enum_word prompt_modes[] = {
    {"insert", SR_PROMPT_INSERT}, {"replace", SR_PROMPT_REPLACE}, {NULL, 0}};

static const struct sr_field system_prompt_fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(system_prompt.set), .def = "true", .help = "switches the plugin off"},
    {"system_prompt", SR_FIELD_TEXT, PLUGIN(system_prompt.text),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY, .help = "the text"},
    {"mode", SR_FIELD_ENUM, PLUGIN(system_prompt.mode), .words = prompt_modes, .def = "insert",
     .help = "insert: before the client's system message; replace: instead of it"},
};

static const struct sr_section system_prompt_section = {
    .name = "system_prompt plugin",
    .help = "Gives the model a system message.",
    SR_FIELDS(system_prompt_fields),
};

const struct sr_variant sr_plugin_system_prompt = {"system_prompt", "gives the model a system message",
                                                   &system_prompt_section, PLUGIN(system_prompt.set)};

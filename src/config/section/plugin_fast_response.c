/* The plugin `fast_response` of a decision. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_field fast_response_fields[] = {
    {"message", SR_FIELD_TEXT, PLUGIN(fast_response.message), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the answer"},
};

static const struct sr_section fast_response_section = {
    .name = "fast_response plugin",
    .help = "Answers at once with a fixed text; no model is asked.",
    SR_FIELDS(fast_response_fields),
};

const struct sr_variant sr_plugin_fast_response = {"fast_response", "answers at once with a fixed text",
                                                   &fast_response_section, PLUGIN(fast_response.set)};

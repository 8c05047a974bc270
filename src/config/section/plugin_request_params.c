/* The plugin `request_params` of a decision. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_field request_params_fields[] = {
    {"blocked_params", SR_FIELD_TEXTS, PLUGIN(request_params.blocked_params),
     .help = "parameters to remove from the request"},
    {"max_tokens_limit", SR_FIELD_INT64, PLUGIN(request_params.max_tokens_limit), .def = "0", .max = 1e9,
     .help = "the upper limit of max_tokens and max_completion_tokens; 0 = no limit"},
    {"max_n", SR_FIELD_INT64, PLUGIN(request_params.max_n), .def = "0", .max = 1e6,
     .help = "the upper limit of `n`; 0 = no limit"},
    {"strip_unknown", SR_FIELD_BOOL, PLUGIN(request_params.strip_unknown), .def = "false",
     .help = "remove parameters that the OpenAI API does not define"},
};

static const struct sr_section request_params_section = {
    .name = "request_params plugin",
    .help = "Limits what a client may ask of the model.",
    SR_FIELDS(request_params_fields),
};

const struct sr_variant sr_plugin_request_params = {"request_params",
                                                    "limits what a client may ask of the model",
                                                    &request_params_section, PLUGIN(request_params.set)};

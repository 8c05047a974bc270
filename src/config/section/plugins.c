/* `decisions[].plugins`: one section for each type, all over the one struct sr_config_plugins. */
#include "config/section/section.h"

#include "config/bind/value.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

const char *const sr_plugins_later[] = {"response_cache",
                                        "response-cache",
                                        "semantic-cache",
                                        "semantic_cache",
                                        "tools",
                                        "tool_selection",
                                        "hallucination",
                                        "router_replay",
                                        "memory",
                                        "rag",
                                        "image_gen",
                                        "context_compression",
                                        "jailbreak",
                                        "pii",
                                        NULL};

static const struct sr_field fast_response_fields[] = {
    {"message", SR_FIELD_TEXT, PLUGIN(fast_response.message), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the answer"},
};

static const struct sr_section fast_response_section = {
    .name = "fast_response plugin",
    .help = "Answers at once with a fixed text; no model is asked.",
    SR_FIELDS(fast_response_fields),
};

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

static const struct sr_field header_fields[] = {
    {"name", SR_FIELD_TEXT, offsetof(struct sr_name_value, name),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY, .help = "the header"},
    {"value", SR_FIELD_TEXT, offsetof(struct sr_name_value, value), .flags = SR_FIELD_REQUIRED,
     .help = "its value"},
};

static void check_header_name(struct sr_binder *b, const struct sr_yaml_node *node, const char *name)
{
    struct sr_bytes text = sr_bytes_str(name);
    if (text.n && !sr_value_is_header_name(text))
        sr_bind_error(b, node, "`%.60s` is not a header name", name);
    else if (sr_value_is_framing_header(text))
        sr_bind_error(b, node, "header `%.60s` belongs to the connection and cannot be changed", name);
}

static void finish_header(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_name_value *header = target;
    check_header_name(b, sr_bind_at(node, "name"), header->name);
    if (!sr_value_is_header_value(sr_bytes_str(header->value)))
        sr_bind_error(b, sr_bind_at(node, "value"), "a header value must not contain control characters");
}

static const struct sr_section header_section = {
    .name = "header",
    .help = "A header of the upstream request.",
    .size = sizeof(struct sr_name_value),
    SR_FIELDS(header_fields),
    .finish = finish_header,
};

static const struct sr_field header_mutation_fields[] = {
    {"add", SR_FIELD_LIST, PLUGIN(header_mutation.add.items), PLUGIN(header_mutation.add.count),
     .of = &header_section, .help = "headers to add"},
    {"update", SR_FIELD_LIST, PLUGIN(header_mutation.update.items), PLUGIN(header_mutation.update.count),
     .of = &header_section, .help = "headers to set, whatever they were"},
    {"delete", SR_FIELD_TEXTS, PLUGIN(header_mutation.remove), .help = "names of headers to remove"},
};

static void finish_header_mutation(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_plugins *plugins = target;
    const struct sr_yaml_node *names = sr_yaml_get(node, "delete");
    for (size_t i = 0; i < plugins->header_mutation.remove.count; i++)
        check_header_name(b, names, plugins->header_mutation.remove.items[i]);
    if (node->count == 0)
        sr_bind_error(b, node, "a header_mutation plugin needs `add`, `update` or `delete`");
}

static const struct sr_section header_mutation_section = {
    .name = "header_mutation plugin",
    .help = "Changes headers of the upstream request.",
    SR_FIELDS(header_mutation_fields),
    .finish = finish_header_mutation,
};

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

const struct sr_variant sr_plugin_variants[] = {
    {"fast_response", "answers at once with a fixed text", &fast_response_section, PLUGIN(fast_response.set)},
    {"system_prompt", "gives the model a system message", &system_prompt_section, PLUGIN(system_prompt.set)},
    {"header_mutation", "changes headers of the upstream request", &header_mutation_section,
     PLUGIN(header_mutation.set)},
    {"request_params", "limits what a client may ask of the model", &request_params_section,
     PLUGIN(request_params.set)},
    {"guard", "blocks, redacts, flags or routes the requests that the decision matches",
     &sr_section_guard_plugin, PLUGIN(guard.set)},
    {"response_jailbreak", "reads what the model answers", &response_jailbreak_section,
     PLUGIN(response_jailbreak.set)},
    {NULL, NULL, NULL, 0},
};

/* `global.model_catalog.external`: models that are asked over HTTP. Only the one of the role `preference` is.
 */
#include "config/bind/value.h"
#include "config/section/section.h"

#define EXTERNAL(member) offsetof(struct sr_config_external, member)
#define MS_PER_S         1000

static const struct sr_enum_word protocols[] = {{"http", 0}, {"https", 1}, {NULL, 0}};

static const struct sr_field endpoint_fields[] = {
    {"address", SR_FIELD_TEXT, EXTERNAL(host), .help = "the model's host"},
    {"port", SR_FIELD_INT, EXTERNAL(port), .min = 1, .max = 65535, .def_note = "80, or 443 with `https`",
     .help = "its port"},
    {"protocol", SR_FIELD_ENUM, EXTERNAL(tls), .words = protocols, .def = "http",
     .help = "https: with the system's authorities"},
    {"path", SR_FIELD_TEXT, EXTERNAL(path), .def = "/v1/chat/completions", .flags = SR_FIELD_NOT_EMPTY,
     .help = "where it takes chat completions"},
};
static const struct sr_section endpoint_section = {
    .name = "external model's endpoint",
    .help = "Where the model is.",
    SR_FIELDS(endpoint_fields),
    .inert = (const struct sr_inert_key[]){{"name", SR_INERT_NOTE, false},
                                           {"use_chat_template", "it is asked by chat completions", false},
                                           {"prompt_template", "the question is semroute's own", true},
                                           {NULL, NULL, false}},
};

static const struct sr_field external_fields[] = {
    {"model_role", SR_FIELD_TEXT, EXTERNAL(role), .flags = SR_FIELD_NOT_EMPTY,
     .help = "what it is asked for: `preference`; models of other roles are not asked"},
    {"llm_endpoint", SR_FIELD_OBJECT, .of = &endpoint_section, .help = "where it is"},
    {"llm_model_name", SR_FIELD_TEXT, EXTERNAL(model), .help = "its name there"},
    {"llm_timeout_seconds", SR_FIELD_MS, EXTERNAL(timeout_ms), .def = "30", .min = 1, .max = 600,
     .help = "how long its answer is waited for, at most `global.semroute.signal_deadline_ms`"},
    {"access_key", SR_FIELD_TEXT, EXTERNAL(key), .def_note = "none",
     .help = "sent as a bearer token; write `${NAME}`"},
};

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_external *external = target;
    const struct sr_yaml_node *endpoint = sr_yaml_get(node, "llm_endpoint");
    external->timeout_ms *= MS_PER_S;
    external->port = external->port ? external->port : external->tls ? 443 : 80;
    if (strcmp(external->role, SR_ROLE_OF_PREFERENCES) != 0) {
        sr_bind_warning(b, sr_bind_at(node, "model_role"), "models of the role `%.40s` are not asked",
                        external->role);
        return;
    }
    if (!external->host[0] || !external->model[0])
        sr_bind_error(b, node,
                      "a model of the role `preference` needs `llm_endpoint.address` and `llm_model_name`");
    if (external->path[0] != '/')
        sr_bind_error(b, sr_bind_at(endpoint, "path"), "`path` must begin with `/`");
    if (!sr_value_is_header_value(sr_bytes_str(external->key)))
        sr_bind_error(b, sr_bind_at(node, "access_key"), "the key must not contain control characters");
}

const struct sr_section sr_section_external = {
    .name = "external model",
    .help = "A model that is asked over HTTP, by the API of OpenAI.",
    .size = sizeof(struct sr_config_external),
    SR_FIELDS(external_fields),
    .inert = (const struct sr_inert_key[]){{"name", SR_INERT_NOTE, false},
                                           {"llm_provider", "all are asked by chat completions", false},
                                           {"parser_type", "the answer is JSON with the name", false},
                                           {"max_tokens", "an answer is a name", false},
                                           {"temperature", "it is 0", false},
                                           {"threshold", "a model says a name, and no number", true},
                                           {NULL, NULL, false}},
    .finish = finish,
};

/* `global.services.authz`: who is asking, by headers, and where the keys for upstreams come from. */
#include "config/section/section.h"

#include "config/bind/value.h"

#define GLOBAL(member)   offsetof(struct sr_config_global, member)
#define PROVIDER(member) offsetof(struct sr_config_authz_provider, member)

/* In which clients of vLLM Semantic Router send their own key. */
#define USER_KEY "x-user-openai-key"

static const struct sr_field identity_fields[] = {
    {"user_id_header", SR_FIELD_TEXT, GLOBAL(user_header), .def_note = "none",
     .help = "a request header, set by a trusted proxy, that names the user"},
    {"user_groups_header", SR_FIELD_TEXT, GLOBAL(groups_header), .def_note = "none",
     .help = "the same for the user's groups, with commas"},
};
static const struct sr_section identity_section = {
    .name = "identity",
    .help = "Trusted headers; `global.semroute.identity` says from whom.",
    SR_FIELDS(identity_fields)};

static const struct sr_enum_word types[] = {
    {"header-injection", SR_AUTHZ_HEADER}, {"static-config", SR_AUTHZ_STATIC}, {NULL, 0}};

static const struct sr_field provider_fields[] = {
    {"type", SR_FIELD_ENUM, PROVIDER(type), .words = types, .flags = SR_FIELD_REQUIRED,
     .help = "header-injection: the client's own key, from a header; static-config: the backend's `api_key`"},
    {"headers", SR_FIELD_PAIRS, PROVIDER(headers), .def_note = "`openai: " USER_KEY "`",
     .help = "the header for each kind of upstream; that of `openai` counts, others have no upstream here"},
};

static void finish_provider(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_authz_provider *provider = target;
    provider->header = USER_KEY;
    for (size_t i = 0; i < provider->headers.count; i++) {
        const struct sr_name_value *pair = &provider->headers.items[i];
        if (!sr_value_is_header_name(sr_bytes_str(pair->value)) ||
            sr_value_is_framing_header(sr_bytes_str(pair->value)))
            sr_bind_error(b, sr_bind_at(node, "headers"), "`headers`: `%.60s` is no header name",
                          pair->value);
        if (sr_bytes_eq(sr_bytes_str(pair->name), SR_LIT("openai")))
            provider->header = pair->value;
    }
}

static const struct sr_section provider_section = {
    .name = "authz provider",
    .help = "A source of the key for an upstream.",
    .size = sizeof(struct sr_config_authz_provider),
    SR_FIELDS(provider_fields),
    .finish = finish_provider,
};

static const struct sr_field fields[] = {
    {"identity", SR_FIELD_OBJECT, .of = &identity_section, .help = "trusted headers"},
    {"fail_open", SR_FIELD_BOOL, GLOBAL(authz.fail_open), .def = "false",
     .help = "with `providers`: whether a request for which none has a key goes on without; else 401"},
    {"providers", SR_FIELD_LIST, GLOBAL(authz.providers), GLOBAL(authz.n_providers), .of = &provider_section,
     .def_note = "the backend's `api_key`, else the client's own credentials",
     .help = "sources of the key for an upstream, asked in their order"},
};

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_global *global = target;
    if (global->authz.fail_open && global->authz.n_providers)
        sr_bind_warning(b, sr_bind_at(node, "fail_open"),
                        "`fail_open`: requests for which no provider has a key go on without one");
}

const struct sr_section sr_section_authz = {
    .name = "authz",
    .help = "Who is asking, and with whose key.",
    SR_FIELDS(fields),
    .finish = finish,
};

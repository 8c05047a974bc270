/* `providers`: the models, the upstreams that serve them, and how reasoning is requested from each family of
 * models. */
#include "config/section/section.h"

#include "config/bind/value.h"
#include "config/endpoints.h"
#include "config/section/provider.h"

#include <stdio.h>
#include <stdlib.h>

#define BACKEND(member) offsetof(struct sr_config_backend, member)
#define MODEL(member)   offsetof(struct sr_config_model, member)

static const struct sr_enum_word protocols[] = {{"http", 0}, {"https", 1}, {NULL, 0}};
static const struct sr_enum_word reasoning_types[] = {
    {"chat_template_kwargs", SR_REASONING_CHAT_TEMPLATE_KWARGS},
    {"reasoning_effort", SR_REASONING_EFFORT},
    {"top_level_reasoning_effort", SR_REASONING_TOP_LEVEL_EFFORT},
    {NULL, 0},
};
const struct sr_enum_word sr_effort_words[] = {{"none", 0}, {"minimal", 1}, {"low", 2}, {"medium", 3},
                                               {"high", 4}, {"xhigh", 5},   {"max", 6}, {NULL, 0}};

static const struct sr_enum_word api_formats[] = {{"openai", SR_SPEAKS_ANY},
                                                  {"chat_completions", SR_SPEAKS_CHAT},
                                                  {"responses", SR_SPEAKS_RESPONSES},
                                                  {"anthropic", SR_SPEAKS_MESSAGES},
                                                  {NULL, 0}};

static const struct sr_field backend_fields[] = {
    {"name", SR_FIELD_TEXT, BACKEND(name), .def_note = "`host:port`", .help = "a name for logs and metrics"},
    {"endpoint", SR_FIELD_REF,
     .help = "`host:port` of an OpenAI-compatible server, with an optional path as in `base_url`; IPv6 as "
             "`[::1]:8000`; without a port the one of `protocol`; a URL is taken, too"},
    {"base_url", SR_FIELD_REF,
     .help = "the same as a URL, with an optional path before /v1; a /v1 at its end is understood"},
    {"protocol", SR_FIELD_ENUM, .words = protocols, .def = "http", .flags = SR_FIELD_DECLARED,
     .help = "the protocol of `endpoint`"},
    {"weight", SR_FIELD_NUMBER, BACKEND(weight), .def = "1", .min = 0, .max = 1e6,
     .flags = SR_FIELD_EXCLUSIVE, .help = "share of the requests, relative to the model's other backends"},
    {"provider", SR_FIELD_ENUM, .words = sr_provider_words, .def = "openai",
     .flags = SR_FIELD_DECLARED | SR_FIELD_DROPPABLE,
     .help = "whose API it is: where its key goes and where chats are below its address"},
    {"type", SR_FIELD_ENUM, .words = sr_provider_words, .def = "openai",
     .flags = SR_FIELD_DECLARED | SR_FIELD_DROPPABLE, .help = "the same, and comes first"},
    {"api_version", SR_FIELD_REF, .def_note = "none",
     .help = "azure-openai: the version of its API, sent as `api-version` in the query"},
    {"auth_header", SR_FIELD_TEXT, BACKEND(auth_header), .def = "Authorization", .flags = SR_FIELD_NOT_EMPTY,
     .help =
         "the header that carries the key; `x-api-key` without a prefix where `api_format` is `anthropic`"},
    {"auth_prefix", SR_FIELD_TEXT, BACKEND(auth_prefix), .def = "Bearer",
     .help = "the prefix of the key in that header"},
    {"extra_headers", SR_FIELD_PAIRS, BACKEND(extra_headers), .help = "headers to set on every request"},
    {"chat_path", SR_FIELD_TEXT, BACKEND(chat_path), .help = "the path of chat completions on this upstream",
     .def_note = "as the client asked"},
    {"api_key", SR_FIELD_TEXT, BACKEND(api_key), .help = "the key; better `${NAME}` or `api_key_env`",
     .def_note = "the client's own header is forwarded"},
    {"api_key_env", SR_FIELD_REF, .help = "the environment variable that holds the key"},
    {"api_format", SR_FIELD_ENUM, BACKEND(api_format), .words = api_formats, .def_note = "the model's",
     .help = "the API that this upstream speaks, where it is another one than the model's: a request is "
             "translated for the backend that gets it"},
    {"tls_ca_file", SR_FIELD_TEXT, BACKEND(tls_ca_file), .def_note = "the system's authorities",
     .help = "PEM file of the authorities that may sign an https upstream's certificate"},
    {"tls_verify", SR_FIELD_BOOL, BACKEND(tls_verify), .def = "true",
     .help = "false accepts any certificate; for tests only"},
};

/* Has it a place that is to be filled in: `{{HOST}}`, `<namespace>`? */
static bool is_template(struct sr_bytes text)
{
    const char *open = text.n ? memchr(text.p, '<', text.n) : NULL;
    return sr_bytes_contains(text, SR_LIT("{{")) ||
           (open && memchr(open, '>', text.n - (size_t)(open - text.p)) != NULL);
}

static bool names_https(const struct sr_yaml_node *backend)
{
    const struct sr_yaml_node *protocol = sr_yaml_get(backend, "protocol");
    return protocol && protocol->kind == SR_YAML_SCALAR && sr_bytes_eq(protocol->text, SR_LIT("https"));
}

/* `host:port`, `host` with the port of the protocol, or a URL; and what follows from a slash on. */
static bool place_host(struct sr_binder *b, const struct sr_yaml_node *node,
                       const struct sr_yaml_node *endpoint, struct sr_value_endpoint *out)
{
    char url[512];
    struct sr_value_endpoint place;
    struct sr_bytes text = endpoint->text;
    if (sr_value_url(text, out))
        return true;
    bool https = names_https(node);
    int n = snprintf(url, sizeof url, "%s://%s", https ? "https" : "http", text.p);
    if (n < 0 || (size_t)n >= sizeof url || strlen(text.p) != text.n ||
        !sr_value_url(sr_bytes_of(url, (size_t)n), out))
        return false;
    const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
    bool has_port = sr_value_endpoint(sr_bytes_of(text.p, slash ? (size_t)(slash - text.p) : text.n), &place);
    if (!has_port && !https)
        sr_bind_warning(b, endpoint, "`endpoint`: `%.80s` names no port: it is 80, the one of http", text.p);
    out->scheme = (struct sr_bytes){0};
    out->host = sr_bytes_str(sr_bind_dup(b, out->host));
    out->path = sr_bytes_str(sr_bind_dup(b, out->path));
    return true;
}

/* The value of a key that is not the empty text. */
static const struct sr_yaml_node *given(const struct sr_yaml_node *node, const char *key)
{
    const struct sr_yaml_node *value = sr_yaml_get(node, key);
    return value && value->kind == SR_YAML_SCALAR && !value->variable && value->text.n == 0 ? NULL : value;
}

static bool place_endpoint(struct sr_binder *b, const struct sr_yaml_node *node,
                           struct sr_value_endpoint *out)
{
    const struct sr_yaml_node *endpoint = given(node, "endpoint"), *url = given(node, "base_url");
    const struct sr_yaml_node *either = endpoint ? endpoint : url;
    if (!either) {
        sr_bind_error(b, node, "a backend needs `endpoint` (host:port) or `base_url`");
        return false;
    }
    if (endpoint && url) {
        sr_bind_error(b, url, "give `endpoint` or `base_url`, not both");
        return false;
    }
    if (either->kind != SR_YAML_SCALAR || either->broken)
        return false;
    if (is_template(either->text)) {
        sr_bind_unset(b, either, "`%.80s` is a template: write a host and a port in its place",
                      either->text.p);
        return false;
    }
    if (endpoint && !place_host(b, node, endpoint, out)) {
        sr_bind_error(b, endpoint, "`endpoint`: expected `host:port` (IPv6 as `[::1]:8000`), found `%.80s`",
                      endpoint->text.p);
        return false;
    }
    if (url && !sr_value_url(url->text, out)) {
        sr_bind_error(b, url, "`base_url`: expected a URL such as `https://host:8443/path`, found `%.80s`",
                      url->text.p);
        return false;
    }
    return true;
}

static void check_path(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_bytes path)
{
    const struct sr_yaml_node *endpoint = given(node, "endpoint");
    const char *known = sr_endpoint_at_end(path);
    if (known)
        sr_bind_warning(b, endpoint ? endpoint : given(node, "base_url"),
                        "`%s` ends with `%s`, which is added to it: write only what stands before /v1",
                        endpoint ? "endpoint" : "base_url", known);
}

static void finish_key(struct sr_binder *b, const struct sr_yaml_node *node,
                       struct sr_config_backend *backend)
{
    const struct sr_yaml_node *variable = given(node, "api_key_env");
    if (!variable || variable->kind != SR_YAML_SCALAR)
        return;
    if (given(node, "api_key")) {
        sr_bind_error(b, variable, "give `api_key` or `api_key_env`, not both");
        return;
    }
    const char *value = getenv(variable->text.p);
    if (value && *value)
        backend->api_key = sr_bind_dup(b, sr_bytes_str(value));
    else
        sr_bind_unset(b, variable, "`api_key_env`: the environment variable `%.80s` is not set",
                      variable->text.p);
}

static void check_headers(struct sr_binder *b, const struct sr_yaml_node *node,
                          const struct sr_config_backend *backend)
{
    if (!sr_value_is_header_name(sr_bytes_str(backend->auth_header)) ||
        sr_value_is_framing_header(sr_bytes_str(backend->auth_header)))
        sr_bind_error(b, sr_bind_at(node, "auth_header"),
                      "`auth_header`: `%.60s` cannot be used as a header name", backend->auth_header);
    if (!sr_value_is_header_value(sr_bytes_str(backend->auth_prefix)))
        sr_bind_error(b, sr_bind_at(node, "auth_prefix"),
                      "`auth_prefix` must not contain control characters");
    if (!sr_value_is_header_value(sr_bytes_str(backend->api_key)))
        sr_bind_error(b, sr_bind_at(node, "api_key"), "the key must not contain control characters");
    if (backend->chat_path[0] && backend->chat_path[0] != '/')
        sr_bind_error(b, sr_bind_at(node, "chat_path"), "`chat_path` must begin with `/`");
    const struct sr_yaml_node *extra = sr_yaml_get(node, "extra_headers");
    for (size_t i = 0; extra && extra->kind == SR_YAML_MAP && i < extra->count; i++) {
        if (!sr_value_is_header_name(extra->keys[i]->text) ||
            sr_value_is_framing_header(extra->keys[i]->text))
            sr_bind_error(b, extra->keys[i], "`extra_headers`: `%.60s` cannot be set here",
                          extra->keys[i]->text.p);
        if (extra->items[i]->kind == SR_YAML_SCALAR && !sr_value_is_header_value(extra->items[i]->text))
            sr_bind_error(b, extra->items[i], "`extra_headers`: a value must not contain control characters");
    }
}

static void finish_backend(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_backend *backend = target;
    struct sr_value_endpoint place;
    const struct sr_yaml_node *protocol = sr_yaml_get(node, "protocol");
    bool https = names_https(node);
    finish_key(b, node, backend);
    check_headers(b, node, backend);
    if (!place_endpoint(b, node, &place))
        return;
    if (place.scheme.n && protocol && https != (place.scheme.n == 5))
        sr_bind_error(b, protocol, "`protocol` is another one than that of the URL");
    if (place.scheme.n)
        https = place.scheme.n == 5;
    backend->scheme = https ? "https" : "http";
    backend->host = sr_bind_dup(b, place.host);
    backend->port = place.port;
    backend->base_path = sr_bind_dup(b, place.path);
    check_path(b, node, place.path);
}

static void prepare_backend(void *target)
{
    struct sr_config_backend *backend = target;
    backend->scheme = "http";
    backend->host = "";
    backend->base_path = backend->query = "";
}

static const struct sr_section backend_section = {
    .name = "backend",
    .help = "One upstream that serves the model.",
    .size = sizeof(struct sr_config_backend),
    SR_FIELDS(backend_fields),
    .prepare = prepare_backend,
    .finish = finish_backend,
};

static const struct sr_field pricing_fields[] = {
    {"currency", SR_FIELD_TEXT, MODEL(pricing.currency), .def = "USD", .help = "currency of the prices"},
    {"prompt_per_1m", SR_FIELD_NUMBER, MODEL(pricing.prompt_per_1m), .def = "0", .max = 1e9,
     .help = "price of a million prompt tokens"},
    {"completion_per_1m", SR_FIELD_NUMBER, MODEL(pricing.completion_per_1m), .def = "0", .max = 1e9,
     .help = "price of a million completion tokens"},
    {"cached_input_per_1m", SR_FIELD_NUMBER, MODEL(pricing.cached_input_per_1m), .def = "0", .max = 1e9,
     .help = "price of a million prompt tokens that the upstream had cached"},
    {"cache_write_per_1m", SR_FIELD_NUMBER, MODEL(pricing.cache_write_per_1m), .def = "0", .max = 1e9,
     .help = "price of a million prompt tokens written to the upstream's cache"},
};

static void finish_pricing(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    (void)b;
    (void)node;
    ((struct sr_config_model *)target)->pricing.set = true;
}

static const struct sr_section pricing_section = {
    .name = "pricing",
    .help = "What the model's tokens cost, for the cost metrics.",
    SR_FIELDS(pricing_fields),
    .finish = finish_pricing,
};

static const struct sr_field model_fields[] = {
    {"name", SR_FIELD_TEXT, MODEL(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that clients and decisions use"},
    {"provider_model_id", SR_FIELD_TEXT, MODEL(provider_model_id), .def_note = "its `name`",
     .help = "the name that the upstream uses"},
    {"external_model_ids", SR_FIELD_PAIRS, MODEL(external_ids),
     .help = "the same by the kind of the first backend (`type`, `provider`; `vllm` without one), where "
             "`provider_model_id` is not given"},
    {"reasoning_family", SR_FIELD_REF, .help = "one of `providers.defaults.reasoning_families`"},
    {"api_format", SR_FIELD_ENUM, MODEL(api_format), .words = api_formats, .def = "openai",
     .help =
         "the API that its backends speak: `openai` gets each request as it came; with one of the others, "
         "requests of the other two are translated"},
    {"pricing", SR_FIELD_OBJECT, .of = &pricing_section, .help = "what tokens cost"},
    {"backend_refs", SR_FIELD_LIST, MODEL(backends), MODEL(n_backends), .of = &backend_section,
     .help = "the upstreams that serve it"},
    {"reliability", SR_FIELD_OBJECT, MODEL(reliability), .of = &sr_section_reliability,
     .help = "what happens when one of them fails"},
};

/* The kind of a model's first backend, as `external_model_ids` names it. */
static const char *kind_of(const struct sr_yaml_node *node)
{
    const struct sr_yaml_node *backends = sr_yaml_get(node, "backend_refs");
    const struct sr_yaml_node *first =
        backends && backends->kind == SR_YAML_LIST && backends->count ? backends->items[0] : NULL;
    const struct sr_yaml_node *kind = sr_provider_kind(first);
    return kind && kind->kind == SR_YAML_SCALAR && kind->text.n ? kind->text.p : "vllm";
}

/* Anthropic's API takes its key in a header of its own. */
static void finish_auth(const struct sr_yaml_node *node, struct sr_config_backend *backend)
{
    if (backend->api_format != SR_SPEAKS_MESSAGES || sr_yaml_get(node, "auth_header"))
        return;
    backend->auth_header = "x-api-key";
    if (!sr_yaml_get(node, "auth_prefix"))
        backend->auth_prefix = "";
}

/* Without an `api_format` of the model, the API that its backends speak by their kind: one, but for those
 * that say theirs. */
static void finish_format(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config_model *model)
{
    const struct sr_yaml_node *backends = sr_yaml_get(node, "backend_refs");
    size_t n = 0, all = 0;
    for (size_t i = 0; i < model->n_backends; i++) {
        bool says = sr_yaml_get(backends->items[i], "api_format") != NULL;
        all += !says;
        n += !says && sr_provider_speaks_messages(backends->items[i]);
    }
    if (n == 0 || sr_yaml_get(node, "api_format"))
        return;
    if (n < all)
        sr_bind_error(b, backends,
                      "the backends of a model speak one API, unless each says its `api_format`: some are "
                      "`anthropic`, others are not");
    model->api_format = SR_SPEAKS_MESSAGES;
}

static void finish_model(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_model *model = target;
    const struct sr_yaml_node *id = sr_yaml_get(sr_yaml_get(node, "external_model_ids"), kind_of(node));
    if (!model->provider_model_id[0] && id && id->kind == SR_YAML_SCALAR && id->text.n)
        model->provider_model_id = sr_bind_dup(b, id->text);
    if (!model->provider_model_id[0])
        model->provider_model_id = model->name;
    finish_format(b, node, model);
    for (size_t i = 0; i < model->n_backends; i++) {
        const struct sr_yaml_node *backend = sr_yaml_get(node, "backend_refs")->items[i];
        if (!sr_yaml_get(backend, "api_format"))
            model->backends[i].api_format = model->api_format;
        sr_provider_apply(b, backend, model->provider_model_id, &model->backends[i]);
        finish_auth(backend, &model->backends[i]);
    }
}

static void prepare_model(void *target)
{
    struct sr_config_model *model = target;
    model->family = -1;
    model->description = model->param_size = model->modality = "";
}

static const struct sr_section model_section = {
    .name = "model",
    .help = "A model and where it is served.",
    .size = sizeof(struct sr_config_model),
    SR_FIELDS(model_fields),
    .prepare = prepare_model,
    .finish = finish_model,
};

static const struct sr_field family_fields[] = {
    {"type", SR_FIELD_ENUM, offsetof(struct sr_config_family, type), .words = reasoning_types,
     .flags = SR_FIELD_REQUIRED, .help = "where the parameter is written in a request"},
    {"parameter", SR_FIELD_TEXT, offsetof(struct sr_config_family, parameter),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY, .help = "the name of the parameter"},
};

static const struct sr_section family_section = {
    .name = "reasoning family",
    .help = "How reasoning is switched on and off for models of one family.",
    .size = sizeof(struct sr_config_family),
    SR_FIELDS(family_fields),
};

static const struct sr_field defaults_fields[] = {
    {"default_model", SR_FIELD_REF, .help = "the model for requests that no decision matches",
     .def_note = "none: such requests are refused"},
    {"default_reasoning_effort", SR_FIELD_WORD, offsetof(struct sr_config, default_effort),
     .words = sr_effort_words, .def = "medium",
     .help = "the effort where a decision asks for reasoning and names no effort"},
    {"reasoning_families", SR_FIELD_MAP, offsetof(struct sr_config, families),
     offsetof(struct sr_config, n_families), .of = &family_section, .help = "families by name"},
};

static const struct sr_section defaults_section = {
    .name = "providers.defaults",
    .help = "Settings of all models.",
    SR_FIELDS(defaults_fields),
};

static const struct sr_field providers_fields[] = {
    {"defaults", SR_FIELD_OBJECT, .of = &defaults_section, .help = "settings of all models"},
    {"models", SR_FIELD_LIST, offsetof(struct sr_config, models), offsetof(struct sr_config, n_models),
     .of = &model_section, .help = "the models"},
};

const struct sr_section sr_section_providers = {
    .name = "providers",
    .help = "The models and the upstreams that serve them.",
    SR_FIELDS(providers_fields),
};

/* One row for each provider; its name is the value of `gen_ai.provider.name`, that of the conventions where
 * they have one. Addresses are those of the providers' documents. */
#include "config/section/provider.h"

#include "config/bind/value.h"

#include <stdio.h>

#define PATH_MAX_BYTES     1024
#define VERSION_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-."

/* `path` is what the file has after host and port. Writes the path below which the endpoints are. */
struct place {
    struct sr_binder *b;
    const struct sr_yaml_node *node; /* the backend */
    const char *model, *path;
    bool versioned; /* the file's path ended with /v1, which `path` has no more */
    char *out;      /* PATH_MAX_BYTES */
    bool unversioned;
};

struct provider {
    const char *name;
    const char *auth_header, *auth_prefix; /* NULL: those of OpenAI */
    void (*locate)(struct place *place);   /* NULL: the endpoints are right below the path, as /v1/... */
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* https://RESOURCE.openai.azure.com, with /openai/deployments/DEPLOYMENT (named by `api_version`) or with
 * /openai/v1. */
static void locate_azure(struct place *place)
{
    bool deployed = strstr(place->path, "/deployments/") != NULL;
    const char *root = ends_with(place->path, "/openai") || deployed ? "" : "/openai";
    bool dated = sr_yaml_get(place->node, "api_version") != NULL && !place->versioned;
    place->unversioned = deployed || dated;
    snprintf(place->out, PATH_MAX_BYTES, "%s%s%s%s", place->path, root,
             dated && !deployed ? "/deployments/" : "", dated && !deployed ? place->model : "");
}

/* https://bedrock-runtime.REGION.amazonaws.com/openai/v1 */
static void locate_bedrock(struct place *place)
{
    snprintf(place->out, PATH_MAX_BYTES, "%s%s", place->path,
             ends_with(place->path, "/openai") ? "" : "/openai");
}

/* https://generativelanguage.googleapis.com/v1beta/openai */
static void locate_gemini(struct place *place)
{
    bool whole = ends_with(place->path, "/openai");
    bool dated = whole || ends_with(place->path, "/v1beta");
    place->unversioned = true;
    snprintf(place->out, PATH_MAX_BYTES, "%s%s%s", place->path, dated ? "" : "/v1beta",
             whole ? "" : "/openai");
}

/* https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/endpoints/openapi */
static void locate_vertex(struct place *place)
{
    bool whole = strstr(place->path, "/endpoints/") != NULL;
    place->unversioned = true;
    if (!strstr(place->path, "/projects/"))
        sr_bind_unset(place->b, place->node,
                      "vertex-ai: `base_url` ends with `/v1/projects/PROJECT/locations/REGION`");
    snprintf(place->out, PATH_MAX_BYTES, "%s%s", place->path, whole ? "" : "/endpoints/openapi");
}

enum {
    OPENAI,
    VLLM,
    SGLANG,
    OLLAMA,
    MINIMAX,
    OPENROUTER,
    DEEPSEEK,
    AZURE,
    BEDROCK,
    GEMINI,
    VERTEX,
    ANTHROPIC
};

static const struct provider providers[] = {
    [OPENAI] = {"openai", NULL, NULL, NULL},
    [VLLM] = {"vllm", NULL, NULL, NULL},
    [SGLANG] = {"sglang", NULL, NULL, NULL},
    [OLLAMA] = {"ollama", NULL, NULL, NULL},
    [MINIMAX] = {"minimax", NULL, NULL, NULL},
    [OPENROUTER] = {"openrouter", NULL, NULL, NULL},
    [DEEPSEEK] = {"deepseek", NULL, NULL, NULL},
    [AZURE] = {"azure.ai.openai", "api-key", "", locate_azure},
    [BEDROCK] = {"aws.bedrock", NULL, NULL, locate_bedrock},
    [GEMINI] = {"gcp.gemini", NULL, NULL, locate_gemini},
    [VERTEX] = {"gcp.vertex_ai", NULL, NULL, locate_vertex},
    [ANTHROPIC] = {"anthropic", "x-api-key", "", NULL},
};

const struct sr_enum_word sr_provider_words[] = {{"openai", OPENAI},         {"vllm", VLLM},
                                                 {"chat", OPENAI},           {"minimax", MINIMAX},
                                                 {"ollama", OLLAMA},         {"sglang", SGLANG},
                                                 {"openrouter", OPENROUTER}, {"deepseek", DEEPSEEK},
                                                 {"azure-openai", AZURE},    {"bedrock", BEDROCK},
                                                 {"gemini", GEMINI},         {"vertex-ai", VERTEX},
                                                 {"anthropic", ANTHROPIC},   {NULL, 0}};

const struct sr_yaml_node *sr_provider_kind(const struct sr_yaml_node *node)
{
    const struct sr_yaml_node *type = sr_yaml_get(node, "type");
    return type && (type->kind != SR_YAML_SCALAR || type->text.n) ? type : sr_yaml_get(node, "provider");
}

/* The provider that the file names. */
static const struct provider *find(const struct sr_yaml_node *node)
{
    const struct sr_yaml_node *word = sr_provider_kind(node);
    for (const struct sr_enum_word *w = sr_provider_words; word && word->kind == SR_YAML_SCALAR && w->word;
         w++)
        if (sr_bytes_eq(word->text, sr_bytes_str(w->word)))
            return &providers[w->value];
    return &providers[OPENAI];
}

static void set_query(struct sr_binder *b, const struct sr_yaml_node *node, const struct provider *provider,
                      struct sr_config_backend *backend)
{
    char query[128];
    const struct sr_yaml_node *version = sr_yaml_get(node, "api_version");
    if (!version || version->kind != SR_YAML_SCALAR || version->text.n == 0)
        return;
    if (provider != &providers[AZURE]) {
        sr_bind_warning(b, version, "`api_version` changes nothing: only azure-openai has versions");
        return;
    }
    for (size_t i = 0; i < version->text.n; i++) {
        if (!strchr(VERSION_CHARACTERS, sr_ascii_lower(version->text.p[i]))) {
            sr_bind_error(b, version, "`api_version`: expected a version such as `2024-10-21`");
            return;
        }
    }
    snprintf(query, sizeof query, "api-version=%.80s", version->text.p);
    backend->query = sr_bind_dup(b, sr_bytes_str(query));
}

void sr_provider_apply(struct sr_binder *b, const struct sr_yaml_node *node, const char *model,
                       struct sr_config_backend *backend)
{
    char path[PATH_MAX_BYTES], out[PATH_MAX_BYTES];
    const struct provider *provider = find(node);
    struct place place = {b, node, model, path, .out = out};
    bool plain = provider == &providers[OPENAI];
    backend->provider =
        plain && backend->api_format == SR_SPEAKS_MESSAGES ? providers[ANTHROPIC].name : provider->name;
    place.versioned = ends_with(backend->base_path, "/v1");
    size_t n = strlen(backend->base_path) - (place.versioned ? 3 : 0);
    if (n + strlen(model) + 64 > sizeof path) {
        sr_bind_error(b, node, "the path of this backend is longer than %d bytes", PATH_MAX_BYTES);
        return;
    }
    memcpy(path, backend->base_path, n);
    path[n] = '\0';
    memcpy(out, path, n + 1);
    if (provider->locate && backend->host[0])
        provider->locate(&place);
    backend->base_path = sr_bind_dup(b, sr_bytes_str(out));
    backend->unversioned = place.unversioned;
    if (provider->auth_header && !sr_yaml_get(node, "auth_header"))
        backend->auth_header = provider->auth_header;
    if (provider->auth_header && !sr_yaml_get(node, "auth_prefix"))
        backend->auth_prefix = provider->auth_prefix;
    set_query(b, node, provider, backend);
}

bool sr_provider_speaks_messages(const struct sr_yaml_node *node)
{
    return find(node) == &providers[ANTHROPIC];
}

/* A model whose upstream keeps conversations has one backend: another one would not know the ids. */
#include "config/link/responses.h"

#include "config/link/names.h"

#define REDIS_PORT 6379

static void check_models(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config)
{
    const struct sr_strings *names = &config->global.responses.upstream_models;
    const struct sr_yaml_node *at = sr_bind_at(node, "upstream_models");
    for (size_t i = 0; i < names->count; i++) {
        char hint[SR_LINK_HINT_SIZE];
        struct sr_bytes name = sr_bytes_str(names->items[i]);
        int model = sr_config_find_model(config, name);
        if (model < 0)
            sr_bind_error(b, at, "no model `%.60s` in providers.models%s", names->items[i],
                          sr_link_model_hint(config, name, hint, sizeof hint));
        else if (config->models[model].n_backends != 1)
            sr_bind_error(b, at,
                          "`%.60s` has %zu backends: one does not know the conversations of another; only a "
                          "model with one backend can keep them itself",
                          names->items[i], config->models[model].n_backends);
        else if (config->models[model].backends[0].api_format != SR_SPEAKS_ANY &&
                 config->models[model].backends[0].api_format != SR_SPEAKS_RESPONSES)
            sr_bind_error(b, at, "the upstream of `%.60s` does not speak Responses", names->items[i]);
    }
}

void sr_link_responses(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *node =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "global"), "semroute"), "responses");
    struct sr_config_responses *responses = &config->global.responses;
    if (!responses->redis.port)
        responses->redis.port = REDIS_PORT;
    if (responses->path[0] && responses->store != SR_RESPONSES_MEMORY)
        sr_bind_error(b, sr_bind_at(node, "path"), "`path` needs `store: memory`");
    if (responses->key_file[0] && !responses->path[0])
        sr_bind_error(b, sr_bind_at(node, "key_file"),
                      "`key_file` encrypts the file of `path`, which is missing");
    if (responses->path[0] &&
        sr_bytes_eq(sr_bytes_str(responses->path), sr_bytes_str(config->global.cache.path)))
        sr_bind_error(b, sr_bind_at(node, "path"), "`path` is the file of `cache`: each has its own");
    if (responses->max_entry_bytes > responses->max_bytes)
        sr_bind_error(b, sr_bind_at(node, "max_entry_bytes"), "`max_entry_bytes` is over `max_bytes`");
    if (!responses->redis.cert_file[0] != !responses->redis.key_file[0])
        sr_bind_error(b, sr_bind_at(node, "redis"), "`cert_file` and `key_file` belong together");
    check_models(b, node, config);
}

/* Checks the list of endpoints, and warns about keys that no client may use. */
#include "config/link/access.h"

#include "config/endpoints.h"

static void link_endpoints(struct sr_binder *b, const struct sr_yaml_node *semroute,
                           const struct sr_strings *endpoints)
{
    const struct sr_yaml_node *list = sr_yaml_get(semroute, "endpoints");
    for (size_t i = 0; i < endpoints->count; i++) {
        bool placed = list && list->kind == SR_YAML_LIST && i < list->count;
        if (!sr_endpoint_is_valid(sr_bytes_str(endpoints->items[i])))
            sr_bind_error(b, placed ? list->items[i] : list,
                          "`endpoints`: `%.80s` is no path in its normal form (`/v1/rerank`: lower case, no "
                          "escapes, no slash at the end) and not `" SR_ENDPOINTS_DEFAULT "`",
                          endpoints->items[i]);
    }
}

/* The first model with a backend that has a key, or NULL. */
static const struct sr_config_model *model_with_key(const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_models; i++)
        for (size_t k = 0; k < config->models[i].n_backends; k++)
            if (sr_config_backend_has_key(&config->models[i].backends[k]))
                return &config->models[i];
    return NULL;
}

void sr_link_access(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *semroute = sr_yaml_get(sr_yaml_get(root, "global"), "semroute");
    const struct sr_config_global *global = &config->global;
    link_endpoints(b, semroute, &global->access.endpoints);
    const struct sr_config_identity *identity = &global->identity;
    bool keys = identity->n_keys || identity->keys_file[0];
    const struct sr_config_model *model =
        global->access.allow_anonymous || global->guards.tenant_header[0] || keys ? NULL
                                                                                  : model_with_key(config);
    if (keys && !identity->trusted_peers.count && !identity->secret_header[0] &&
        (global->guards.tenant_header[0] || global->user_header[0] || global->groups_header[0] ||
         global->cache.team_header[0]))
        sr_bind_error(b, sr_bind_at(semroute, "identity"),
                      "with keys, a client could say who it is in an identity header instead: name the "
                      "peers or the secret of your proxy in `trusted_peers` or `proxy_secret`");
    if (model)
        sr_bind_warning(b, sr_bind_at(sr_yaml_get(root, "providers"), "models"),
                        "model `%.80s` has a backend with a key, and every client is anonymous: its requests "
                        "are answered 401. Give clients keys in `global.semroute.identity.keys`, set "
                        "`global.semroute.allow_anonymous: true`, or name a header of a trusted proxy in "
                        "`global.semroute.guards.tenant_header`",
                        model->name);
}

/*
 * A request is translated for the backend that gets it. The gateway chooses it; Envoy may choose it without
 * telling, and the ext_proc door then refuses what it would have to translate.
 */
#include "config/link/formats.h"

#include "config/link/names.h"

static bool is_mixed(const struct sr_config_model *model)
{
    for (size_t i = 1; i < model->n_backends; i++)
        if (model->backends[i].api_format != model->backends[0].api_format)
            return true;
    return false;
}

void sr_link_formats(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_config *config)
{
    const struct sr_yaml_node *list = sr_yaml_get(sr_yaml_get(root, "providers"), "models");
    const struct sr_yaml_node *envoy =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "global"), "semroute"), "extproc");
    if (!envoy || config->global.extproc.destination_header[0])
        return; /* Envoy is not in use, as far as the file says, or is told the backend */
    for (size_t i = 0; i < config->n_models; i++)
        if (is_mixed(&config->models[i]))
            sr_bind_warning(b, sr_bind_at(sr_link_item(list, i), "backend_refs"),
                            "the backends of `%.60s` speak different APIs: without "
                            "`extproc.destination_header` requests that come through Envoy are refused, "
                            "unless it offers endpoints",
                            config->models[i].name);
}

/*
 * Files name the folders of models as another machine has them. The signals that they are for do not go away
 * with them: the built-in models take their place.
 */
#include "config/link/absent.h"

#include "config/link/names.h"

#include <errno.h>
#include <unistd.h>

/* `value` becomes "" where its folder or file does not exist. */
static bool replace(struct sr_binder *b, const struct sr_yaml_node *map, const char *key, const char **value)
{
    const struct sr_yaml_node *path = sr_link_name(map, key);
    if (!path || access(path->text.p, R_OK) == 0)
        return false;
    if (errno != ENOENT && errno != ENOTDIR) {
        sr_bind_error(b, path, "`%s`: cannot open `%.300s`: %s", key, path->text.p, strerror(errno));
        return false;
    }
    sr_bind_warning(b, path, "`%s`: there is no `%.200s`: the built-in model takes its place", key,
                    path->text.p);
    *value = "";
    return true;
}

bool sr_link_is_absent(const struct sr_yaml_node *map, const char *key, const char *value)
{
    return sr_link_name(map, key) && !*value;
}

void sr_link_absent(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *catalog = sr_yaml_get(sr_yaml_get(root, "global"), "model_catalog");
    const struct sr_yaml_node *modules = sr_yaml_get(catalog, "modules");
    const struct sr_yaml_node *classifier = sr_yaml_get(modules, "classifier");
    const struct sr_yaml_node *semantic = sr_yaml_get(sr_yaml_get(catalog, "embeddings"), "semantic");
    const struct sr_yaml_node *encoder = sr_link_name(semantic, "mmbert_model_path");
    struct sr_config_global *global = &config->global;
    (void)replace(b, sr_yaml_get(classifier, "domain"), "model_id", &global->domain_model);
    (void)replace(b, sr_yaml_get(classifier, "pii"), "model_id", &global->pii_model);
    (void)replace(b, sr_yaml_get(modules, "prompt_guard"), "model_id", &global->jailbreak_model);
    /* A name without a slash is looked up elsewhere; layers and dimensions are those of the absent model. */
    if (encoder && sr_bytes_contains(encoder->text, SR_LIT("/")) &&
        replace(b, semantic, "mmbert_model_path", &global->inference.encoder))
        global->inference.layers = global->inference.dimensions = 0;
}

/* Look-ups in the node tree and among the models; each name is compared with all, as lists are short. */
#include "config/link/names.h"

#include "config/bind/hint.h"

const struct sr_yaml_node *sr_link_item(const struct sr_yaml_node *list, size_t i)
{
    return list && list->kind == SR_YAML_LIST && i < list->count ? list->items[i] : NULL;
}

const struct sr_yaml_node *sr_link_name(const struct sr_yaml_node *map, const char *key)
{
    const struct sr_yaml_node *node = sr_yaml_get(map, key);
    return node && node->kind == SR_YAML_SCALAR && node->text.n && !node->broken ? node : NULL;
}

void sr_link_unique(struct sr_binder *b, const struct sr_yaml_node *list, const char *key, const char *what)
{
    for (size_t i = 1; list && list->kind == SR_YAML_LIST && i < list->count; i++) {
        const struct sr_yaml_node *name = sr_link_name(list->items[i], key);
        for (size_t j = 0; name && j < i; j++) {
            const struct sr_yaml_node *earlier = sr_link_name(list->items[j], key);
            if (!earlier || !sr_bytes_eq(earlier->text, name->text))
                continue;
            sr_bind_error(b, name, "%s `%.60s` is given twice; the first is on line %u", what, name->text.p,
                          earlier->line);
            break;
        }
    }
}

const char *sr_link_model_hint(const struct sr_config *config, struct sr_bytes name, char *text, size_t size)
{
    struct sr_nearest nearest = {.word = name};
    for (size_t i = 0; i < config->n_models; i++)
        sr_nearest_try(&nearest, config->models[i].name);
    return sr_nearest_hint(&nearest, text, size);
}

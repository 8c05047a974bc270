/* Links each recipe like a file of its own, and then joins it with what the top-level block shares. */
#include "config/link/recipes.h"

#include "config/bind/hint.h"
#include "config/link/inherit.h"
#include "config/link/link.h"
#include "config/link/names.h"
#include "config/section/section.h"

#include <string.h>

/* The recipe of this name in the file. NULL: there is none, or several, which is an error that was told. */
static const struct sr_yaml_node *node_of(const struct sr_yaml_node *list, const char *name)
{
    const struct sr_yaml_node *found = NULL;
    for (size_t i = 0; list && list->kind == SR_YAML_LIST && i < list->count; i++) {
        const struct sr_yaml_node *own = sr_link_name(list->items[i], "name");
        if (!own || !sr_bytes_eq(own->text, sr_bytes_str(name)))
            continue;
        if (found)
            return NULL;
        found = list->items[i];
    }
    return found;
}

/* True when the top-level routing block has anything but cards. */
static bool has_profile(const struct sr_config *config, const struct sr_yaml_node *routing)
{
    const struct sr_yaml_node *signals = sr_yaml_get(routing, "signals");
    bool rules = false;
    for (size_t i = 0; signals && signals->kind == SR_YAML_MAP && i < signals->count; i++)
        rules |= signals->items[i]->count > 0;
    return rules || config->n_decisions || config->n_partitions || config->n_scores || config->n_mappings;
}

const struct sr_yaml_node *sr_link_top_block(struct sr_binder *b, const struct sr_yaml_node *root,
                                             struct sr_config *config)
{
    const struct sr_yaml_node *node = node_of(sr_yaml_get(root, "recipes"), SR_RECIPE_DEFAULT);
    size_t at = 0;
    while (at < config->n_recipes && strcmp(config->recipes[at].name, SR_RECIPE_DEFAULT) != 0)
        at++;
    if (!node || at == config->n_recipes)
        return root;
    if (has_profile(config, sr_yaml_get(root, "routing"))) {
        sr_bind_error(b, sr_bind_at(node, "name"),
                      "the recipe `" SR_RECIPE_DEFAULT
                      "` is the top-level `routing`, which is not empty: keep "
                      "one of them");
        return root;
    }
    struct sr_config top = config->recipes[at].config;
    sr_inherit_file(&top, config);
    *config = top;
    config->n_recipes--;
    memmove(&config->recipes[at], &config->recipes[at + 1],
            (config->n_recipes - at) * sizeof *config->recipes);
    return node;
}

/* ---- entrypoints ---- */

/* What a name means already, NULL when it is new. */
static const char *meaning_of(const struct sr_config *config, size_t at, struct sr_bytes name)
{
    const struct sr_strings *names = &config->global.auto_model_names;
    if (sr_config_find_model(config, name) >= 0)
        return "a model of `providers.models`";
    if (sr_link_find_lora(config, name) >= 0)
        return "an adapter of a model card";
    for (size_t i = 0; i < names->count; i++)
        if (sr_bytes_eq(name, sr_bytes_str(names->items[i])))
            return "an automatic name";
    for (size_t i = 0; i < at; i++)
        for (size_t k = 0; k < config->entrypoints[i].model_names.count; k++)
            if (sr_bytes_eq(name, sr_bytes_str(config->entrypoints[i].model_names.items[k])))
                return "a name of an earlier entrypoint";
    return NULL;
}

static void link_entrypoint(struct sr_binder *b, const struct sr_yaml_node *node,
                            const struct sr_config *config, size_t at)
{
    const struct sr_config_entrypoint *entrypoint = &config->entrypoints[at];
    const struct sr_yaml_node *names = sr_yaml_get(node, "model_names");
    for (size_t i = 0; i < entrypoint->model_names.count; i++) {
        const struct sr_yaml_node *place = sr_link_item(names, i);
        struct sr_bytes name = sr_bytes_str(entrypoint->model_names.items[i]);
        const char *meaning = meaning_of(config, at, name);
        if (!name.n)
            sr_bind_error(b, place ? place : names, "a model's name is not empty");
        else if (meaning)
            sr_bind_error(b, place ? place : names, "`%.80s` is %s: an entrypoint has names of its own",
                          name.p, meaning);
    }
}

int sr_link_find_recipe(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                        const char *name)
{
    char hint[SR_LINK_HINT_SIZE];
    struct sr_nearest nearest = {.word = sr_bytes_str(name)};
    for (size_t i = 0; i < config->n_recipes; i++) {
        if (strcmp(config->recipes[i].name, name) == 0)
            return (int)i;
        sr_nearest_try(&nearest, config->recipes[i].name);
    }
    if (strcmp(name, SR_RECIPE_DEFAULT) != 0)
        sr_bind_error(b, at, "no recipe `%.60s` in recipes%s", name,
                      sr_nearest_hint(&nearest, hint, sizeof hint));
    return -1;
}

static void link_entrypoints(struct sr_binder *b, const struct sr_yaml_node *list, struct sr_config *config)
{
    for (size_t i = 0; i < config->n_entrypoints; i++) {
        const struct sr_yaml_node *node = sr_link_item(list, i);
        link_entrypoint(b, node, config, i);
        config->entrypoints[i].recipe =
            sr_link_find_recipe(b, sr_bind_at(node, "recipe"), config, config->entrypoints[i].recipe_name);
    }
}

/* Can a client, or a canary, come to this recipe? */
static bool is_reached(const struct sr_config *config, size_t recipe)
{
    bool found = false;
    for (size_t i = 0; i < config->n_entrypoints; i++)
        found |= config->entrypoints[i].recipe == (int)recipe;
    for (size_t i = 0; i < config->global.n_canaries; i++)
        found |= strcmp(config->global.canaries[i].recipe_name, config->recipes[recipe].name) == 0;
    return found;
}

/* A recipe's own guards are the recipe's alone. */
static void warn_guards(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *recipe,
                        const char *name)
{
    const struct sr_yaml_node *decisions = sr_yaml_get(sr_yaml_get(node, "routing"), "decisions");
    for (size_t i = 0; i < recipe->n_decisions; i++)
        if (recipe->decisions[i].plugins.guard.set && recipe->decisions[i].mode == SR_MODE_ENFORCE)
            sr_bind_warning(
                b, sr_link_item(decisions, i),
                "the guard `%.60s` holds in the recipe `%.60s` alone: clients that ask for another "
                "name pass it; a guard in the top-level `routing` holds in every recipe",
                recipe->decisions[i].name, name);
}

void sr_link_recipes(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *top,
                     struct sr_config *config)
{
    const struct sr_yaml_node *list = sr_yaml_get(root, "recipes");
    sr_link_unique(b, list, "name", "recipe");
    link_entrypoints(b, sr_yaml_get(root, "entrypoints"), config);
    const struct sr_config whole = *config;
    for (size_t i = 0; i < config->n_recipes; i++) {
        struct sr_config_recipe *recipe = &config->recipes[i];
        const struct sr_yaml_node *node = node_of(list, recipe->name);
        sr_inherit_file(&recipe->config, &whole);
        if (!node)
            continue;
        b->shared = &whole;
        b->shared_routing = sr_yaml_get(top, "routing");
        sr_link_profile(b, root, node, &recipe->config);
        b->shared = NULL;
        b->shared_routing = NULL;
        warn_guards(b, node, &recipe->config, recipe->name);
        sr_inherit_rules(b, node, recipe->name, &recipe->config, &whole);
    }
    for (size_t i = 0; i < config->n_recipes; i++) {
        const struct sr_yaml_node *node = node_of(list, config->recipes[i].name);
        if (node && !is_reached(config, i))
            sr_bind_warning(b, sr_bind_at(node, "name"),
                            "no entrypoint names the recipe `%.60s`: no client can ask for it",
                            config->recipes[i].name);
    }
}

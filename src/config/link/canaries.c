/* A new side shares all but what it changes: decisions whose models change are copied. */
#include "config/link/canaries.h"

#include "config/link/names.h"
#include "config/link/recipes.h"

#include <string.h>

/* ---- names ---- */

static void link_models(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                        const struct sr_config_canary *canary)
{
    const struct sr_yaml_node *map = sr_yaml_get(node, "models");
    for (size_t i = 0; i < canary->models.count; i++) {
        const struct sr_name_value *pair = &canary->models.items[i];
        const char *names[] = {pair->name, pair->value};
        for (size_t k = 0; k < 2; k++) {
            char hint[SR_LINK_HINT_SIZE];
            int model = sr_config_find_model(config, sr_bytes_str(names[k]));
            if (model < 0)
                sr_bind_error(b, sr_bind_at(map, pair->name), "no model `%.60s` in providers.models%s",
                              names[k],
                              sr_link_model_hint(config, sr_bytes_str(names[k]), hint, sizeof hint));
            else if (!sr_config_is_served(config, model))
                sr_bind_error(b, sr_bind_at(map, pair->name),
                              "model `%.60s` has no backend_refs, so nothing can answer for it", names[k]);
        }
    }
}

static void link_names(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                       size_t at)
{
    struct sr_config_canary *canary = &config->global.canaries[at];
    canary->of = sr_link_find_recipe(b, sr_bind_at(node, "of"), config, canary->of_name);
    canary->recipe = canary->of;
    if (canary->recipe_name[0])
        canary->recipe = sr_link_find_recipe(b, sr_bind_at(node, "recipe"), config, canary->recipe_name);
    link_models(b, node, config, canary);
    for (size_t i = 0; i < at; i++)
        if (config->global.canaries[i].of == canary->of)
            sr_bind_error(b, sr_bind_at(node, "of"),
                          "the recipe `%.60s` has two canaries, `%.60s` and `%.60s`: give it one at a time",
                          canary->of_name, config->global.canaries[i].name, canary->name);
}

/* ---- the new side ---- */

/* The model that takes the place of one; itself where none does. */
static int new_model(const struct sr_config *config, const struct sr_config_canary *canary, int model)
{
    for (size_t i = 0; model >= 0 && i < canary->models.count; i++)
        if (strcmp(canary->models.items[i].name, config->models[model].name) == 0)
            return sr_config_find_model(config, sr_bytes_str(canary->models.items[i].value));
    return model;
}

static bool has_lora(const struct sr_config_model *model, const char *name)
{
    for (size_t i = 0; i < model->loras.count; i++)
        if (strcmp(model->loras.items[i].name, name) == 0)
            return true;
    return false;
}

static void change_refs(struct sr_binder *b, const struct sr_config *config,
                        const struct sr_config_canary *canary, struct sr_config_decision *decision)
{
    struct sr_config_model_ref *refs = sr_bind_calloc(b, decision->n_refs + 1, sizeof *refs);
    if (!refs)
        return;
    for (size_t i = 0; i < decision->n_refs; i++) {
        refs[i] = decision->refs[i];
        refs[i].model = new_model(config, canary, refs[i].model);
        if (refs[i].model != decision->refs[i].model && refs[i].lora_name &&
            !has_lora(&config->models[refs[i].model], refs[i].lora_name))
            refs[i].lora_name = "";
    }
    decision->refs = refs;
}

/* A domain's score of an old model is that of the new one. */
static void change_scores(struct sr_binder *b, const struct sr_config_canary *canary,
                          struct sr_config_domain *domain)
{
    struct sr_config_model_score *scores = sr_bind_calloc(b, domain->n_scores + 1, sizeof *scores);
    if (!scores)
        return;
    for (size_t i = 0; i < domain->n_scores; i++) {
        scores[i] = domain->scores[i];
        for (size_t k = 0; k < canary->models.count; k++)
            if (strcmp(canary->models.items[k].name, scores[i].model) == 0)
                scores[i].model = canary->models.items[k].value;
    }
    domain->scores = scores;
}

static void change_models(struct sr_binder *b, const struct sr_config_canary *canary, struct sr_config *side)
{
    struct sr_config_decision *decisions = sr_bind_calloc(b, side->n_decisions + 1, sizeof *decisions);
    struct sr_config_domain *domains = sr_bind_calloc(b, side->n_domains + 1, sizeof *domains);
    if (!decisions || !domains)
        return;
    for (size_t i = 0; i < side->n_decisions; i++) {
        decisions[i] = side->decisions[i];
        change_refs(b, side, canary, &decisions[i]);
    }
    for (size_t i = 0; i < side->n_domains; i++) {
        domains[i] = side->domains[i];
        change_scores(b, canary, &domains[i]);
    }
    int model = new_model(side, canary, side->default_model);
    if (model != side->default_model && side->default_lora &&
        !has_lora(&side->models[model], side->default_lora))
        side->default_lora = "";
    side->default_model = model;
    side->decisions = decisions;
    side->domains = domains;
}

static void change_classifiers(const struct sr_config_canary *canary, struct sr_config_global *global)
{
    if (canary->domain_model[0])
        global->domain_model = canary->domain_model;
    if (canary->jailbreak_model[0])
        global->jailbreak_model = canary->jailbreak_model;
    if (canary->pii_model[0])
        global->pii_model = canary->pii_model;
}

void sr_link_canaries(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *list =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "global"), "semroute"), "canaries");
    sr_link_unique(b, list, "name", "canary");
    for (size_t i = 0; i < config->global.n_canaries; i++) {
        struct sr_config_canary *canary = &config->global.canaries[i];
        link_names(b, sr_link_item(list, i), config, i);
        if (b->problems->errors || canary->share <= 0)
            continue;
        canary->config = sr_bind_calloc(b, 1, sizeof *canary->config);
        if (!canary->config)
            return;
        *canary->config = canary->recipe < 0 ? *config : config->recipes[canary->recipe].config;
        if (canary->models.count)
            change_models(b, canary, canary->config);
        change_classifiers(canary, &canary->config->global);
    }
}

/* A user's file knows one type, `jailbreak`; a classifier and a comparison with examples are two signals. */
#include "config/link/methods.h"

#include <string.h>

#define CLASSIFIED "jailbreak"

static const char *type_of(const struct sr_config *config, const char *type, const char *name)
{
    if (!type || (strcmp(type, CLASSIFIED) != 0 && strcmp(type, SR_TYPE_CONTRASTIVE) != 0))
        return type;
    for (size_t i = 0; i < config->n_jailbreaks; i++)
        if (strcmp(config->jailbreaks[i].name, name) == 0)
            return config->jailbreaks[i].method == SR_JAILBREAK_CONTRASTIVE ? SR_TYPE_CONTRASTIVE
                                                                            : CLASSIFIED;
    return type;
}

static void set_tree(const struct sr_config *config, struct sr_config_rule *rule)
{
    if (rule->op == SR_RULE_LEAF && rule->name)
        rule->type = type_of(config, rule->type, rule->name);
    for (size_t i = 0; i < rule->n_children; i++)
        set_tree(config, &rule->children[i]);
}

static void set_block(struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (config->decisions[i].has_rules)
            set_tree(config, &config->decisions[i].rules);
    for (size_t i = 0; i < config->n_complexities; i++)
        if (config->complexities[i].has_composer)
            set_tree(config, &config->complexities[i].composer);
    for (size_t i = 0; i < config->n_scores; i++)
        for (size_t k = 0; k < config->scores[i].n_inputs; k++) {
            struct sr_config_score_input *input = &config->scores[i].inputs[k];
            input->type = type_of(config, input->type, input->name);
        }
}

void sr_link_methods(struct sr_config *config)
{
    set_block(config);
    for (size_t i = 0; i < config->n_recipes; i++)
        set_block(&config->recipes[i].config);
}

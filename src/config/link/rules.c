/* Names of signal rules in decisions, and labels of the domain classifier in domain rules. */
#include "config/link/link.h"

#define HINT_SIZE 160

/* What the built-in classifier tells apart. */
static const char *const labels[] = {
    "business",  "law",  "psychology", "biology",          "chemistry",  "history",     "other", "health",
    "economics", "math", "physics",    "computer science", "philosophy", "engineering", NULL};

const char *sr_config_domain_label(struct sr_bytes name)
{
    for (const char *const *label = labels; *label; label++) {
        size_t n = strlen(*label), i = 0;
        while (i < n && i < name.n) {
            char c = name.p[i] == '_' || name.p[i] == '-' ? ' ' : sr_ascii_lower(name.p[i]);
            if (c != (*label)[i])
                break;
            i++;
        }
        if (i == n && n == name.n)
            return *label;
    }
    return NULL;
}

static const char *label_hint(struct sr_bytes name, char *text, size_t size)
{
    struct sr_nearest nearest = {.word = name};
    for (const char *const *label = labels; *label; label++)
        sr_nearest_try(&nearest, *label);
    return sr_nearest_hint(&nearest, text, size);
}

static void link_own_name(struct sr_binder *b, const struct sr_yaml_node *node,
                          struct sr_config_domain *domain)
{
    char hint[HINT_SIZE];
    struct sr_bytes name = sr_bytes_str(domain->name);
    const char *label = sr_config_domain_label(name);
    if (name.n == 0 || sr_yaml_get(node, "mmlu_categories"))
        return;
    if (!label) {
        sr_bind_error(b, sr_bind_at(node, "name"),
                      "domain `%.60s` is no label of the classifier and has no mmlu_categories%s",
                      domain->name, label_hint(name, hint, sizeof hint));
        return;
    }
    const char **only = sr_bind_calloc(b, 1, sizeof *only);
    if (!only)
        return;
    *only = label;
    domain->mmlu_categories = (struct sr_strings){only, 1};
}

void sr_config_link_domains(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *list =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "routing"), "signals"), "domains");
    char hint[HINT_SIZE];
    if (config->global.domain_model[0])
        return;
    for (size_t i = 0; i < config->n_domains; i++) {
        struct sr_config_domain *domain = &config->domains[i];
        const struct sr_yaml_node *names = sr_yaml_get(list->items[i], "mmlu_categories");
        link_own_name(b, list->items[i], domain);
        for (size_t j = 0; names && j < domain->mmlu_categories.count; j++) {
            const char **name = &domain->mmlu_categories.items[j];
            const char *label = sr_config_domain_label(sr_bytes_str(*name));
            if (!label)
                sr_bind_error(b, j < names->count ? names->items[j] : names,
                              "`%.60s` is no label of the domain classifier%s", *name,
                              label_hint(sr_bytes_str(*name), hint, sizeof hint));
            else
                *name = label;
        }
    }
}

/* The name of rule `i` of a signal type; NULL past the last, or for an unknown type. */
static const char *rule_name(const struct sr_config *config, const char *type, size_t i)
{
    if (strcmp(type, "keyword") == 0)
        return i < config->n_keywords ? config->keywords[i].name : NULL;
    if (strcmp(type, "domain") == 0)
        return i < config->n_domains ? config->domains[i].name : NULL;
    if (strcmp(type, "context") == 0)
        return i < config->n_contexts ? config->contexts[i].name : NULL;
    if (strcmp(type, "structure") == 0)
        return i < config->n_structures ? config->structures[i].name : NULL;
    if (strcmp(type, "jailbreak") == 0)
        return i < config->n_jailbreaks ? config->jailbreaks[i].name : NULL;
    if (strcmp(type, "pii") == 0)
        return i < config->n_piis ? config->piis[i].name : NULL;
    if (strcmp(type, "embedding") == 0)
        return i < config->n_embeddings ? config->embeddings[i].name : NULL;
    return i < config->n_languages ? config->languages[i].name : NULL;
}

static const char *section_of(const char *type)
{
    if (strcmp(type, "keyword") == 0)
        return "keywords";
    if (strcmp(type, "embedding") == 0)
        return "embeddings";
    return strcmp(type, "domain") == 0 ? "domains" : type;
}

static void link_leaf(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_config_rule *rule)
{
    char hint[HINT_SIZE];
    const char *name;
    struct sr_nearest nearest = {.word = sr_bytes_str(rule->name)};
    if (!rule->type[0] || !rule->name[0])
        return;
    for (size_t i = 0; (name = rule_name(config, rule->type, i)) != NULL; i++) {
        if (strcmp(name, rule->name) == 0)
            return;
        sr_nearest_try(&nearest, name);
    }
    sr_bind_error(b, sr_bind_at(node, "name"), "no rule `%.60s` in routing.signals.%s%s", rule->name,
                  section_of(rule->type), sr_nearest_hint(&nearest, hint, sizeof hint));
}

static void link_rule(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_config_rule *rule)
{
    const struct sr_yaml_node *conditions = sr_yaml_get(node, "conditions");
    if (rule->op == SR_RULE_LEAF)
        link_leaf(b, node, config, rule);
    for (size_t i = 0; i < rule->n_children; i++)
        link_rule(b, conditions->items[i], config, &rule->children[i]);
}

void sr_config_link_rules(struct sr_binder *b, const struct sr_yaml_node *decisions, struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        const struct sr_yaml_node *rules = sr_yaml_get(decisions->items[i], "rules");
        if (decision->has_rules)
            link_rule(b, rules, config, &decision->rules);
    }
}

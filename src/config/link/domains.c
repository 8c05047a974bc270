/* The labels of the built-in domain classifier, and the domain rules that name them. */
#include "config/link/domains.h"

#include "config/bind/hint.h"
#include "config/link/absent.h"
#include "config/link/names.h"

/* The labels of the built-in classifier. */
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

void sr_link_try_labels(struct sr_nearest *nearest)
{
    for (const char *const *label = labels; *label; label++)
        sr_nearest_try(nearest, *label);
}

static const char *label_hint(struct sr_bytes name, char *text, size_t size)
{
    struct sr_nearest nearest = {.word = name};
    sr_link_try_labels(&nearest);
    return sr_nearest_hint(&nearest, text, size);
}

static void link_own_name(struct sr_binder *b, const struct sr_yaml_node *node,
                          struct sr_config_domain *domain)
{
    char hint[SR_LINK_HINT_SIZE];
    struct sr_bytes name = sr_bytes_str(domain->name);
    const char *label = sr_config_domain_label(name);
    if (name.n == 0 || sr_yaml_get(node, "mmlu_categories"))
        return;
    if (!label) {
        (label_hint(name, hint, sizeof hint)[0] ? sr_bind_error : sr_bind_warning)(
            b, sr_bind_at(node, "name"),
            "domain `%.60s` is not a label of the classifier and has no mmlu_categories: it never matches%s",
            domain->name, hint);
        return;
    }
    const char **only = sr_bind_calloc(b, 1, sizeof *only);
    if (!only)
        return;
    *only = label;
    domain->mmlu_categories = (struct sr_strings){only, 1};
}

static bool has_domain(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; config && i < config->n_domains; i++)
        if (strcmp(config->domains[i].name, name) == 0)
            return true;
    return false;
}

/* Adds the domains that a rule names and none declares. `room`: for so many. */
static void imply(struct sr_binder *b, const struct sr_config_rule *rule, struct sr_config *config,
                  size_t room)
{
    for (size_t i = 0; i < rule->n_children; i++)
        imply(b, &rule->children[i], config, room);
    if (rule->op != SR_RULE_LEAF || strcmp(rule->type, "domain") != 0)
        return;
    const char *label = sr_config_domain_label(sr_bytes_str(rule->name));
    if (!label || config->n_domains == room || has_domain(config, rule->name) ||
        has_domain(b->shared, rule->name))
        return;
    const char **only = sr_bind_calloc(b, 1, sizeof *only);
    if (!only)
        return;
    *only = label;
    config->domains[config->n_domains++] =
        (struct sr_config_domain){.name = rule->name, .description = "", .mmlu_categories = {only, 1}};
}

void sr_link_implied_domains(struct sr_binder *b, struct sr_config *config)
{
    size_t n_labels = sizeof labels / sizeof labels[0] - 1,
           room = 4 * n_labels; /* a label has few spellings */
    if (config->n_domains || config->global.domain_model[0])
        return;
    struct sr_config_domain *domains = sr_bind_calloc(b, room, sizeof *domains);
    if (!domains)
        return;
    config->domains = domains;
    for (size_t i = 0; i < config->n_decisions; i++)
        if (config->decisions[i].has_rules)
            imply(b, &config->decisions[i].rules, config, room);
}

void sr_link_domains(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *routing,
                     struct sr_config *config)
{
    const struct sr_yaml_node *list = sr_yaml_get(sr_yaml_get(routing, "signals"), "domains");
    char hint[SR_LINK_HINT_SIZE];
    const struct sr_yaml_node *modules =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "global"), "model_catalog"), "modules");
    const struct sr_yaml_node *own = sr_yaml_get(sr_yaml_get(modules, "classifier"), "domain");
    if (config->global.domain_model[0])
        return;
    bool absent = sr_link_is_absent(own, "model_id", config->global.domain_model);
    for (size_t i = 0; i < config->n_domains; i++) {
        struct sr_config_domain *domain = &config->domains[i];
        const struct sr_yaml_node *names = sr_yaml_get(list->items[i], "mmlu_categories");
        link_own_name(b, list->items[i], domain);
        for (size_t j = 0; names && j < domain->mmlu_categories.count; j++) {
            const char **name = &domain->mmlu_categories.items[j];
            const char *label = sr_config_domain_label(sr_bytes_str(*name));
            if (!label)
                (absent ? sr_bind_warning
                        : sr_bind_error)(b, j < names->count ? names->items[j] : names,
                                         "`%.60s` is not a label of the domain classifier%s", *name,
                                         label_hint(sr_bytes_str(*name), hint, sizeof hint));
            else
                *name = label;
        }
    }
}

/* Composers are trees like those of decisions; of a knowledge base the file is read when signals are made. */
#include "config/link/signals.h"

#include "config/bind/hint.h"
#include "config/link/names.h"
#include "config/link/rules.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const struct sr_yaml_node *at_composer(const struct sr_yaml_node *list, size_t i)
{
    return sr_yaml_get(sr_link_item(list, i), "composer");
}

/* A composer is decided with the results of other types. */
static bool asks_complexity(const struct sr_config_rule *rule)
{
    if (rule->op == SR_RULE_LEAF)
        return strcmp(rule->type, "complexity") == 0 || strcmp(rule->type, "projection") == 0;
    for (size_t i = 0; i < rule->n_children; i++)
        if (asks_complexity(&rule->children[i]))
            return true;
    return false;
}

static void link_composers(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *list = sr_yaml_get(sr_yaml_get(routing, "signals"), "complexity");
    for (size_t i = 0; i < config->n_complexities; i++) {
        struct sr_config_complexity *rule = &config->complexities[i];
        if (!rule->has_composer)
            continue;
        if (asks_complexity(&rule->composer))
            sr_bind_error(b, at_composer(list, i), "a composer cannot ask for `complexity` or `projection`");
        else
            sr_link_rule(b, at_composer(list, i), config, routing, &rule->composer);
    }
}

/* The labels on which a larger model does clearly better than a small one, and the others. */
static const char *escalate[] = {"biology", "business", "computer science", "economics", "history",
                                 "math",    "other",    "philosophy",       "psychology"};
static const char *keep[] = {"chemistry", "engineering", "health", "law", "physics"};
static struct sr_named_strings groups[] = {
    {"escalate", {escalate, sizeof escalate / sizeof escalate[0]}},
    {"keep", {keep, sizeof keep / sizeof keep[0]}},
};
static struct sr_config_kb_metric metrics[] = {{"escalate_vs_keep", "escalate", "keep"}};
static const struct sr_config_kb builtin = {
    .name = "mmlu_kb",
    .path = "",
    .manifest = "",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .metrics = metrics,
    .n_metrics = sizeof metrics / sizeof metrics[0],
};

const struct sr_config_kb *sr_config_find_kb(const struct sr_config *config, struct sr_bytes name)
{
    for (size_t i = 0; i < config->global.n_kbs; i++)
        if (sr_bytes_eq(sr_bytes_str(config->global.kbs[i].name), name))
            return &config->global.kbs[i];
    return sr_bytes_eq(name, SR_LIT("mmlu_kb")) ? &builtin : NULL;
}

bool sr_link_kb_is_there(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config_kb *kb)
{
    if (!kb->absent)
        return true;
    (b->lenient ? sr_bind_warning
                : sr_bind_unset)(b, at, "knowledge base `%.60s`: there is no file `%.60s` in `%.200s`",
                                 kb->name, kb->manifest, kb->path);
    if (!b->draft)
        sr_bind_drop(b, at);
    return false;
}

static void link_kb_rules(struct sr_binder *b, const struct sr_yaml_node *list, struct sr_config *config)
{
    for (size_t i = 0; i < config->n_kb_rules; i++) {
        char hint[SR_LINK_HINT_SIZE];
        const struct sr_yaml_node *name = sr_link_name(sr_link_item(list, i), "kb");
        struct sr_nearest nearest = {.word = name ? name->text : SR_LIT("")};
        const struct sr_config_kb *kb = name ? sr_config_find_kb(config, name->text) : NULL;
        if (!name || kb) {
            if (kb)
                (void)sr_link_kb_is_there(b, name, kb);
            continue;
        }
        for (size_t k = 0; k < config->global.n_kbs; k++)
            sr_nearest_try(&nearest, config->global.kbs[k].name);
        sr_bind_unsupported(b, name, "no knowledge base `%.60s` in global.model_catalog.kbs%s", name->text.p,
                            sr_nearest_hint(&nearest, hint, sizeof hint));
        sr_bind_drop(b, name);
    }
}

/* The folder of a relative path is that of the configuration. */
static void place_kbs(struct sr_binder *b, struct sr_config *config)
{
    const char *slash = config->path ? strrchr(config->path, '/') : NULL;
    for (size_t i = 0; i < config->global.n_kbs; i++) {
        struct sr_config_kb *kb = &config->global.kbs[i];
        size_t n = slash ? (size_t)(slash - config->path) + 1 : 0, m = strlen(kb->path);
        if (kb->path[0] == '/' || !n)
            continue;
        char *path = sr_bind_calloc(b, n + m + 1, 1);
        if (!path)
            return;
        memcpy(path, config->path, n);
        memcpy(path + n, kb->path, m);
        kb->path = path;
    }
}

static void find_kbs(struct sr_binder *b, struct sr_config *config)
{
    for (size_t i = 0; i < config->global.n_kbs; i++) {
        struct sr_config_kb *kb = &config->global.kbs[i];
        size_t n = strlen(kb->path), m = strlen(kb->manifest);
        char *file = sr_bind_calloc(b, n + m + 2, 1);
        if (!file)
            return;
        snprintf(file, n + m + 2, "%s/%s", kb->path, kb->manifest);
        kb->absent = access(file, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    }
}

void sr_link_kbs(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *catalog = sr_yaml_get(sr_yaml_get(root, "global"), "model_catalog");
    sr_link_unique(b, sr_yaml_get(catalog, "kbs"), "name", "knowledge base");
    place_kbs(b, config);
    if (b->files)
        find_kbs(b, config);
}

void sr_link_signals(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *signals = sr_yaml_get(routing, "signals");
    link_composers(b, routing, config);
    link_kb_rules(b, sr_yaml_get(signals, "kb"), config);
    const struct sr_config_external *model =
        config->n_preferences ? sr_config_preference_model(config) : NULL;
    if (model && config->global.signal_deadline_ms && model->timeout_ms > config->global.signal_deadline_ms)
        sr_bind_warning(
            b, sr_yaml_get(signals, "preferences"),
            "the model of preferences has `global.semroute.signal_deadline_ms` (%llu), which is less "
            "than its own timeout",
            (unsigned long long)config->global.signal_deadline_ms);
    if (config->n_bindings && !config->global.user_header[0] && !config->global.identity.n_keys)
        sr_bind_warning(
            b, sr_yaml_get(signals, "role_bindings"),
            "no role is ever given: `global.services.authz.identity.user_id_header` names no header of "
            "a trusted proxy");
}

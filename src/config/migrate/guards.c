/*
 * The guards of a flat file. `prompt_guard` becomes a rule and a guard decision for all requests, `jailbreak`
 * and `pii` plugins become guard decisions for what their decision matches, each `pii_policy` becomes the
 * model's. Blocks answer as they did: a completion whose finish_reason is `content_filter`.
 *
 * Where the new format has no equivalent, the new file is stricter, with a note. models.c writes their
 * models.
 */
#include "config/migrate/guards.h"

#include "config/migrate/rules.h"

#include "text/entity/entity.h"

#include <stdio.h>

#define NAME_SIZE         160
#define DEFAULT_THRESHOLD 0.7 /* then and now */

/* A switch that is absent was off. `odd` is what counts for a variable, or anything else that is no boolean.
 */
static bool is_on(const struct sr_yaml_node *map, const char *key, bool odd)
{
    const struct sr_yaml_node *node = sr_yaml_get(map, key);
    bool on;
    if (!node || sr_yaml_type(node) == SR_YAML_NULL)
        return false;
    return sr_yaml_to_bool(node, &on) ? on : odd;
}

static void note_odd(struct sr_migration *m, const struct sr_yaml_node *map, const char *key, bool taken)
{
    const struct sr_yaml_node *node = sr_yaml_get(map, key);
    if (node && sr_yaml_type(node) != SR_YAML_NULL && sr_yaml_type(node) != SR_YAML_BOOL)
        sr_migrate_note(m, node, "`%s` is neither true nor false: it was read as %s", key,
                        taken ? "true" : "false");
}

static const struct sr_yaml_node *list_of(const struct sr_yaml_node *map, const char *key)
{
    const struct sr_yaml_node *list = sr_yaml_get(map, key);
    return list && list->kind == SR_YAML_LIST ? list : NULL;
}

static bool guards_all(const struct sr_migration *m)
{
    return is_on(sr_yaml_get(m->old, "prompt_guard"), "enabled", true);
}

/* ---- thresholds and types ---- */

static bool is_threshold(const struct sr_yaml_node *node)
{
    double value;
    if (!node || node->kind != SR_YAML_SCALAR)
        return false;
    if (sr_yaml_to_double(node, &value))
        return value > 0 && value <= 1;
    return node->plain && sr_bytes_contains(node->text, SR_LIT("${"));
}

void sr_migrate_threshold(struct sr_migration *m, const struct sr_yaml_node *map, const char *indent)
{
    const struct sr_yaml_node *node = sr_migrate_scalar(m, map, "threshold");
    if (is_threshold(node))
        sr_migrate_copy(m, map, "threshold", indent, "threshold");
    else if (node)
        sr_migrate_note(m, node, "`threshold`: `%.40s` is not above 0 and at most 1: the default applies",
                        node->text.n ? node->text.p : "");
}

static void put_types(struct sr_migration *m, const struct sr_yaml_node *map, const char *indent)
{
    const struct sr_yaml_node *types = sr_migrate_list(m, map, "pii_types_allowed");
    const char *separator = "";
    if (!types)
        return;
    sr_migrate_put(m, "%spii_types_allowed: [", indent);
    for (size_t i = 0; i < types->count; i++) {
        const struct sr_yaml_node *name = types->items[i];
        int type = name->kind == SR_YAML_SCALAR ? sr_entity_find_type(name->text) : -1;
        if (type >= 0) {
            sr_migrate_put(m, "%s%s", separator, sr_entity_names[type]);
            separator = ", ";
        } else if (name->kind != SR_YAML_SCALAR || !sr_bytes_eq(name->text, SR_LIT("NO_PII"))) {
            sr_migrate_note(m, name, "`%.60s` is not a type of private data that this version finds",
                            name->text.n ? name->text.p : "");
        }
    }
    sr_migrate_put(m, "]\n");
}

/* ---- plugins of decisions ---- */

/* Does the guard for all requests block all that this plugin blocked? */
static bool is_covered(const struct sr_migration *m, const struct sr_yaml_node *configuration)
{
    const struct sr_yaml_node *own = sr_yaml_get(configuration, "threshold");
    const struct sr_yaml_node *all = sr_yaml_get(sr_yaml_get(m->old, "prompt_guard"), "threshold");
    double threshold, general = DEFAULT_THRESHOLD;
    if (!guards_all(m))
        return false;
    if (!is_threshold(own))
        return true;
    if (is_threshold(all) && !sr_yaml_to_double(all, &general))
        return false;
    return sr_yaml_to_double(own, &threshold) && threshold >= general;
}

typedef void put_plugin(struct sr_migration *m, const char *name, const struct sr_yaml_node *decision,
                        const struct sr_yaml_node *configuration);

/* The configuration of a decision's plugin that guards and gets a decision of its own; NULL for none. */
static const struct sr_yaml_node *guard_of(const struct sr_migration *m, const struct sr_yaml_node *decision,
                                           const char *kind)
{
    const struct sr_yaml_node *plugins = list_of(decision, "plugins");
    for (size_t i = 0; plugins && i < plugins->count; i++) {
        const struct sr_yaml_node *type = sr_yaml_get(plugins->items[i], "type");
        const struct sr_yaml_node *configuration = sr_yaml_get(plugins->items[i], "configuration");
        bool attacks = strcmp(kind, "jailbreak") == 0;
        if (type && type->kind == SR_YAML_SCALAR && sr_bytes_eq(type->text, sr_bytes_str(kind)) &&
            is_on(configuration, "enabled", true) && !(attacks && is_covered(m, configuration)))
            return configuration;
    }
    return NULL;
}

/* "NAME-KIND", made different from what the old file names. */
static void name_guard(const struct sr_migration *m, const char *base, const char *kind, char name[NAME_SIZE])
{
    const struct sr_yaml_node *decisions = list_of(m->old, "decisions");
    const struct sr_yaml_node *categories = list_of(m->old, "categories");
    int n = snprintf(name, NAME_SIZE, "%.100s-%s", base, kind);
    while (n < NAME_SIZE - 7 && (sr_migrate_named(decisions, sr_bytes_str(name)) ||
                                 sr_migrate_named(categories, sr_bytes_str(name))))
        n += snprintf(name + n, NAME_SIZE - (size_t)n, "-guard");
}

static void each_plugin(struct sr_migration *m, const char *kind, put_plugin *put)
{
    const struct sr_yaml_node *decisions = list_of(m->old, "decisions");
    char name[NAME_SIZE];
    for (size_t i = 0; decisions && i < decisions->count; i++) {
        const struct sr_yaml_node *decision = decisions->items[i];
        const struct sr_yaml_node *configuration = guard_of(m, decision, kind);
        if (!configuration || !sr_migrate_has_rules(m, decision))
            continue;
        name_guard(m, sr_yaml_get(decision, "name")->text.p, kind, name);
        put(m, name, decision, configuration);
    }
}

bool sr_migrate_plugin_guards(struct sr_migration *m, const struct sr_yaml_node *type,
                              const struct sr_yaml_node *configuration)
{
    bool attacks = sr_bytes_eq(type->text, SR_LIT("jailbreak"));
    if (!configuration || (!attacks && !sr_bytes_eq(type->text, SR_LIT("pii"))))
        return false;
    note_odd(m, configuration, "enabled", true);
    if (!attacks || !guards_all(m))
        return true;
    if (!is_on(configuration, "enabled", true))
        sr_migrate_note(m, type,
                        "the jailbreak guard was off for this decision: it is now on for all decisions");
    else if (is_threshold(sr_yaml_get(configuration, "threshold")) && is_covered(m, configuration))
        sr_migrate_note(m, type,
                        "`threshold` of this decision's guard: the threshold of prompt_guard, lower or "
                        "equal, applies to all requests");
    return true;
}

/* ---- signals ---- */

static void put_attack_rule(struct sr_migration *m, const char *name, const struct sr_yaml_node *decision,
                            const struct sr_yaml_node *configuration)
{
    (void)decision;
    sr_migrate_put(m, m->begun ? "" : "    jailbreak:\n");
    m->begun = true;
    sr_migrate_put(m, "      - name: ");
    sr_migrate_string(m, sr_bytes_str(name));
    sr_migrate_put(m, "\n");
    sr_migrate_threshold(m, configuration, "        ");
}

static void put_pii_rule(struct sr_migration *m, const char *name, const struct sr_yaml_node *decision,
                         const struct sr_yaml_node *configuration)
{
    (void)decision;
    sr_migrate_put(m, m->begun ? "" : "    pii:\n");
    m->begun = true;
    sr_migrate_put(m, "      - name: ");
    sr_migrate_string(m, sr_bytes_str(name));
    sr_migrate_put(m, "\n");
    sr_migrate_threshold(m, configuration, "        ");
    put_types(m, configuration, "        ");
}

void sr_migrate_guard_signals(struct sr_migration *m)
{
    m->begun = false;
    if (guards_all(m))
        put_attack_rule(m, "jailbreak", NULL, NULL);
    each_plugin(m, "jailbreak", put_attack_rule);
    m->begun = false;
    each_plugin(m, "pii", put_pii_rule);
}

/* ---- decisions ---- */

static void put_block(struct sr_migration *m)
{
    sr_migrate_put(m, "      plugins:\n        - type: guard\n          configuration:\n"
                      "            action: block\n            status: 200\n");
}

static void put_name(struct sr_migration *m, const char *name)
{
    if (!m->begun)
        sr_migrate_put(m,
                       "    # Guards come before all other decisions. Their blocks answer as before, with a "
                       "completion whose\n    # finish_reason is content_filter; without `status` it is an "
                       "error 403.\n");
    m->begun = true;
    sr_migrate_put(m, "    - name: ");
    sr_migrate_string(m, sr_bytes_str(name));
    sr_migrate_put(m, "\n");
}

static void put_guard(struct sr_migration *m, const char *kind, const char *name,
                      const struct sr_yaml_node *decision)
{
    put_name(m, name);
    sr_migrate_put(m,
                   "      rules:\n        operator: AND\n        conditions:\n          - type: %s\n"
                   "            name: ",
                   kind);
    sr_migrate_string(m, sr_bytes_str(name));
    sr_migrate_put(m, "\n");
    sr_migrate_rules(m, decision, "          - ", "            ", false);
    put_block(m);
}

static void put_attack_guard(struct sr_migration *m, const char *name, const struct sr_yaml_node *decision,
                             const struct sr_yaml_node *configuration)
{
    (void)configuration;
    put_guard(m, "jailbreak", name, decision);
}

static void put_pii_guard(struct sr_migration *m, const char *name, const struct sr_yaml_node *decision,
                          const struct sr_yaml_node *configuration)
{
    (void)configuration;
    put_guard(m, "pii", name, decision);
}

void sr_migrate_guard_decisions(struct sr_migration *m)
{
    char name[NAME_SIZE];
    m->begun = false;
    note_odd(m, sr_yaml_get(m->old, "prompt_guard"), "enabled", true);
    if (guards_all(m)) {
        name_guard(m, "block", "attacks", name);
        put_name(m, name);
        sr_migrate_put(m, "      rules: {type: jailbreak, name: jailbreak}\n");
        put_block(m);
    }
    each_plugin(m, "jailbreak", put_attack_guard);
    each_plugin(m, "pii", put_pii_guard);
}

void sr_migrate_category_guards(struct sr_migration *m, const struct sr_yaml_node *category)
{
    static const char *const keys[] = {"jailbreak_enabled", "jailbreak_threshold", "pii_enabled",
                                       "pii_threshold", NULL};
    for (const char *const *key = keys; *key; key++)
        if (sr_yaml_get(category, *key))
            sr_migrate_note(
                m, sr_yaml_get(category, *key),
                "`%s` of a category: prompt_guard and the policies of models apply to all categories now",
                *key);
}

/* ---- policies ---- */

/* In the oldest shape, with a model that found private data, a model without a policy was allowed nothing. */
static bool denies_unsaid(const struct sr_migration *m)
{
    const struct sr_yaml_node *pii = sr_yaml_get(sr_yaml_get(m->old, "classifier"), "pii_model");
    const struct sr_yaml_node *path = sr_yaml_get(pii, "model_id");
    const struct sr_yaml_node *categories = list_of(m->old, "categories");
    bool oldest = false;
    for (size_t i = 0; categories && i < categories->count; i++)
        oldest |= list_of(categories->items[i], "model_scores") != NULL;
    return oldest && !sr_yaml_get(m->old, "decisions") && path && path->kind == SR_YAML_SCALAR &&
           path->text.n;
}

static bool denies(const struct sr_migration *m, const struct sr_yaml_node *model)
{
    const struct sr_yaml_node *policy = sr_yaml_get(model, "pii_policy");
    if (policy && sr_yaml_type(policy) != SR_YAML_NULL)
        return !is_on(policy, "allow_by_default", false);
    return denies_unsaid(m);
}

static const struct sr_yaml_node *models_of(const struct sr_migration *m)
{
    const struct sr_yaml_node *models = sr_yaml_get(m->old, "model_config");
    return models && models->kind == SR_YAML_MAP ? models : NULL;
}

bool sr_migrate_has_policies(const struct sr_migration *m)
{
    const struct sr_yaml_node *models = models_of(m);
    for (size_t i = 0; models && i < models->count; i++)
        if (models->keys[i]->text.n && denies(m, models->items[i]))
            return true;
    return false;
}

static void put_policy(struct sr_migration *m, const struct sr_yaml_node *name,
                       const struct sr_yaml_node *model)
{
    static const char *const known[] = {"allow_by_default", "pii_types_allowed", NULL};
    const struct sr_yaml_node *policy = sr_migrate_map(m, model, "pii_policy");
    const struct sr_yaml_node *pii = sr_yaml_get(sr_yaml_get(m->old, "classifier"), "pii_model");
    sr_migrate_put(m, "      ");
    sr_migrate_string(m, name->text);
    sr_migrate_put(m, ":\n        pii_policy:\n          allow_by_default: false\n");
    put_types(m, policy, "          ");
    note_odd(m, policy, "allow_by_default", false);
    sr_migrate_rest(m, policy, known, "pii_policy");
    if (!policy)
        sr_migrate_note(m, name,
                        "model `%.60s` has no `pii_policy`: in v0.1 it may then see no private data, and the "
                        "new file says so",
                        name->text.p);
    else if (!pii)
        sr_migrate_note(m, policy,
                        "`pii_policy` of model `%.60s` had no effect without `pii_model`; it has now",
                        name->text.p);
}

void sr_migrate_policies(struct sr_migration *m)
{
    const struct sr_yaml_node *models = models_of(m);
    if (!m->policies)
        return;
    sr_migrate_put(m, "    # A request that a model may not see goes to another candidate that "
                      "may, else to the default model, else it is answered with 403.\n    models:\n");
    for (size_t i = 0; i < models->count; i++)
        if (models->keys[i]->text.n && denies(m, models->items[i]))
            put_policy(m, models->keys[i], models->items[i]);
}

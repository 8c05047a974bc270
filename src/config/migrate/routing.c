/* Categories, keyword rules and decisions become `routing`. A category of the oldest shape is domain and
 * decision in one. */
#include "config/migrate/cache.h"
#include "config/migrate/parts.h"

#include "config/link/domains.h"
#include "config/migrate/guards.h"
#include "config/migrate/rules.h"

static void put_labels(struct sr_migration *m, const struct sr_yaml_node *category)
{
    const struct sr_yaml_node *labels = sr_migrate_list(m, category, "mmlu_categories");
    const char *separator = "";
    if (!labels || labels->count == 0)
        return;
    sr_migrate_put(m, "        mmlu_categories: [");
    for (size_t i = 0; i < labels->count; i++) {
        const struct sr_yaml_node *label = labels->items[i];
        const char *known = label->kind == SR_YAML_SCALAR ? sr_config_domain_label(label->text) : NULL;
        if (!known) {
            sr_migrate_note(m, label, "`%.60s` is not a label of the domain classifier",
                            label->text.n ? label->text.p : "");
            continue;
        }
        sr_migrate_put(m, "%s%s", separator, known);
        separator = ", ";
    }
    if (!*separator) /* then the name is a label */
        sr_migrate_put(m, "%s", sr_config_domain_label(sr_yaml_get(category, "name")->text));
    sr_migrate_put(m, "]\n");
}

static bool score_of(const struct sr_yaml_node *entry, double *score)
{
    const struct sr_yaml_node *node = sr_yaml_get(entry, "score");
    return sr_migrate_has(entry, "model") && node && sr_yaml_to_double(node, score) && *score > 0;
}

static void put_domain(struct sr_migration *m, const struct sr_yaml_node *category)
{
    static const char *const known[] = {"name",
                                        "description",
                                        "mmlu_categories",
                                        "model_scores",
                                        "system_prompt",
                                        "system_prompt_enabled",
                                        "system_prompt_mode",
                                        "reasoning_effort",
                                        "reasoning_description",
                                        "jailbreak_enabled",
                                        "jailbreak_threshold",
                                        "pii_enabled",
                                        "pii_threshold",
                                        NULL};
    const struct sr_yaml_node *scores = sr_migrate_list(m, category, "model_scores");
    bool first = true;
    double score;
    sr_migrate_put(m, "      - name: ");
    sr_migrate_string(m, sr_yaml_get(category, "name")->text);
    sr_migrate_put(m, "\n");
    sr_migrate_copy(m, category, "description", "        ", "description");
    put_labels(m, category);
    for (size_t i = 0; scores && i < scores->count; i++) {
        if (!score_of(scores->items[i], &score)) {
            sr_migrate_note(m, scores->items[i], "a model score needs a `model` and a `score` above 0");
            continue;
        }
        sr_migrate_put(m, first ? "        model_scores:\n" : "");
        first = false;
        sr_migrate_copy(m, scores->items[i], "model", "          - ", "model");
        sr_migrate_copy(m, scores->items[i], "score", "            ", "score");
        sr_migrate_copy(m, scores->items[i], "use_reasoning", "            ", "use_reasoning");
    }
    sr_migrate_category_guards(m, category);
    sr_migrate_rest(m, category, known, "categories");
}

static void put_domains(struct sr_migration *m, const struct sr_yaml_node *categories)
{
    bool any = false;
    for (size_t i = 0; categories && i < categories->count; i++) {
        if (!sr_migrate_is_domain(categories, categories->items[i])) {
            sr_migrate_note(m, categories->items[i],
                            "category without a label of the domain classifier, or a second one "
                            "of its name");
            continue;
        }
        sr_migrate_put(m, any ? "" : "    domains:\n");
        any = true;
        put_domain(m, categories->items[i]);
    }
}

static void put_keywords(struct sr_migration *m, const struct sr_yaml_node *rules)
{
    static const char *const operators[] = {"AND", "OR", "NOR", NULL};
    bool any = false;
    for (size_t i = 0; rules && i < rules->count; i++) {
        const struct sr_yaml_node *rule = rules->items[i], *op = sr_migrate_scalar(m, rule, "operator");
        if (!sr_migrate_is_rule(rules, rule, "keywords")) {
            sr_migrate_note(m, rule, "keyword rule without name or keywords, or a second one of its name");
            continue;
        }
        sr_migrate_put(m, any ? "" : "    keywords:\n");
        any = true;
        sr_migrate_copy(m, rule, "name", "      - ", "name");
        if (op && sr_migrate_is_word(op, operators))
            sr_migrate_copy(m, rule, "operator", "        ", "operator");
        sr_migrate_copy_list(m, rule, "keywords", "        ");
        sr_migrate_copy(m, rule, "case_sensitive", "        ", "case_sensitive");
    }
}

static void put_embeddings(struct sr_migration *m, const struct sr_yaml_node *rules)
{
    static const char *const methods[] = {"mean", "max", "any", NULL};
    bool any = false;
    for (size_t i = 0; rules && i < rules->count; i++) {
        const struct sr_yaml_node *rule = rules->items[i],
                                  *method = sr_migrate_scalar(m, rule, "aggregation_method");
        if (!sr_migrate_is_rule(rules, rule, "candidates")) {
            sr_migrate_note(m, rule,
                            "embedding rule without name or candidates, or a second one of its name");
            continue;
        }
        sr_migrate_put(m, any ? "" : "    embeddings:\n");
        any = true;
        sr_migrate_copy(m, rule, "name", "      - ", "name");
        sr_migrate_copy(m, rule, "threshold", "        ", "threshold");
        sr_migrate_copy_list(m, rule, "candidates", "        ");
        if (method && sr_migrate_is_word(method, methods))
            sr_migrate_copy(m, rule, "aggregation_method", "        ", "aggregation_method");
    }
}

/* `enabled` of the oldest shape is true where there is a text; `mode` was "replace" where it was not given.
 */
static void put_prompt(struct sr_migration *m, const struct sr_yaml_node *from, const char *enabled,
                       const char *mode)
{
    static const char *const modes[] = {"insert", "append", NULL};
    const struct sr_yaml_node *text = sr_migrate_scalar(m, from, "system_prompt"),
                              *given = sr_migrate_scalar(m, from, mode);
    if (!text || text->text.n == 0)
        return;
    sr_migrate_put(m, "        - type: system_prompt\n          configuration:\n");
    sr_migrate_copy(m, from, enabled, "            ", "enabled");
    sr_migrate_put(m, "            mode: %s\n",
                   given && sr_migrate_is_word(given, modes) ? given->text.p : "replace");
    sr_migrate_copy(m, from, "system_prompt", "            ", "system_prompt");
}

static void put_ref(struct sr_migration *m, const struct sr_yaml_node *ref, const struct sr_yaml_node *effort)
{
    if (!sr_migrate_has(ref, "model")) {
        sr_migrate_note(m, ref, "a model reference needs a `model`");
        return;
    }
    sr_migrate_copy(m, ref, "model", "        - ", "model");
    sr_migrate_copy(m, ref, "lora_name", "          ", "lora_name");
    sr_migrate_copy(m, ref, "use_reasoning", "          ", "use_reasoning");
    sr_migrate_copy(m, effort, "reasoning_effort", "          ", "reasoning_effort");
    sr_migrate_copy(m, effort, "reasoning_description", "          ", "reasoning_description");
}

/* The oldest shape: the best score of a category wins; ties go to the first. The others are candidates where
 * a policy may deny the best one. */
static void put_category_refs(struct sr_migration *m, const struct sr_yaml_node *category)
{
    const struct sr_yaml_node *scores = sr_yaml_get(category, "model_scores"), *best = NULL;
    double top = 0, score;
    for (size_t i = 0; scores && scores->kind == SR_YAML_LIST && i < scores->count; i++)
        if (score_of(scores->items[i], &score) && score > top) {
            top = score;
            best = scores->items[i];
        }
    if (!best)
        return;
    sr_migrate_put(m, "      modelRefs:\n");
    put_ref(m, best, category);
    for (size_t i = 0; m->policies && i < scores->count; i++)
        if (scores->items[i] != best && score_of(scores->items[i], &score))
            put_ref(m, scores->items[i], category);
}

static void put_category_decision(struct sr_migration *m, const struct sr_yaml_node *category)
{
    const struct sr_yaml_node *prompt = sr_yaml_get(category, "system_prompt");
    sr_migrate_copy(m, category, "name", "    - ", "name");
    sr_migrate_copy(m, category, "description", "      ", "description");
    sr_migrate_put(m, "      rules: {type: domain, name: ");
    sr_migrate_string(m, sr_yaml_get(category, "name")->text);
    sr_migrate_put(m, "}\n");
    put_category_refs(m, category);
    if (prompt && prompt->kind == SR_YAML_SCALAR && prompt->text.n)
        sr_migrate_put(m, "      plugins:\n");
    put_prompt(m, category, "system_prompt_enabled", "system_prompt_mode");
}

static void put_headers(struct sr_migration *m, const struct sr_yaml_node *configuration)
{
    static const char *const lists[] = {"add", "update", NULL};
    sr_migrate_put(m, "        - type: header_mutation\n          configuration:\n");
    for (const char *const *key = lists; *key; key++) {
        const struct sr_yaml_node *list = sr_migrate_list(m, configuration, *key);
        sr_migrate_put(m, "            %s:%s\n", *key, list ? "" : " []");
        for (size_t i = 0; list && i < list->count; i++) {
            if (!sr_migrate_has(list->items[i], "name")) {
                sr_migrate_note(m, list->items[i], "a header needs a `name`");
                continue;
            }
            sr_migrate_copy(m, list->items[i], "name", "              - ", "name");
            sr_migrate_copy(m, list->items[i], "value", "                ", "value");
        }
    }
    sr_migrate_copy_list(m, configuration, "delete", "            ");
}

static void put_response(struct sr_migration *m, const struct sr_yaml_node *configuration)
{
    static const char *const keys[] = {"enabled", "threshold", "action", NULL};
    bool any = false;
    for (const char *const *key = keys; *key; key++)
        any |= sr_yaml_get(configuration, *key) != NULL;
    sr_migrate_put(m, "        - type: response_jailbreak\n%s", any ? "          configuration:\n" : "");
    for (const char *const *key = keys; *key; key++)
        sr_migrate_copy(m, configuration, *key, "            ", *key);
}

static void put_plugins(struct sr_migration *m, const struct sr_yaml_node *plugins)
{
    bool prompt = false, headers = false, response = false, cache = false;
    if (!plugins)
        return;
    sr_migrate_put(m, "      plugins:\n");
    for (size_t i = 0; i < plugins->count; i++) {
        const struct sr_yaml_node *type = sr_migrate_scalar(m, plugins->items[i], "type");
        const struct sr_yaml_node *configuration = sr_migrate_map(m, plugins->items[i], "configuration");
        if (type && configuration && !prompt && sr_bytes_eq(type->text, SR_LIT("system_prompt"))) {
            put_prompt(m, configuration, "enabled", "mode");
            prompt = true;
        } else if (type && configuration && !headers && sr_bytes_eq(type->text, SR_LIT("header_mutation"))) {
            put_headers(m, configuration);
            headers = true;
        } else if (type && configuration && !response &&
                   sr_bytes_eq(type->text, SR_LIT("response_jailbreak"))) {
            put_response(m, configuration);
            response = true;
        } else if (type && !cache && sr_migrate_cache_plugin(m, type, configuration)) {
            cache = true;
        } else if (!type || !sr_migrate_plugin_guards(m, type, configuration)) {
            sr_migrate_note(m, plugins->items[i], "plugin `%.60s` has no equivalent in this version",
                            type ? type->text.p : "");
        }
    }
}

static void put_decision(struct sr_migration *m, const struct sr_yaml_node *decision)
{
    const struct sr_yaml_node *refs = sr_migrate_list(m, decision, "modelRefs");
    const struct sr_yaml_node *name = sr_migrate_scalar(m, decision, "name");
    sr_migrate_list(m, sr_migrate_map(m, decision, "rules"), "conditions");
    if (!sr_migrate_has_rules(m, decision)) {
        sr_migrate_note(
            m, decision,
            "decision `%.60s` was left out: its rules need signals that this version or this file "
            "does not have",
            name ? name->text.p : "");
        return;
    }
    sr_migrate_copy(m, decision, "name", "    - ", "name");
    sr_migrate_copy(m, decision, "description", "      ", "description");
    sr_migrate_copy(m, decision, "priority", "      ", "priority");
    sr_migrate_put(m, "      rules:\n");
    sr_migrate_rules(m, decision, "        ", "        ", true);
    if (refs && refs->count)
        sr_migrate_put(m, "      modelRefs:\n");
    for (size_t i = 0; refs && i < refs->count; i++)
        put_ref(m, refs->items[i], refs->items[i]);
    put_plugins(m, sr_migrate_list(m, decision, "plugins"));
}

static void put_cards(struct sr_migration *m)
{
    const struct sr_yaml_node *configs = sr_migrate_map(m, m->old, "model_config");
    bool any = false;
    for (size_t i = 0; configs && i < configs->count; i++) {
        const struct sr_yaml_node *loras = sr_migrate_list(m, configs->items[i], "loras");
        if (!loras)
            continue;
        sr_migrate_put(m, any ? "" : "  modelCards:\n");
        any = true;
        sr_migrate_put(m, "    - name: ");
        sr_migrate_string(m, configs->keys[i]->text);
        sr_migrate_put(m, "\n      loras:\n");
        for (size_t j = 0; j < loras->count; j++) {
            if (!sr_migrate_has(loras->items[j], "name")) {
                sr_migrate_note(m, loras->items[j], "a LoRA needs a `name`");
                continue;
            }
            sr_migrate_copy(m, loras->items[j], "name", "        - ", "name");
            sr_migrate_copy(m, loras->items[j], "description", "          ", "description");
        }
    }
}

/* Lists of rules that have the same form today. */
static void put_signals(struct sr_migration *m)
{
    for (const struct sr_migrate_signal *signal = sr_migrate_signals; signal->old; signal++) {
        const struct sr_yaml_node *list = sr_migrate_list(m, m->old, signal->old);
        if (list && sr_migrate_has_signal(signal))
            sr_migrate_tree(m, m->old, signal->old, "    ", signal->now);
        else if (list)
            sr_migrate_note(m, list, "`%s` has no equivalent in this version", signal->old);
    }
}

void sr_migrate_routing(struct sr_migration *m)
{
    const struct sr_yaml_node *categories = sr_migrate_list(m, m->old, "categories");
    const struct sr_yaml_node *keywords = sr_migrate_list(m, m->old, "keyword_rules");
    const struct sr_yaml_node *decisions = sr_migrate_list(m, m->old, "decisions");
    sr_migrate_put(m, "\nrouting:\n");
    sr_migrate_copy(m, m->old, "strategy", "  ", "strategy");
    put_cards(m);
    sr_migrate_put(m, "  signals:\n");
    put_keywords(m, keywords);
    put_embeddings(m, sr_migrate_list(m, m->old, "embedding_rules"));
    put_domains(m, categories);
    put_signals(m);
    sr_migrate_guard_signals(m);
    sr_migrate_put(m, "  decisions:\n");
    sr_migrate_guard_decisions(m);
    for (size_t i = 0; decisions && i < decisions->count; i++)
        put_decision(m, decisions->items[i]);
    for (size_t i = 0; !decisions && categories && i < categories->count; i++)
        if (sr_migrate_is_domain(categories, categories->items[i]))
            put_category_decision(m, categories->items[i]);
}

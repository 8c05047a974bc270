/* The models of a flat file that classify: their thresholds become `global.model_catalog.modules`. Where a
 * model was named, the new file shows as a comment where to name a folder of one's own: whether it exists and
 * can be read is not checked. */
#include "config/migrate/parts.h"

static const char *const described[] = {"use_modernbert",   "use_mmbert_32k",         "category_mapping_path",
                                        "pii_mapping_path", "jailbreak_mapping_path", NULL};

static bool has_value(const struct sr_yaml_node *map, const char *key)
{
    const struct sr_yaml_node *value = sr_yaml_get(map, key);
    return value && value->kind == SR_YAML_SCALAR && value->text.n;
}

static bool is_module(const struct sr_yaml_node *old)
{
    return has_value(old, "threshold") || has_value(old, "fallback_category") || has_value(old, "model_id");
}

static void put_path(struct sr_migration *m, const struct sr_yaml_node *old, const char *indent)
{
    if (!has_value(old, "model_id"))
        return;
    sr_migrate_put(m, "%s# model_id: ", indent);
    sr_migrate_string(m, sr_yaml_get(old, "model_id")->text);
    sr_migrate_put(m, "\n");
}

static void put_guard(struct sr_migration *m, const struct sr_yaml_node *guard)
{
    if (!is_module(guard))
        return;
    sr_migrate_put(m, "      prompt_guard:\n");
    sr_migrate_threshold(m, guard, "        ");
    put_path(m, guard, "        ");
}

/* The keys of today's section, which had the same names. */
static void put_compression(struct sr_migration *m, const struct sr_yaml_node *old)
{
    static const char *const known[] = {"enabled",
                                        "profile",
                                        "max_tokens",
                                        "min_length",
                                        "skip_signals",
                                        "textrank_weight",
                                        "position_weight",
                                        "tfidf_weight",
                                        "novelty_weight",
                                        "position_depth",
                                        "preserve_first_n",
                                        "preserve_last_n",
                                        NULL};
    if (!old)
        return;
    sr_migrate_put(m, "      prompt_compression:%s\n", old->count ? "" : " {}");
    for (const char *const *key = known; *key; key++)
        sr_migrate_tree(m, old, *key, "        ", *key);
    sr_migrate_rest(m, old, known, "prompt_compression");
}

static void put_classifiers(struct sr_migration *m, const struct sr_yaml_node *domain,
                            const struct sr_yaml_node *pii)
{
    if (is_module(domain) || is_module(pii))
        sr_migrate_put(m, "      classifier:\n");
    if (is_module(domain)) {
        sr_migrate_put(m, "        domain:\n");
        sr_migrate_copy(m, domain, "threshold", "          ", "threshold");
        sr_migrate_copy(m, domain, "fallback_category", "          ", "fallback_category");
        put_path(m, domain, "          ");
    }
    if (is_module(pii)) {
        sr_migrate_put(m, "        pii:\n");
        sr_migrate_threshold(m, pii, "          ");
        put_path(m, pii, "          ");
    }
}

/* One key of a model's entry that is not carried over. What was switched so that nothing changes is no news.
 */
static void note_key(struct sr_migration *m, const struct sr_yaml_node *key, const struct sr_yaml_node *value,
                     const char *where)
{
    bool on, cpu = sr_bytes_eq(key->text, SR_LIT("use_cpu")),
             served = sr_bytes_eq(key->text, SR_LIT("use_vllm"));
    if ((cpu || served) && sr_yaml_to_bool(value, &on) && on == cpu)
        return;
    if (cpu)
        sr_migrate_note(m, key, "`use_cpu` of %s: models run on the CPU in this version", where);
    else if (served)
        sr_migrate_note(
            m, key,
            "`use_vllm` of %s: this version asks no server about attacks; the bundled model replaces it",
            where);
    else if (sr_bytes_eq(key->text, SR_LIT("model_id")))
        sr_migrate_note(m, key,
                        "`model_id` of %s: the bundled model replaces it; a comment under `modules` shows "
                        "where to name your own folder",
                        where);
    else if (sr_migrate_is_word(key, described))
        sr_migrate_note(m, key, "`%.40s` of %s is not needed: the model folder describes the model",
                        key->text.p, where);
    else
        sr_migrate_note(m, key, "`%.60s` of %s has no equivalent in this version", key->text.p, where);
}

static void note_rest(struct sr_migration *m, const struct sr_yaml_node *old, const char *where,
                      const char *const *known)
{
    for (size_t i = 0; old && i < old->count; i++)
        if (!sr_migrate_is_word(old->keys[i], known))
            note_key(m, old->keys[i], old->items[i], where);
}

/* The thresholds of the classifiers behind `fact_check` and `user_feedback` rules. */
static void put_labels(struct sr_migration *m, const struct sr_yaml_node *facts,
                       const struct sr_yaml_node *feedback)
{
    static const char *const known[] = {"threshold", "enabled", "model_id", NULL};
    const struct sr_yaml_node *const models[] = {facts, feedback};
    for (size_t i = 0; i < 2; i++)
        if (has_value(models[i], "model_id"))
            sr_migrate_note(m, sr_yaml_get(models[i], "model_id"),
                            "`model_id`: the signal has a built-in classifier");
    if (sr_migrate_has(facts, "threshold")) {
        sr_migrate_put(m, "      hallucination_mitigation:\n        fact_check:\n");
        sr_migrate_threshold(m, facts, "          ");
    }
    if (sr_migrate_has(feedback, "threshold")) {
        sr_migrate_put(m, "      feedback_detector:\n");
        sr_migrate_threshold(m, feedback, "        ");
    }
    note_rest(m, facts, "fact_check_model", known);
    note_rest(m, feedback, "feedback_detector", known);
}

/* Notes what checks answers. */
static void note_answers(struct sr_migration *m, const struct sr_yaml_node *checks)
{
    static const char *const known[] = {"enabled", "fact_check_model", NULL};
    bool on = false;
    const struct sr_yaml_node *enabled = sr_yaml_get(checks, "enabled");
    if (enabled && sr_yaml_to_bool(enabled, &on) && on)
        sr_migrate_note(
            m, enabled,
            "`hallucination_mitigation`: answers are not compared with their sources in this version");
    for (size_t i = 0; on && checks && i < checks->count; i++)
        if (!sr_migrate_is_word(checks->keys[i], known))
            sr_migrate_note(m, checks->keys[i],
                            "`%.60s` of hallucination_mitigation has no equivalent in this version",
                            checks->keys[i]->text.p);
}

void sr_migrate_models(struct sr_migration *m)
{
    static const char *const in_classifier[] = {"category_model", "pii_model", NULL};
    static const char *const in_domain[] = {"threshold", "fallback_category", NULL};
    static const char *const in_guard[] = {"threshold", "enabled", NULL};
    const struct sr_yaml_node *classifier = sr_migrate_map(m, m->old, "classifier");
    const struct sr_yaml_node *domain = sr_migrate_map(m, classifier, "category_model");
    const struct sr_yaml_node *pii = sr_migrate_map(m, classifier, "pii_model");
    const struct sr_yaml_node *guard = sr_migrate_map(m, m->old, "prompt_guard");
    const struct sr_yaml_node *compression = sr_migrate_map(m, m->old, "prompt_compression");
    const struct sr_yaml_node *checks = sr_migrate_map(m, m->old, "hallucination_mitigation");
    const struct sr_yaml_node *facts = sr_migrate_map(m, checks, "fact_check_model");
    const struct sr_yaml_node *feedback = sr_migrate_map(m, m->old, "feedback_detector");
    bool labels = sr_migrate_has(facts, "threshold") || sr_migrate_has(feedback, "threshold");
    bool paths = has_value(domain, "model_id") || has_value(pii, "model_id") || has_value(guard, "model_id");
    if (is_module(domain) || is_module(pii) || is_module(guard) || compression || labels)
        sr_migrate_put(m, "  model_catalog:\n%s    modules:\n",
                       paths ? "    # Remove the # of a `model_id` to use your own folder instead of the "
                               "bundled model.\n    # `semroute models info FOLDER` says whether it "
                               "can be read.\n"
                             : "");
    put_guard(m, guard);
    put_classifiers(m, domain, pii);
    put_compression(m, compression);
    put_labels(m, facts, feedback);
    note_answers(m, checks);
    note_rest(m, classifier, "classifier", in_classifier);
    note_rest(m, domain, "category_model", in_domain);
    note_rest(m, pii, "pii_model", in_guard);
    note_rest(m, guard, "prompt_guard", in_guard);
}

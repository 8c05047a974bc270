/* Detects the flat shape and writes the frame of the new file: listeners, global, and notes on what was left
 * out. */
#include "config/migrate/migrate.h"

#include "config/migrate/cache.h"
#include "config/migrate/guards.h"
#include "config/migrate/parts.h"

#define TREE_MAX  ((size_t)512 << 20)
#define NOTES_MAX ((size_t)4 << 20)

/* Carried over, here or in the parts. */
static const char *const carried[] = {"vllm_endpoints",
                                      "model_config",
                                      "categories",
                                      "keyword_rules",
                                      "embedding_rules",
                                      "strategy",
                                      "decisions",
                                      "default_model",
                                      "classifier",
                                      "prompt_guard",
                                      "hallucination_mitigation",
                                      "feedback_detector",
                                      "semantic_cache",
                                      "default_reasoning_effort",
                                      "reasoning_families",
                                      "auto_model_name",
                                      "include_config_models_in_list",
                                      "clear_route_cache",
                                      "config_source",
                                      "prompt_compression",
                                      "tools",
                                      "api",
                                      "observability",
                                      "response_api",
                                      "fact_check_rules",
                                      "user_feedback_rules",
                                      "preference_rules",
                                      NULL};

/* Only in the flat shape, but with no counterpart here. */
static const char *const left_out[] = {"bert_model", "embedding_models", "mom_registry", "external_models",
                                       NULL};

bool sr_migrate_is_flat(const struct sr_yaml_node *root)
{
    if (!root || root->kind != SR_YAML_MAP || sr_yaml_get(root, "version"))
        return false;
    for (const char *const *key = carried; *key; key++)
        if (sr_yaml_get(root, *key))
            return true;
    for (const char *const *key = left_out; *key; key++)
        if (sr_yaml_get(root, *key))
            return true;
    return false;
}

static bool is_current(const struct sr_yaml_node *root)
{
    const struct sr_yaml_node *version = sr_yaml_get(root, "version");
    return version && version->kind == SR_YAML_SCALAR && sr_bytes_eq(version->text, SR_LIT("v0.3"));
}

static void put_router(struct sr_migration *m)
{
    static const char *const keys[] = {"auto_model_name", "include_config_models_in_list",
                                       "clear_route_cache", "config_source", NULL};
    bool any = false;
    for (const char *const *key = keys; *key; key++)
        any |= sr_yaml_get(m->old, *key) != NULL;
    sr_migrate_put(m, any ? "  router:\n" : "");
    for (const char *const *key = keys; *key; key++)
        sr_migrate_copy(m, m->old, *key, "    ", *key);
}

static void put_global(struct sr_migration *m)
{
    sr_migrate_put(m, "\nglobal:\n");
    put_router(m);
    sr_migrate_services(m);
    sr_migrate_models(m);
    sr_migrate_cache_store(m);
    if (m->policies || sr_migrate_has_cache_policy(m))
        sr_migrate_put(m, "  semroute:\n");
    sr_migrate_cache_policy(m);
    sr_migrate_policies(m);
}

static int write_all(struct sr_migration *m)
{
    m->policies = sr_migrate_has_policies(m);
    sr_migrate_put(m, "# Written by `semroute migrate` from a flat v0.1 configuration.\nversion: v0.3\n\n"
                      "listeners:\n  - {name: gateway, address: 127.0.0.1, port: 8801}\n\n");
    sr_migrate_providers(m);
    sr_migrate_routing(m);
    put_global(m);
    sr_migrate_rest(m, m->old, carried, "");
    if (m->notes.len && m->rc == SR_OK) {
        sr_migrate_put(m, "\n# Not carried over, by the lines of the old file:\n");
        m->rc = m->rc ? m->rc : sr_buf_append_bytes(m->out, sr_buf_view(&m->notes));
    }
    if (m->rc)
        return m->rc;
    return m->problems->errors ? SR_EINVAL : SR_OK;
}

int sr_migrate_text(struct sr_buf *out, struct sr_bytes text, struct sr_problems *problems)
{
    struct sr_arena tree;
    struct sr_yaml_node *root;
    struct sr_migration m = {.out = out, .problems = problems};
    sr_arena_init(&tree, TREE_MAX);
    sr_buf_init(&m.notes, NOTES_MAX);
    int rc = sr_yaml_parse(&root, &tree, text, problems);
    m.old = root;
    if (rc == SR_OK && is_current(root) && problems->errors) {
        rc = SR_EINVAL; /* a key that is given twice */
        goto out;
    }
    if (rc == SR_OK && is_current(root)) {
        sr_problems_add(problems, SR_PROBLEM_WARNING, 0, 0,
                        "already current: it says `version: v0.3`, and is written as it is");
        rc = sr_buf_append_bytes(out, text);
        goto out;
    }
    if (rc == SR_OK && !sr_migrate_is_flat(root)) {
        const char *why = sr_yaml_get(root, "version")
                              ? "only flat files, which have no `version`, are migrated"
                              : "this is not a flat v0.1 configuration";
        sr_problems_add(problems, SR_PROBLEM_ERROR, 1, 1, "%s", why);
        rc = SR_EINVAL;
    }
    if (rc == SR_OK)
        rc = write_all(&m);
out:
    if (problems->out_of_memory)
        rc = SR_ENOMEM;
    sr_problems_sort(problems);
    sr_buf_dispose(&m.notes);
    sr_arena_dispose(&tree);
    return rc;
}

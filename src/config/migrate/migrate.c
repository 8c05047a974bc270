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
                                      "semantic_cache",
                                      "default_reasoning_effort",
                                      "reasoning_families",
                                      "auto_model_name",
                                      "include_config_models_in_list",
                                      NULL};

/* Only in the flat shape, but with no counterpart here. */
static const char *const left_out[] = {"bert_model",
                                       "clear_route_cache",
                                       "tools",
                                       "fact_check_rules",
                                       "api",
                                       "observability",
                                       "user_feedback_rules",
                                       "preference_rules",
                                       "embedding_models",
                                       "mom_registry",
                                       "config_source",
                                       "external_models",
                                       "response_api",
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

static void put_router(struct sr_migration *m)
{
    bool any = sr_yaml_get(m->old, "auto_model_name") || sr_yaml_get(m->old, "include_config_models_in_list");
    sr_migrate_put(m, any ? "  router:\n" : "");
    sr_migrate_copy(m, m->old, "auto_model_name", "    ", "auto_model_name");
    sr_migrate_copy(m, m->old, "include_config_models_in_list", "    ", "include_config_models_in_list");
}

static void put_global(struct sr_migration *m)
{
    sr_migrate_put(m, "\nglobal:\n");
    put_router(m);
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
    if (rc == SR_OK && !sr_migrate_is_flat(root)) {
        const char *why = sr_yaml_get(root, "version")
                              ? "this file has a `version` already; there is nothing to migrate"
                              : "this is not a flat v0.1 configuration";
        sr_problems_add(problems, SR_PROBLEM_ERROR, 1, 1, "%s", why);
        rc = SR_EINVAL;
    }
    if (rc == SR_OK)
        rc = write_all(&m);
    if (problems->out_of_memory)
        rc = SR_ENOMEM;
    sr_problems_sort(problems);
    sr_buf_dispose(&m.notes);
    sr_arena_dispose(&tree);
    return rc;
}

/* Detects the flat shape. */
#include "config/migrate.h"

static const char *const flat_keys[] = {"bert_model",
                                        "semantic_cache",
                                        "prompt_guard",
                                        "classifier",
                                        "vllm_endpoints",
                                        "model_config",
                                        "categories",
                                        "default_model",
                                        "keyword_rules",
                                        "embedding_rules",
                                        "reasoning_families",
                                        "decisions",
                                        "default_reasoning_effort",
                                        "tools",
                                        "observability",
                                        "auto_model_name",
                                        NULL};

bool sr_migrate_is_flat(const struct sr_yaml_node *root)
{
    if (!root || root->kind != SR_YAML_MAP || sr_yaml_get(root, "version"))
        return false;
    for (const char *const *key = flat_keys; *key; key++)
        if (sr_yaml_get(root, *key))
            return true;
    return false;
}

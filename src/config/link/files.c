/*
 * Files that the configuration names must exist and be readable, so that a mistake is reported at its
 * position and not at the first request. Their content is checked when they are opened.
 */
#include "config/link/files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void check_file(struct sr_binder *b, const struct sr_yaml_node *node, const char *key)
{
    const struct sr_yaml_node *path = sr_yaml_get(node, key);
    if (path && path->kind == SR_YAML_SCALAR && path->text.n && access(path->text.p, R_OK) != 0)
        sr_bind_error(b, path, "`%s`: cannot open `%.300s`: %s", key, path->text.p, strerror(errno));
}

static const struct sr_yaml_node *under(const struct sr_yaml_node *node, const char *const *keys)
{
    for (; node && *keys; keys++)
        node = sr_yaml_get(node, *keys);
    return node;
}

/* The file of an algorithm, where its type, the value of `key`, is the one in force. */
static void check_algorithm(struct sr_binder *b, const struct sr_yaml_node *algorithm, const char *key)
{
    static const char *const files[][2] = {{"knn", "pretrained_path"}, {"learned", "model"}};
    const struct sr_yaml_node *type = sr_yaml_get(algorithm, key);
    for (size_t i = 0; type && type->kind == SR_YAML_SCALAR && i < sizeof files / sizeof files[0]; i++)
        if (sr_bytes_eq(type->text, sr_bytes_str(files[i][0])))
            check_file(b, sr_yaml_get(algorithm, files[i][0]), files[i][1]);
}

/* Those of a file's, or of a recipe's, decisions. */
static void check_decisions(struct sr_binder *b, const struct sr_yaml_node *owner)
{
    static const char *const path[] = {"routing", "decisions", NULL};
    const struct sr_yaml_node *decisions = under(owner, path);
    for (size_t i = 0; decisions && decisions->kind == SR_YAML_LIST && i < decisions->count; i++)
        check_algorithm(b, sr_yaml_get(decisions->items[i], "algorithm"), "type");
}

/* A share of 0 takes a canary back, whatever became of its files. */
static void check_canaries(struct sr_binder *b, const struct sr_yaml_node *list)
{
    static const char *const keys[] = {"domain", "jailbreak", "pii"};
    for (size_t i = 0; list && list->kind == SR_YAML_LIST && i < list->count; i++) {
        const struct sr_yaml_node *share = sr_yaml_get(list->items[i], "share");
        double value;
        bool off = share && sr_yaml_to_double(share, &value) && value <= 0;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0] && !off; k++)
            check_file(b, sr_yaml_get(list->items[i], "classifiers"), keys[k]);
    }
}

static void check_pools(struct sr_binder *b, const struct sr_yaml_node *list)
{
    for (size_t i = 0; list && list->kind == SR_YAML_LIST && i < list->count; i++)
        check_file(b, sr_yaml_get(list->items[i], "kv_events"), "tokenizer");
}

void sr_link_files(struct sr_binder *b, const struct sr_yaml_node *root)
{
    static const char *const models_path[] = {"providers", "models", NULL};
    static const char *const tls_path[] = {"global", "semroute", "gateway", "tls", NULL};
    static const char *const compression_path[] = {"global", "model_catalog", "modules", "prompt_compression",
                                                   NULL};
    static const char *const cache_path[] = {"global", "semroute", "cache", NULL};
    static const char *const selection_path[] = {"global", "router", "model_selection", NULL};
    static const char *const pools_path[] = {"global", "semroute", "pools", NULL};
    static const char *const canaries_path[] = {"global", "semroute", "canaries", NULL};
    const struct sr_yaml_node *models = under(root, models_path), *tls = under(root, tls_path);
    for (size_t i = 0; models && models->kind == SR_YAML_LIST && i < models->count; i++) {
        const struct sr_yaml_node *backends = sr_yaml_get(models->items[i], "backend_refs");
        for (size_t j = 0; backends && backends->kind == SR_YAML_LIST && j < backends->count; j++)
            check_file(b, backends->items[j], "tls_ca_file");
    }
    check_decisions(b, root);
    const struct sr_yaml_node *recipes = sr_yaml_get(root, "recipes");
    for (size_t i = 0; recipes && recipes->kind == SR_YAML_LIST && i < recipes->count; i++)
        check_decisions(b, recipes->items[i]);
    check_algorithm(b, under(root, selection_path), "method");
    check_canaries(b, under(root, canaries_path));
    check_pools(b, under(root, pools_path));
    check_file(b, under(root, cache_path), "warm_file");
    check_file(b, tls, "cert_file");
    check_file(b, tls, "key_file");
    check_file(b, under(root, compression_path), "tokenizer");
}

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

/* The file of a decision's algorithm, where its type is the one in force. */
static void check_algorithm(struct sr_binder *b, const struct sr_yaml_node *decision)
{
    static const char *const files[][2] = {{"knn", "pretrained_path"}, {"learned", "model"}};
    const struct sr_yaml_node *algorithm = sr_yaml_get(decision, "algorithm");
    const struct sr_yaml_node *type = sr_yaml_get(algorithm, "type");
    for (size_t i = 0; type && type->kind == SR_YAML_SCALAR && i < sizeof files / sizeof files[0]; i++)
        if (sr_bytes_eq(type->text, sr_bytes_str(files[i][0])))
            check_file(b, sr_yaml_get(algorithm, files[i][0]), files[i][1]);
}

void sr_link_files(struct sr_binder *b, const struct sr_yaml_node *root)
{
    static const char *const models_path[] = {"providers", "models", NULL};
    static const char *const tls_path[] = {"global", "semroute", "gateway", "tls", NULL};
    static const char *const compression_path[] = {"global", "model_catalog", "modules", "prompt_compression",
                                                   NULL};
    static const char *const cache_path[] = {"global", "semroute", "cache", NULL};
    static const char *const decisions_path[] = {"routing", "decisions", NULL};
    const struct sr_yaml_node *models = under(root, models_path), *tls = under(root, tls_path);
    for (size_t i = 0; models && models->kind == SR_YAML_LIST && i < models->count; i++) {
        const struct sr_yaml_node *backends = sr_yaml_get(models->items[i], "backend_refs");
        for (size_t j = 0; backends && backends->kind == SR_YAML_LIST && j < backends->count; j++)
            check_file(b, backends->items[j], "tls_ca_file");
    }
    const struct sr_yaml_node *decisions = under(root, decisions_path);
    for (size_t i = 0; decisions && decisions->kind == SR_YAML_LIST && i < decisions->count; i++)
        check_algorithm(b, decisions->items[i]);
    check_file(b, under(root, cache_path), "warm_file");
    check_file(b, tls, "cert_file");
    check_file(b, tls, "key_file");
    check_file(b, under(root, compression_path), "tokenizer");
}

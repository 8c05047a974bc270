/*
 * Files that the configuration names must be there and readable, so that a mistake shows at its place and not
 * at the first request. What is in them is for those who open them to judge.
 */
#include "config/link/link.h"
#include "infer/encoder/encoder.h"
#include "infer/locate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void check_file(struct sr_binder *b, const struct sr_yaml_node *node, const char *key)
{
    const struct sr_yaml_node *path = sr_yaml_get(node, key);
    if (path && path->kind == SR_YAML_SCALAR && path->text.n && access(path->text.p, R_OK) != 0)
        sr_bind_error(b, path, "`%s`: cannot open `%.300s`: %s", key, path->text.p, strerror(errno));
}

/* The name or folder of an encoder, where one is given. */
static void check_model(struct sr_binder *b, const struct sr_yaml_node *node, const char *key)
{
    const struct sr_yaml_node *name = sr_yaml_get(node, key);
    struct sr_err err = {0};
    char folder[SR_LOCATE_MAX];
    if (name && name->kind == SR_YAML_SCALAR && name->text.n && sr_locate_model(folder, name->text.p, &err))
        sr_bind_error(b, name, "`%s`: %s", key, err.message);
}

/* A folder of model folders must have one that some signal can use. */
static void check_models(struct sr_binder *b, const struct sr_yaml_node *node, const char *key)
{
    static const char *const tasks[] = {"domain", "jailbreak", "pii"};
    const struct sr_yaml_node *folder = sr_yaml_get(node, key);
    struct sr_encoder_candidate best;
    struct sr_err err = {0};
    size_t all = 0, n;
    if (!folder || folder->kind != SR_YAML_SCALAR || !folder->text.n)
        return;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++, all += n)
        if (sr_encoder_candidates(folder->text.p, tasks[i], &best, 1, &n, &err)) {
            sr_bind_error(b, folder, "`%s`: %s", key, err.message);
            return;
        }
    if (all == 0)
        sr_bind_error(b, folder, "`%s`: %.300s has no model for domain, jailbreak or pii", key,
                      folder->text.p);
}

static const struct sr_yaml_node *under(const struct sr_yaml_node *node, const char *const *keys)
{
    for (; node && *keys; keys++)
        node = sr_yaml_get(node, *keys);
    return node;
}

void sr_config_link_files(struct sr_binder *b, const struct sr_yaml_node *root)
{
    static const char *const models_path[] = {"providers", "models", NULL};
    static const char *const tls_path[] = {"global", "semroute", "gateway", "tls", NULL};
    static const char *const domain_path[] = {"global",     "model_catalog", "modules",
                                              "classifier", "domain",        NULL};
    static const char *const pii_path[] = {"global", "model_catalog", "modules", "classifier", "pii", NULL};
    static const char *const guard_path[] = {"global", "model_catalog", "modules", "prompt_guard", NULL};
    static const char *const compression_path[] = {"global", "model_catalog", "modules", "prompt_compression",
                                                   NULL};
    static const char *const inference_path[] = {"global", "semroute", "inference", NULL};
    static const char *const semantic_path[] = {"global", "model_catalog", "embeddings", "semantic", NULL};
    const struct sr_yaml_node *models = under(root, models_path), *tls = under(root, tls_path);
    for (size_t i = 0; models && models->kind == SR_YAML_LIST && i < models->count; i++) {
        const struct sr_yaml_node *backends = sr_yaml_get(models->items[i], "backend_refs");
        for (size_t j = 0; backends && backends->kind == SR_YAML_LIST && j < backends->count; j++)
            check_file(b, backends->items[j], "tls_ca_file");
    }
    check_file(b, tls, "cert_file");
    check_file(b, tls, "key_file");
    check_file(b, under(root, domain_path), "model_id");
    check_model(b, under(root, semantic_path), "mmbert_model_path");
    check_model(b, under(root, inference_path), "neural");
    check_models(b, under(root, inference_path), "models_folder");
    check_file(b, under(root, pii_path), "model_id");
    check_file(b, under(root, guard_path), "model_id");
    check_file(b, under(root, compression_path), "tokenizer");
}

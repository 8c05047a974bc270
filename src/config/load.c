/* From text or a file to a snapshot: parse, replace variables, bind, link. Owns no grammar and no section. */
#include "config/load.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/read_file.h"
#include "config/bind/bind.h"
#include "config/bind/env.h"
#include "config/bind/secret_file.h"
#include "config/draft.h"
#include "config/link/absent.h"
#include "config/link/canaries.h"
#include "config/link/epoch.h"
#include "config/link/files.h"
#include "config/link/identity.h"
#include "config/link/limits.h"
#include "config/link/link.h"
#include "config/link/methods.h"
#include "config/link/recipes.h"
#include "config/migrate/migrate.h"
#include "config/section/section.h"
#include "config/snapshot.h"

#include <stdio.h>

#define TREE_MAX ((size_t)512 << 20)
#define READ_MS  10000 /* a file that has not arrived by then lies on a dead mount, or is a FIFO */

/* A file that holds the configuration under a key, or as text. */
static bool is_wrapped(struct sr_binder *b, const struct sr_yaml_node *root)
{
    const struct sr_yaml_node *kind = sr_yaml_get(root, "kind"), *inner = sr_yaml_get(root, "config");
    bool text = kind && kind->kind == SR_YAML_SCALAR;
    if (sr_yaml_get(root, "version") || sr_yaml_get(root, "routing") || sr_yaml_get(root, "providers"))
        return false;
    if (text && sr_yaml_get(root, "apiVersion") && sr_bytes_eq(kind->text, SR_LIT("ConfigMap")))
        sr_bind_error(b, root, "this is a ConfigMap: the configuration is the text of a key under `data`");
    else if (text && sr_yaml_get(root, "apiVersion"))
        sr_bind_error(b, root, "this is a resource of Kubernetes (`kind: %.60s`), and no configuration",
                      kind->text.p);
    else if (sr_yaml_get(inner, "version") || sr_yaml_get(inner, "routing"))
        sr_bind_error(b, root,
                      "these are values of a Helm chart: the configuration is what stands under `config`");
    else
        return false;
    return true;
}

/* A file of another program, or an earlier shape: what to do with it. False: it is none of these. */
static bool is_foreign(struct sr_binder *b, const struct sr_yaml_node *root)
{
    const struct sr_yaml_node *models = sr_yaml_get(root, "model_list");
    if (sr_migrate_is_flat(root))
        sr_bind_error(b, root,
                      "this is a flat v0.1 configuration; `semroute migrate FILE` writes it in "
                      "today's shape");
    else if (models)
        sr_bind_error(b, models,
                      "this is a configuration of LiteLLM; here each entry of `model_list` is one of "
                      "`providers.models`: `model_name` is its `name`, `litellm_params.model` its "
                      "`provider_model_id`, and `api_base` and `api_key` belong under `backend_refs`");
    return models || sr_migrate_is_flat(root);
}

static void check_root(struct sr_binder *b, const struct sr_yaml_node *root)
{
    if (!root || sr_yaml_type(root) == SR_YAML_NULL)
        sr_bind_error(b, root, "the file is empty; a configuration begins with `version: v0.3`");
    else if (root->kind != SR_YAML_MAP)
        sr_bind_error(b, root, "a configuration is a mapping that begins with `version: v0.3`, found %s",
                      sr_yaml_type_name(root));
}

static int build(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_load_options *options,
                 struct sr_snapshot *snapshot)
{
    check_root(b, root);
    if (b->problems->errors && (!root || root->kind != SR_YAML_MAP))
        return SR_EINVAL;
    if (is_foreign(b, root) || is_wrapped(b, root))
        return SR_EINVAL;
    sr_bind(b, b->root, root, &snapshot->config);
    if (b->rc == SR_OK)
        b->rc = sr_snapshot_index(snapshot);
    if (b->rc == SR_OK && options->files)
        sr_link_absent(b, root, &snapshot->config);
    const struct sr_yaml_node *top = sr_link_top_block(b, root, &snapshot->config);
    if (b->rc == SR_OK)
        sr_config_link(b, root, top, &snapshot->config);
    if (b->rc == SR_OK)
        sr_link_identity(b, root, &snapshot->config, options->files);
    if (b->rc == SR_OK)
        sr_link_limits(b, root, &snapshot->config);
    if (b->rc == SR_OK)
        sr_link_recipes(b, root, top, &snapshot->config);
    if (b->rc == SR_OK)
        sr_link_methods(&snapshot->config);
    if (b->rc == SR_OK)
        sr_link_canaries(b, root, &snapshot->config);
    if (b->rc == SR_OK && options->files)
        sr_link_files(b, root);
    if (b->rc == SR_OK)
        sr_link_epoch(&snapshot->config, sr_yaml_hash(root), options->files);
    if (b->rc == SR_OK && options->probe)
        options->probe(&snapshot->config, b->problems);
    if (b->rc)
        return b->rc;
    return b->problems->errors ? SR_EINVAL : SR_OK;
}

int sr_config_load_text(const struct sr_config **out, struct sr_bytes text, const char *path,
                        struct sr_load_options options, struct sr_problems *problems)
{
    struct sr_arena tree;
    struct sr_yaml_node *root;
    struct sr_snapshot *snapshot = sr_snapshot_new();
    *out = NULL;
    if (!snapshot)
        return SR_ENOMEM;
    sr_arena_init(&tree, TREE_MAX);
    struct sr_binder b = {.root = &sr_section_root,
                          .arena = &snapshot->arena,
                          .problems = problems,
                          .lenient = options.lenient,
                          .draft = options.draft,
                          .files = options.files};
    int rc = sr_yaml_parse(&root, &tree, text, problems);
    if (rc == SR_OK && options.routing.n)
        rc = sr_config_draft_graft(root, options.routing, &tree, problems);
    if (rc == SR_OK)
        rc = sr_secret_files(&b, root, &tree, options.files, &snapshot->config.watched);
    if (rc == SR_OK)
        rc = sr_env_expand(root, options.draft, &tree, problems);
    if (rc == SR_OK) {
        snapshot->config.path = sr_bind_dup(&b, sr_bytes_str(path));
        snprintf(snapshot->config.revision, sizeof snapshot->config.revision, "%016llx",
                 (unsigned long long)sr_hash64(text, 0));
        rc = build(&b, root, &options, snapshot);
    }
    if (problems->out_of_memory)
        rc = SR_ENOMEM;
    sr_arena_dispose(&tree);
    sr_problems_sort(problems);
    if (rc)
        sr_config_unref(&snapshot->config);
    else
        *out = &snapshot->config;
    return rc;
}

static int read_file(struct sr_buf *out, const char *path, struct sr_problems *problems)
{
    struct sr_err err = {0};
    int rc = sr_read_file(out, path, READ_MS, &err);
    if (rc != SR_OK)
        sr_problems_add(problems, SR_PROBLEM_ERROR, 0, 0, "%s", err.message);
    return rc;
}

int sr_config_load_file(const struct sr_config **out, const char *path, struct sr_load_options options,
                        struct sr_problems *problems)
{
    struct sr_buf text;
    *out = NULL;
    sr_buf_init(&text, SR_YAML_MAX_TEXT);
    int rc = read_file(&text, path, problems);
    if (rc == SR_OK)
        rc = sr_config_load_text(out, sr_buf_view(&text), path, options, problems);
    sr_buf_dispose(&text);
    return rc;
}

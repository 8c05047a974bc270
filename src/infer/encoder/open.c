/* Opening a model folder from its parts, and closing it. What each part must be is said in the files of the
 * parts; here is their order, and who owns what. */
#include "infer/encoder/private.h"

#include "base/mem.h"
#include "infer/locate.h"

#include <stdio.h>
#include <unistd.h>

#define ARENA_MAX ((size_t)1 << 31)

_Static_assert(SR_ENC_PATH_MAX == SR_LOCATE_MAX, "a base is a path that both know");

/* A folder that is only an adapter needs a base folder beside it; `base` is `folder` otherwise. */
struct folders {
    char base[SR_ENC_PATH_MAX];
    struct sr_enc_adapter adapter;
    bool adapted;
};

static bool has(const char *folder, const char *name)
{
    char path[SR_ENC_PATH_MAX];
    return sr_enc_path(path, folder, name, NULL) == SR_OK && access(path, F_OK) == 0;
}

static bool has_weights(const char *folder)
{
    return has(folder, "model.safetensors") || has(folder, "model.safetensors.index.json");
}

static bool is_adapter_alone(const char *folder)
{
    return !has_weights(folder) && has(folder, "adapter_config.json");
}

static int own_base(char base[SR_ENC_PATH_MAX], const char *folder, struct sr_err *err)
{
    return snprintf(base, SR_ENC_PATH_MAX, "%s", folder) < (int)SR_ENC_PATH_MAX
               ? SR_OK
               : sr_err_set(err, SR_ELIMIT, "the path of the model folder is too long");
}

/* The base that an adapter calls `name`: beside it, or where models are. */
static int adapters_base(char base[SR_ENC_PATH_MAX], const char *folder, const char *name, struct sr_err *err)
{
    char beside[SR_ENC_NAME_MAX + sizeof "../"];
    if (!name[0])
        return sr_err_set(err, SR_EPARSE, "%s: an adapter that names no `base_model_name_or_path`", folder);
    snprintf(beside, sizeof beside, "../%s", name);
    int rc = sr_enc_path(base, folder, beside, err);
    if (rc || has(base, "config.json") || sr_locate_model(base, name, NULL) == SR_OK)
        return rc;
    return sr_err_set(err, SR_ENOENT, "%s: an adapter; its base model was not found as %s/%s", folder, folder,
                      beside);
}

int sr_encoder_base(char out[SR_LOCATE_MAX], const char *folder, struct sr_err *err)
{
    char name[SR_ENC_NAME_MAX + 1];
    if (!is_adapter_alone(folder))
        return own_base(out, folder, err);
    sr_enc_base_read(name, folder);
    return adapters_base(out, folder, name, err);
}

static int find_base(struct folders *f, const char *folder, struct sr_err *err)
{
    if (!is_adapter_alone(folder))
        return own_base(f->base, folder, err);
    int rc = sr_enc_adapter_open(&f->adapter, folder, "adapter_model.safetensors", true, err);
    f->adapted = rc == SR_OK;
    return rc ? rc : adapters_base(f->base, folder, f->adapter.base, err);
}

static int open_tokenizer(struct sr_encoder *e, const char *base, struct sr_err *err)
{
    char path[SR_ENC_PATH_MAX];
    struct sr_err inner = {0};
    const char *folder = has(e->info.folder, "tokenizer.json") ? e->info.folder : base;
    int rc = sr_enc_path(path, folder, "tokenizer.json", err);
    if (rc)
        return rc;
    rc = sr_tokenizer_open_file(&e->tokenizer, path, &inner);
    if (rc)
        return sr_err_set_at(err, rc, inner.offset, "%s%s%s", strstr(inner.message, path) ? "" : path,
                             strstr(inner.message, path) ? "" : ": ", inner.message);
    if (sr_tokenizer_size(e->tokenizer) > e->config.vocab)
        return sr_err_set(err, SR_EMISMATCH, "%s: has ids up to %zu, the model has %zu tokens", path,
                          sr_tokenizer_size(e->tokenizer) - 1, e->config.vocab);
    return SR_OK;
}

static int fill_info(struct sr_encoder *e, const char *folder, const char *base,
                     const struct sr_encoder_options *options, struct sr_err *err)
{
    const struct sr_enc_config *c = &e->config;
    size_t room = c->positions - c->offset;
    if (options->max_tokens && options->max_tokens < room)
        room = options->max_tokens;
    e->info.folder = sr_arena_dup(&e->arena, sr_bytes_str(folder)).p;
    e->base = sr_arena_dup(&e->arena, sr_bytes_str(base)).p;
    if (!e->info.folder || !e->base)
        return sr_enc_out_of_memory(err);
    e->info.architecture = sr_enc_family_name(c->family);
    e->info.layers = c->layers;
    e->info.hidden = c->hidden;
    e->info.attention_heads = c->heads;
    e->info.intermediate = c->intermediate;
    e->info.vocab = c->vocab;
    e->info.max_tokens = room;
    e->info.precision = options->precision;
    e->info.heads = e->head_info;
    return SR_OK;
}

static int load(struct sr_encoder *e, struct folders *f, const struct sr_encoder_options *options,
                struct sr_err *err)
{
    struct sr_enc_adapter *adapter = f->adapted ? &f->adapter : NULL;
    int rc = sr_enc_files_open(&e->files, e->base, options->sha256, err);
    if (rc == SR_OK)
        rc = sr_enc_shared_load(e, err);
    if (rc == SR_OK)
        rc = sr_enc_trunk_load(e, adapter, err);
    if (rc == SR_OK)
        rc = sr_enc_heads_load(e, options->task, adapter, err);
    if (rc == SR_OK && adapter)
        rc = sr_enc_adapter_check(adapter, true, err);
    for (size_t i = 0; rc == SR_OK && i < options->n_heads; i++)
        rc = has(options->heads[i], "adapters.safetensors")
                 ? sr_enc_bundle_load(e, options->heads[i], options->sha256, err)
                 : sr_enc_adapter_heads_load(e, options->heads[i], err);
    return rc;
}

static int open_all(struct sr_encoder *e, struct folders *f, const char *folder,
                    const struct sr_encoder_options *options, struct sr_err *err)
{
    int rc = find_base(f, folder, err);
    if (rc == SR_OK)
        rc = sr_enc_config_read(&e->config, f->base, err);
    if (rc == SR_OK && f->adapted)
        e->config.task = f->adapter.task;
    if (rc == SR_OK)
        rc = fill_info(e, folder, f->base, options, err);
    if (rc == SR_OK)
        rc = open_tokenizer(e, f->base, err);
    if (rc == SR_OK)
        rc = load(e, f, options, err);
    if (rc)
        return rc;
    e->info.weight_bytes += e->arena.total;
    sr_enc_files_close(&e->files);
    sr_mem_free(e->relative.rows);
    e->relative.rows = NULL;
    return SR_OK;
}

int sr_encoder_open(struct sr_encoder **out, const char *folder, const struct sr_encoder_options *options,
                    struct sr_err *err)
{
    *out = NULL;
    struct sr_encoder *e = sr_mem_calloc(1, sizeof *e);
    struct folders *folders = sr_mem_calloc(1, sizeof *folders);
    int rc = SR_ENOMEM;
    if (e) {
        sr_ref_init(&e->ref);
        sr_arena_init(&e->arena, ARENA_MAX);
    }
    if (e && folders)
        rc = open_all(e, folders, folder, options, err);
    else
        sr_enc_out_of_memory(err);
    if (folders)
        sr_enc_adapter_close(&folders->adapter);
    sr_mem_free(folders);
    if (rc)
        sr_encoder_unref(e);
    else
        *out = e;
    return rc;
}

struct sr_encoder *sr_encoder_ref(struct sr_encoder *encoder)
{
    sr_ref_get(&encoder->ref);
    return encoder;
}

static void free_trunk(const struct sr_encoder *e, struct sr_enc_trunk *trunk)
{
    for (size_t i = 0; trunk && i < SR_ENC_LAYERS_MAX; i++) {
        struct sr_enc_layer *l = &trunk->layers[i];
        struct sr_matrix *matrices[4] = {l->qkv, l->out, l->up, l->down};
        for (size_t k = 0; k < 4; k++)
            if (!trunk->borrowed[i][k])
                sr_matrix_free(matrices[k]);
        if (!trunk->borrowed[i][SR_ENC_TERMS])
            sr_enc_terms_free(e, l->terms);
    }
    sr_mem_free(trunk);
}

void sr_encoder_unref(struct sr_encoder *e)
{
    if (!e || !sr_ref_put(&e->ref))
        return;
    for (size_t i = 0; i < SR_ENCODER_HEADS_MAX; i++) {
        sr_matrix_free(e->heads[i].dense);
        sr_matrix_free(e->heads[i].classifier);
        for (size_t k = 0; k < SR_ENC_DENSE_MAX; k++)
            sr_matrix_free(e->heads[i].after[k]);
    }
    for (size_t i = e->n_trunks; i-- > 0;)
        free_trunk(e, e->trunks[i]);
    sr_matrix_free(e->conv.matrix);
    sr_mem_free(e->relative.rows);
    if (e->rope[0] != e->rope[1])
        sr_rope_free(e->rope[0]);
    sr_rope_free(e->rope[1]);
    sr_enc_words_let_go(e->word_table);
    sr_enc_files_close(&e->files);
    sr_tokenizer_unref(e->tokenizer);
    sr_arena_dispose(&e->arena);
    sr_mem_free(e);
}

const struct sr_encoder_info *sr_encoder_info(const struct sr_encoder *encoder)
{
    return &encoder->info;
}

struct sr_tokenizer *sr_encoder_tokenizer(const struct sr_encoder *encoder)
{
    return encoder->tokenizer;
}

/* The linear layers of heads: their tensors under every name that folders give them, packed for the kernels.
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <stdio.h>

/* PEFT keeps a module that was trained whole under names of its own: the module's, or its parent's. */
static const struct sr_tensor *find_in(const struct sr_enc_files *files, const char *module, const char *kind)
{
    static const char *const middles[] = {"", ".modules_to_save", ".modules_to_save.default"};
    char name[SR_ENC_NAME_MAX];
    const char *dot = strchr(module, '.');
    const struct sr_tensor *t = NULL;
    for (size_t k = 0; k < 3 && !t; k++) {
        snprintf(name, sizeof name, "%s%s.%s", module, middles[k], kind);
        t = sr_enc_head_tensor(files, name);
    }
    for (size_t k = 1; k < 3 && dot && !t; k++) {
        snprintf(name, sizeof name, "%.*s%s%s.%s", (int)(dot - module), module, middles[k], dot, kind);
        t = sr_enc_head_tensor(files, name);
    }
    return t;
}

const struct sr_tensor *sr_enc_head_find(struct sr_enc_source *from, const char *module, const char *kind)
{
    for (size_t i = 0; i < 2 && from->files[i]; i++) {
        const struct sr_tensor *t = find_in(from->files[i], module, kind);
        from->found = from->files[i];
        if (t)
            return t;
    }
    from->found = from->files[0];
    return NULL;
}

/* The rows, then the bias. */
static int read_layer(struct sr_enc_source *from, const struct sr_enc_head_layer *l, size_t k, float *rows,
                      struct sr_err *err)
{
    const struct sr_tensor *t = sr_enc_head_find(from, l->module, "weight");
    int rc = sr_enc_floats(from->found, t, rows, err);
    if (rc == SR_OK && from->adapter)
        rc = sr_enc_adapter_merge(from->adapter, l->module, rows, l->n, k, err);
    if (rc || !l->bias)
        return rc;
    t = sr_enc_head_find(from, l->module, "bias");
    rc = sr_enc_check(from->found, t, l->module, l->n, 0, err);
    return rc ? rc : sr_enc_floats(from->found, t, rows + l->n * k, err);
}

int sr_enc_head_matrix(struct sr_encoder *e, struct sr_enc_source *from, const struct sr_enc_head_layer *l,
                       struct sr_matrix **out, struct sr_err *err)
{
    size_t n = l->n, k = l->k ? l->k : e->config.hidden;
    const struct sr_tensor *t = sr_enc_head_find(from, l->module, "weight");
    int rc = sr_enc_check(from->found, t, l->module, n, k, err);
    if (rc)
        return rc;
    float *rows = sr_mem_alloc((n * k + n) * sizeof *rows);
    if (!rows)
        return sr_enc_out_of_memory(err);
    rc = read_layer(from, l, k, rows, err);
    struct sr_matrix_source source = {rows, SR_SCALAR_F32, n, k, l->bias ? rows + n * k : NULL};
    if (rc == SR_OK && (rc = sr_matrix_pack(out, &source, l->precision, l->epilogue)))
        sr_err_set(err, rc, "%s: %s could not be packed: %s", e->info.folder, l->module, sr_strerror(rc));
    if (rc == SR_OK) {
        e->info.weight_bytes += sr_matrix_bytes(*out);
        e->info.parameters += n * k + (l->bias ? n : 0);
    }
    sr_mem_free(rows);
    return rc;
}

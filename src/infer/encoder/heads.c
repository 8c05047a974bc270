/* The heads of a model folder: which it has by architecture and task, their tensors, their labels. */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <stdio.h>

static int load_norm(struct sr_encoder *e, struct sr_enc_source *from, const char *module, bool bias,
                     struct sr_enc_norm *norm, struct sr_err *err)
{
    const struct sr_tensor *t = sr_enc_head_find(from, module, "weight");
    int rc = sr_enc_vector_load(e, from->found, t, module, e->config.hidden, &norm->weight, err);
    if (rc || !bias)
        return rc;
    t = sr_enc_head_find(from, module, "bias");
    return sr_enc_vector_load(e, from->found, t, module, e->config.hidden, &norm->bias, err);
}

/* What stands between the trunk's rows and the classifier. */
static int load_layers(struct sr_encoder *e, struct sr_enc_source *from, struct sr_enc_head *head,
                       size_t n_labels, struct sr_err *err)
{
    const struct sr_enc_config *c = &e->config;
    bool token = head->kind == SR_HEAD_TOKEN, modern = c->family == SR_ENC_MODERNBERT;
    bool roberta = c->family == SR_ENC_ROBERTA && !token;
    struct sr_enc_head_layer out = {
        .module = roberta ? "classifier.out_proj" : "classifier", .n = n_labels, .bias = true};
    struct sr_enc_head_layer dense = {.module = modern    ? "head.dense"
                                                : roberta ? "classifier.dense"
                                                          : "pooler.dense",
                                      .n = c->hidden,
                                      .bias = !modern || c->classifier_bias,
                                      .epilogue = c->classifier_activation};
    bool has_dense = c->classifier_dense && (modern || !token);
    /* A token head's dense layer runs for each token: it is worth the trunk's precision. */
    dense.precision = token ? e->info.precision : SR_PRECISION_FP32;
    out.precision = SR_PRECISION_FP32;
    int rc = has_dense ? sr_enc_head_matrix(e, from, &dense, &head->dense, err) : SR_OK;
    if (rc == SR_OK && modern)
        rc = load_norm(e, from, "head.norm", c->norm_bias, &head->norm, err);
    return rc ? rc : sr_enc_head_matrix(e, from, &out, &head->classifier, err);
}

/* Rows of the classifier; 0: there is none. */
static size_t classifier_rows(struct sr_encoder *e, struct sr_enc_source *from)
{
    const struct sr_tensor *t = sr_enc_head_find(from, "classifier", "weight");
    if (!t && e->config.family == SR_ENC_ROBERTA)
        t = sr_enc_head_find(from, "classifier.out_proj", "weight");
    return t && t->rank == 2 && t->shape[0] <= SR_ENCODER_LABELS_MAX ? (size_t)t->shape[0] : 0;
}

static int make_labels(struct sr_encoder *e, struct sr_enc_labels *labels, size_t n, struct sr_err *err)
{
    labels->labels = sr_arena_calloc(&e->arena, n, sizeof *labels->labels);
    for (size_t i = 0; labels->labels && i < n; i++)
        if (!(labels->labels[i] = sr_arena_printf(&e->arena, "LABEL_%zu", i)))
            labels->labels = NULL;
    labels->n = n;
    return labels->labels ? SR_OK : sr_enc_out_of_memory(err);
}

int sr_enc_head_add(struct sr_encoder *e, const char *name, const char *folder, enum sr_head_kind kind,
                    size_t trunk, struct sr_enc_head **out, struct sr_err *err)
{
    if (e->info.n_heads == SR_ENCODER_HEADS_MAX) {
        (void)sr_err_set(err, SR_ELIMIT, "%s: more than %u heads", e->info.folder, SR_ENCODER_HEADS_MAX);
        return SR_ELIMIT;
    }
    if (sr_encoder_find_head(e, name) >= 0) {
        (void)sr_err_set(err, SR_EMISMATCH, "%s: two heads are called `%s`", e->info.folder, name);
        return SR_EMISMATCH;
    }
    struct sr_bytes copy = sr_arena_dup(&e->arena, sr_bytes_str(name));
    struct sr_bytes from = sr_arena_dup(&e->arena, sr_bytes_str(folder));
    if (!copy.p || !from.p)
        return sr_enc_out_of_memory(err);
    e->head_info[e->info.n_heads] = (struct sr_head_info){
        .name = copy.p, .folder = from.p, .kind = kind, .temperature = 1, .adapted = trunk > 0};
    *out = &e->heads[e->info.n_heads++];
    (*out)->kind = kind;
    (*out)->trunk = trunk;
    return SR_OK;
}

static int add_embedding(struct sr_encoder *e, struct sr_err *err)
{
    struct sr_enc_head *head;
    int rc = sr_enc_head_add(e, SR_ENC_EMBEDDING, e->info.folder, SR_HEAD_EMBEDDING, 0, &head, err);
    if (rc)
        return rc;
    head->pooling = e->config.embedding_pooling;
    e->head_info[e->info.n_heads - 1].n_labels = e->config.vector;
    return sr_enc_dense_load(e, head, err);
}

/* A classifier whose tensors are at `from`, whose labels are in `folder`. */
static int add_classifier(struct sr_encoder *e, struct sr_enc_source *from, const char *folder,
                          const char *task, enum sr_head_kind kind, size_t trunk, struct sr_err *err)
{
    struct sr_enc_labels labels;
    struct sr_enc_head *head;
    size_t n = classifier_rows(e, from);
    int rc = sr_enc_labels_read(&labels, folder, NULL, &e->arena, err);
    if (rc == SR_OK && n == 0)
        rc = sr_err_set(err, SR_EMISMATCH, "%s: the weights have no classifier of 1 to %u labels", folder,
                        SR_ENCODER_LABELS_MAX);
    if (rc == SR_OK && labels.n == 0)
        rc = make_labels(e, &labels, n, err);
    if (rc == SR_OK && labels.n != n)
        rc = sr_err_set(err, SR_EMISMATCH, "%s: the classifier has %zu outputs, but there are %zu labels",
                        folder, n, labels.n);
    if (rc)
        return rc;
    const char *name = task ? task : labels.task ? labels.task : kind == SR_HEAD_TOKEN ? "token" : "sequence";
    rc = sr_enc_head_add(e, name, folder, kind, trunk, &head, err);
    if (rc)
        return rc;
    head->pooling = e->config.classifier_pooling;
    e->head_info[e->info.n_heads - 1].labels = labels.labels;
    e->head_info[e->info.n_heads - 1].n_labels = n;
    return load_layers(e, from, head, n, err);
}

/* Where no architecture or task is named only PII is found by token. */
static enum sr_head_kind kind_of(enum sr_enc_task task, const char *folder)
{
    struct sr_enc_json json;
    bool token = task == SR_ENC_TASK_TOKEN;
    if (task == SR_ENC_TASK_NONE) {
        token = sr_enc_json_open(&json, folder, "pii_type_mapping.json", true, NULL) == SR_OK && json.bytes;
        sr_enc_json_close(&json);
    }
    return token ? SR_HEAD_TOKEN : SR_HEAD_SEQUENCE;
}

int sr_enc_adapter_heads_load(struct sr_encoder *e, const char *folder, struct sr_err *err)
{
    struct sr_enc_adapter adapter;
    int rc = sr_enc_adapter_open(&adapter, folder, "adapter_model.safetensors", true, err);
    struct sr_enc_source from = {{&adapter.files, &e->files}, NULL, &adapter};
    if (rc == SR_OK)
        rc = sr_enc_trunk_load(e, &adapter, err);
    if (rc == SR_OK)
        rc = add_classifier(e, &from, folder, NULL, kind_of(adapter.task, folder),
                            sr_enc_trunk_read(e, e->n_trunks - 1, e->config.layers), err);
    if (rc == SR_OK)
        rc = sr_enc_adapter_check(&adapter, true, err);
    sr_enc_adapter_close(&adapter);
    return rc;
}

int sr_enc_heads_load(struct sr_encoder *e, const char *task, struct sr_enc_adapter *adapter,
                      struct sr_err *err)
{
    struct sr_enc_source from = {{&e->files, NULL}, NULL, NULL};
    if (adapter)
        from = (struct sr_enc_source){{&adapter->files, &e->files}, NULL, adapter};
    if (e->config.task == SR_ENC_TASK_NONE && classifier_rows(e, &from) == 0)
        return add_embedding(e, err);
    return add_classifier(e, &from, e->info.folder, task, kind_of(e->config.task, e->info.folder), 0, err);
}

int sr_encoder_find_head(const struct sr_encoder *encoder, const char *name)
{
    for (size_t i = 0; i < encoder->info.n_heads; i++)
        if (strcmp(encoder->head_info[i].name, name) == 0)
            return (int)i;
    return -1;
}

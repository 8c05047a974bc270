/* The file is inside the executable; the values are copied out of it, because they may stand unaligned. */
#include "signal/topic/head.h"

#include "base/mem.h"
#include "model/safetensors.h"

#include <math.h>
#include <stdio.h>

#define SAME 0.98f /* cosine: precisions differ by less */

extern const char sr_embed_signal_heads[], sr_embed_signal_heads_end[];

static const struct sr_tensor *find(const struct sr_safetensors *file, const char *task, const char *part,
                                    size_t values)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", task, part);
    const struct sr_tensor *tensor = sr_safetensors_find(file, name);
    return tensor && tensor->dtype == SR_DTYPE_F32 && tensor->bytes == values * sizeof(float) ? tensor : NULL;
}

/* Is the vector of the file's sentence the one that the reader computes? */
static int check_encoder(const struct sr_safetensors *file, struct sr_embedding_reader *reader,
                         struct sr_err *err)
{
    size_t d = sr_embedding_reader_dimensions(reader);
    struct sr_bytes sentence = sr_safetensors_metadata(file, "probe");
    const struct sr_tensor *tensor = find(file, "probe", "", d);
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)(sentence.p ? sentence.n : 0), sentence.p ? sentence.p : "");
    const char *texts[] = {text};
    float *own = sr_mem_calloc(2 * d, sizeof *own), cosine = 0;
    if (!own)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    int rc = tensor ? sr_embedding_reader_texts(reader, texts, 1, own, NULL, err) : SR_EMISMATCH;
    if (rc == SR_OK) {
        memcpy(own + d, tensor->data, tensor->bytes);
        for (size_t i = 0; i < d; i++)
            cosine += own[i] * own[d + i];
        rc = cosine >= SAME ? SR_OK : SR_EMISMATCH;
    }
    sr_mem_free(own);
    return rc == SR_EMISMATCH ? sr_err_set(err, rc, "the classifier was trained on another encoder") : rc;
}

int sr_head_open(struct sr_head *head, const char *task, size_t n_labels, struct sr_embedding_reader *reader,
                 struct sr_err *err)
{
    struct sr_safetensors *file = NULL;
    size_t d = sr_embedding_reader_dimensions(reader);
    *head = (struct sr_head){.n_labels = n_labels, .dimensions = d};
    int rc = sr_safetensors_open_memory(&file, sr_embed_signal_heads,
                                        (size_t)(sr_embed_signal_heads_end - sr_embed_signal_heads), err);
    if (rc == SR_OK)
        rc = check_encoder(file, reader, err);
    const struct sr_tensor *weight = rc ? NULL : find(file, task, ".weight", n_labels * d);
    const struct sr_tensor *bias = rc ? NULL : find(file, task, ".bias", n_labels);
    if (rc == SR_OK && (!weight || !bias))
        rc = sr_err_set(err, SR_EPARSE, "there is no classifier `%s`", task);
    if (rc == SR_OK) {
        head->weights = sr_mem_alloc(weight->bytes + bias->bytes);
        rc = head->weights ? SR_OK : sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    if (rc == SR_OK && head->weights) {
        memcpy(head->weights, weight->data, weight->bytes);
        memcpy(head->weights + n_labels * d, bias->data, bias->bytes);
    }
    sr_safetensors_close(file);
    return rc;
}

void sr_head_dispose(struct sr_head *head)
{
    sr_mem_free(head->weights);
    *head = (struct sr_head){0};
}

void sr_head_answer(const struct sr_head *head, const float *vector, float *out)
{
    const float *bias = head->weights + head->n_labels * head->dimensions;
    float most = -INFINITY, sum = 0;
    for (size_t k = 0; k < head->n_labels; k++) {
        const float *row = head->weights + k * head->dimensions;
        out[k] = bias[k];
        for (size_t i = 0; i < head->dimensions; i++)
            out[k] += row[i] * vector[i];
        most = fmaxf(most, out[k]);
    }
    for (size_t k = 0; k < head->n_labels; k++)
        sum += out[k] = expf(out[k] - most);
    for (size_t k = 0; k < head->n_labels; k++)
        out[k] /= sum;
}

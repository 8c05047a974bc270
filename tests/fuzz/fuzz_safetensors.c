/*
 * Any bytes as a safetensors file, and as a linear model. Property: what opens can be read to its last byte
 * (the sanitizers watch), its tensors fill the data section exactly, and each is found by its name.
 */
#include "base/mem.h"
#include "model/linear/linear.h"
#include "model/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void read_all(const struct sr_safetensors *st)
{
    unsigned sum = 0;
    size_t total = 0;
    for (size_t i = 0; i < sr_safetensors_count(st); i++) {
        const struct sr_tensor *t = sr_safetensors_at(st, i);
        for (size_t k = 0; k < t->bytes; k++)
            sum += t->data[k];
        total += t->bytes;
        if (!memchr(t->name.p, 0, t->name.n)) {
            char *name = sr_mem_dup(t->name.p, t->name.n);
            check(!name || sr_safetensors_find(st, name) == t);
            sr_mem_free(name);
        }
    }
    __asm__ volatile("" ::"r"(sum)); /* the bytes are read for the sanitizers' sake */
    check(total == sr_safetensors_data(st).n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_safetensors *st;
    struct sr_linear *model;
    struct sr_err err = {0};
    float p[SR_CLASSIFIER_LABELS_MAX];
    if (sr_safetensors_open_memory(&st, data, size, &err) == SR_OK) {
        read_all(st);
        sr_safetensors_close(st);
    } else {
        check(st == NULL && err.code != SR_OK && err.message[0] && err.offset <= size);
    }
    if (sr_linear_open_memory(&model, data, size, NULL, &err) == SR_OK) {
        sr_linear_scores(model, sr_bytes_of(data, size), p);
        sr_linear_unref(model);
    }
    return 0;
}

/*
 * Any bytes as config.json and as model.safetensors of a model folder (up to the first NUL, behind it).
 *
 * Properties: an open that fails says why; what opened runs: two tokens give vectors or logits of the
 * promised size, or the encoder says that memory is not enough.
 */
#include "base/mem.h"
#include "infer/encoder/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKENIZER                                                                                            \
    "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\","           \
    "\"vocab\":{\"?\":0,\"a\":1}}}"
#define OUT_MAX ((size_t)1 << 14)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_folder(void)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json"};
    char path[128];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void put(const char *name, const void *p, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || (n && fwrite(p, 1, n, file) != n) || fclose(file))
        abort();
}

static void run(struct sr_encoder *e)
{
    static const int32_t ids[] = {1, 0};
    const struct sr_encoder_info *info = sr_encoder_info(e);
    struct sr_encoder_work *work;
    size_t n = info->max_tokens < 2 ? 1 : 2;
    struct sr_encoder_item item = {.ids = ids, .n_ids = n, .heads = 1};
    if (!info->n_heads || !info->heads[0].n_labels || !info->layers || sr_encoder_need(e, n) == 0)
        abort();
    item.out[0] = sr_mem_alloc(info->heads[0].n_labels * n * sizeof(float));
    if (sr_encoder_work_new(&work, (size_t)64 << 20))
        abort();
    int rc = sr_encoder_run(e, NULL, work, &item, 1, NULL);
    if (rc != SR_OK && rc != SR_ELIMIT)
        abort();
    sr_encoder_work_free(work);
    sr_mem_free(item.out[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_encoder_options options = {.precision = SR_PRECISION_FP32};
    struct sr_encoder *e;
    struct sr_err err = {0};
    const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
    size_t n = cut ? (size_t)(cut - data) : size;
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/sr-fuzz-encoder-XXXXXX");
        if (!mkdtemp(folder) || atexit(remove_folder))
            abort();
        put("tokenizer.json", TOKENIZER, sizeof TOKENIZER - 1);
    }
    put("config.json", data, n);
    put("model.safetensors", cut ? cut + 1 : data, cut ? size - n - 1 : 0);
    int rc = sr_encoder_open(&e, folder, &options, &err);
    if ((rc == SR_OK) != (e != NULL) || (rc != SR_OK && !err.message[0]))
        abort();
    if (e)
        run(e);
    sr_encoder_unref(e);
    return 0;
}

/*
 * What the fuzz targets of model folders share: a folder in /tmp that is removed at the end, files in it, a
 * tiny BERT with every tensor, and running what opened.
 */
#ifndef SR_TESTS_FUZZ_ENCODER_KIT_H
#define SR_TESTS_FUZZ_ENCODER_KIT_H

#include "base/mem.h"
#include "infer/encoder/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIT_TOKENIZER                                                                                        \
    "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\","           \
    "\"vocab\":{\"?\":0,\"a\":1}}}"
#define KIT_CONFIG                                                                                           \
    "{\"model_type\":\"bert\",\"hidden_size\":16,\"num_hidden_layers\":1,\"num_attention_heads\":1,"         \
    "\"intermediate_size\":4,\"vocab_size\":2,\"max_position_embeddings\":8,\"type_vocab_size\":1}"

static char kit_root[64];

static inline void kit_check(bool holds)
{
    if (!holds)
        abort();
}

static inline void kit_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", kit_root);
    (void)!system(command);
}

static inline void kit_put(const char *name, const void *p, size_t n)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", kit_root, name);
    FILE *file = fopen(path, "wb");
    kit_check(file && (!n || fwrite(p, 1, n, file) == n) && !fclose(file));
}

static inline void kit_folder(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", kit_root, name);
    kit_check(mkdir(path, 0700) == 0);
}

/* FOLDER/model.safetensors: every tensor of the model that KIT_CONFIG describes, all 0.1 in F16. */
static inline void kit_put_weights(const char *folder)
{
    static const struct {
        const char *name;
        int rows, columns; /* columns 0: a vector */
    } tensors[] = {{"embeddings.word_embeddings.weight", 2, 16},
                   {"embeddings.position_embeddings.weight", 8, 16},
                   {"embeddings.token_type_embeddings.weight", 1, 16},
                   {"embeddings.LayerNorm.weight", 16, 0},
                   {"embeddings.LayerNorm.bias", 16, 0},
                   {"encoder.layer.0.attention.self.query.weight", 16, 16},
                   {"encoder.layer.0.attention.self.query.bias", 16, 0},
                   {"encoder.layer.0.attention.self.key.weight", 16, 16},
                   {"encoder.layer.0.attention.self.key.bias", 16, 0},
                   {"encoder.layer.0.attention.self.value.weight", 16, 16},
                   {"encoder.layer.0.attention.self.value.bias", 16, 0},
                   {"encoder.layer.0.attention.output.dense.weight", 16, 16},
                   {"encoder.layer.0.attention.output.dense.bias", 16, 0},
                   {"encoder.layer.0.attention.output.LayerNorm.weight", 16, 0},
                   {"encoder.layer.0.attention.output.LayerNorm.bias", 16, 0},
                   {"encoder.layer.0.intermediate.dense.weight", 4, 16},
                   {"encoder.layer.0.intermediate.dense.bias", 4, 0},
                   {"encoder.layer.0.output.dense.weight", 16, 4},
                   {"encoder.layer.0.output.dense.bias", 16, 0},
                   {"encoder.layer.0.output.LayerNorm.weight", 16, 0},
                   {"encoder.layer.0.output.LayerNorm.bias", 16, 0},
                   {"pooler.dense.weight", 16, 16},
                   {"pooler.dense.bias", 16, 0}};
    static char file[16384];
    char *at = file + 8;
    size_t data = 0, room = sizeof file - 8;
    at += snprintf(at, room, "{");
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        size_t n = (size_t)tensors[i].rows * (size_t)(tensors[i].columns ? tensors[i].columns : 1) * 2;
        at += snprintf(at, room - (size_t)(at - file), "%s\"%s\":{\"dtype\":\"F16\",\"shape\":[%d",
                       i ? "," : "", tensors[i].name, tensors[i].rows);
        if (tensors[i].columns)
            at += snprintf(at, room - (size_t)(at - file), ",%d", tensors[i].columns);
        at += snprintf(at, room - (size_t)(at - file), "],\"data_offsets\":[%zu,%zu]}", data, data + n);
        data += n;
    }
    *at++ = '}';
    uint64_t header = (uint64_t)(at - file - 8);
    memcpy(file, &header, sizeof header);
    for (size_t i = 0; i < data; i += 2, at += 2)
        memcpy(at, &(uint16_t){0x2E66}, 2);
    char path[96];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    kit_put(path, file, (size_t)(at - file));
}

/* FOLDER with config.json, tokenizer.json and weights. */
static inline void kit_put_model(const char *folder)
{
    char path[96];
    snprintf(path, sizeof path, "%s/config.json", folder);
    kit_put(path, KIT_CONFIG, sizeof KIT_CONFIG - 1);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    kit_put(path, KIT_TOKENIZER, sizeof KIT_TOKENIZER - 1);
    kit_put_weights(folder);
}

static inline void kit_begin(void)
{
    snprintf(kit_root, sizeof kit_root, "/tmp/sr-fuzz-encoder-XXXXXX");
    kit_check(mkdtemp(kit_root) != NULL && atexit(kit_remove) == 0);
}

/* The bytes up to the next NUL; *data and *size go behind it. */
static inline struct sr_bytes kit_part(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    struct sr_bytes part = sr_bytes_of(*data, end ? (size_t)(end - *data) : *size);
    *size -= part.n + (end != NULL);
    *data += part.n + (end != NULL);
    return part;
}

/* Opens FOLDER; a failure must say why, what opened must run all its heads on two tokens. */
static inline void kit_open_and_run(const char *folder, const struct sr_encoder_options *options)
{
    static const int32_t ids[] = {1, 0};
    struct sr_encoder *e = NULL;
    struct sr_err err = {0};
    struct sr_encoder_work *work;
    struct sr_encoder_item item = {.ids = ids, .n_ids = 2};
    int rc = sr_encoder_open(&e, folder, options, &err);
    kit_check((rc == SR_OK) == (e != NULL) && (rc == SR_OK || err.message[0]));
    if (!e)
        return;
    const struct sr_encoder_info *info = sr_encoder_info(e);
    kit_check(info->n_heads > 0);
    for (size_t h = 0; h < info->n_heads; h++) {
        kit_check(info->heads[h].n_labels > 0);
        item.heads |= 1u << h;
        item.out[h] = sr_mem_alloc(info->heads[h].n_labels * 2 * sizeof(float));
        kit_check(item.out[h] != NULL);
    }
    kit_check(sr_encoder_work_new(&work, (size_t)64 << 20) == SR_OK);
    rc = sr_encoder_run(e, NULL, work, &item, 1, NULL);
    kit_check(rc == SR_OK || rc == SR_ELIMIT);
    sr_encoder_work_free(work);
    for (size_t h = 0; h < info->n_heads; h++)
        sr_mem_free(item.out[h]);
    sr_encoder_unref(e);
}

#endif

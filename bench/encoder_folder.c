/* A Hugging Face folder of a given shape with random weights: speed does not depend on their values. */
#include "bench/encoder.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOCAB  64u
#define BLOCK  32768u
#define LABELS 14u

struct writer {
    const struct sr_bench_shape *shape;
    void (*all)(struct writer *w); /* its tensors, in order */
    struct sr_buf header;
    FILE *file; /* NULL while the header is collected */
    size_t at;
    uint32_t state;
    int rc;
};

static const char tokenizer[] =
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],\"normalizer\":null,"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":null,\"decoder\":null,"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3}}}";

/* Weights of about 1 / sqrt(columns), so that activations keep their size. */
static void write_numbers(struct writer *w, size_t n, size_t columns, float offset)
{
    static uint16_t block[BLOCK];
    float scale = columns ? 1.7F : 0.1F;
    for (size_t c = columns; c > 1; c /= 4)
        scale /= 2;
    for (size_t i = 0; i < n && w->rc == SR_OK; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        for (size_t k = 0; k < m; k++) {
            w->state = w->state * 1664525u + 1013904223u;
            float f = (float)(int32_t)w->state / 2147483648.0F * scale + offset;
            uint32_t bits;
            memcpy(&bits, &f, sizeof bits);
            block[k] = (uint16_t)(bits >> 16);
        }
        if (fwrite(block, 2, m, w->file) != m)
            w->rc = SR_EIO;
    }
}

/* columns 0: a vector; `norm`: around one. */
static void tensor(struct writer *w, const char *name, size_t rows, size_t columns, bool norm)
{
    size_t n = rows * (columns ? columns : 1);
    char shape[48];
    if (w->rc)
        return;
    if (w->file) {
        write_numbers(w, n, columns, norm ? 1 : 0);
        return;
    }
    snprintf(shape, sizeof shape, columns ? "%zu,%zu" : "%zu", rows, columns);
    w->rc =
        sr_buf_printf(&w->header, "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                      w->at ? "," : "{", name, shape, w->at, w->at + 2 * n);
    w->at += 2 * n;
}

static void part(struct writer *w, size_t layer, const char *name, size_t rows, size_t columns)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s.%zu.%s.weight", w->shape->modern ? "layers" : "encoder.layer", layer,
             name);
    tensor(w, whole, rows, columns, !columns);
    if (w->shape->modern)
        return;
    snprintf(whole, sizeof whole, "encoder.layer.%zu.%s.bias", layer, name);
    tensor(w, whole, rows, 0, false);
}

/* What DeBERTa has in place of tables of positions and types. */
static void relative_tensors(struct writer *w)
{
    const struct sr_bench_shape *s = w->shape;
    tensor(w, "encoder.rel_embeddings.weight", 2 * s->span, s->hidden, false);
    tensor(w, "encoder.LayerNorm.weight", s->hidden, 0, true);
    tensor(w, "encoder.LayerNorm.bias", s->hidden, 0, false);
}

static void all_tensors(struct writer *w)
{
    const struct sr_bench_shape *s = w->shape;
    size_t h = s->hidden, wide = s->intermediate;
    if (s->modern) {
        tensor(w, "embeddings.tok_embeddings.weight", VOCAB, h, false);
        tensor(w, "embeddings.norm.weight", h, 0, true);
        tensor(w, "final_norm.weight", h, 0, true);
    } else {
        tensor(w, "embeddings.word_embeddings.weight", VOCAB, h, false);
        if (s->span) {
            relative_tensors(w);
        } else {
            tensor(w, "embeddings.position_embeddings.weight", s->positions, h, false);
            tensor(w, "embeddings.token_type_embeddings.weight", 2, h, false);
        }
        tensor(w, "embeddings.LayerNorm.weight", h, 0, true);
        tensor(w, "embeddings.LayerNorm.bias", h, 0, false);
    }
    for (size_t i = 0; i < s->layers; i++) {
        if (s->modern) {
            if (i)
                part(w, i, "attn_norm", h, 0);
            part(w, i, "attn.Wqkv", 3 * h, h);
            part(w, i, "attn.Wo", h, h);
            part(w, i, "mlp_norm", h, 0);
            part(w, i, "mlp.Wi", 2 * wide, h);
            part(w, i, "mlp.Wo", h, wide);
        } else {
            part(w, i, s->span ? "attention.self.query_proj" : "attention.self.query", h, h);
            part(w, i, s->span ? "attention.self.key_proj" : "attention.self.key", h, h);
            part(w, i, s->span ? "attention.self.value_proj" : "attention.self.value", h, h);
            part(w, i, "attention.output.dense", h, h);
            part(w, i, "attention.output.LayerNorm", h, 0);
            part(w, i, "intermediate.dense", wide, h);
            part(w, i, "output.dense", h, wide);
            part(w, i, "output.LayerNorm", h, 0);
        }
    }
}

static FILE *create(const char *folder, const char *name)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "wb");
}

static const char *const head_names[] = {"domain", "jailbreak", "pii"};

static void all_heads(struct writer *w)
{
    char name[32];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s.dense.weight", head_names[i]);
        tensor(w, name, w->shape->hidden, w->shape->hidden, false);
        snprintf(name, sizeof name, "%s.dense.bias", head_names[i]);
        tensor(w, name, w->shape->hidden, 0, false);
        snprintf(name, sizeof name, "%s.out.weight", head_names[i]);
        tensor(w, name, LABELS, w->shape->hidden, false);
        snprintf(name, sizeof name, "%s.out.bias", head_names[i]);
        tensor(w, name, LABELS, 0, false);
    }
}

static int write_weights(const struct sr_bench_shape *shape, void (*all)(struct writer *w),
                         const char *folder, const char *name)
{
    struct writer w = {.shape = shape, .all = all, .state = 1};
    sr_buf_init(&w.header, (size_t)1 << 20);
    w.all(&w);
    if (w.rc == SR_OK)
        w.rc = sr_buf_append(&w.header, "}", 1);
    while (w.rc == SR_OK && w.header.len % 8)
        w.rc = sr_buf_append(&w.header, " ", 1);
    w.file = w.rc ? NULL : create(folder, name);
    uint64_t length = w.header.len;
    if (!w.file || fwrite(&length, 8, 1, w.file) != 1 ||
        fwrite(w.header.data, 1, w.header.len, w.file) != length)
        w.rc = w.rc ? w.rc : SR_EIO;
    if (w.file) {
        w.all(&w);
        if (fclose(w.file))
            w.rc = SR_EIO;
    }
    sr_buf_dispose(&w.header);
    return w.rc;
}

static int write_config(const struct sr_bench_shape *s, const char *folder)
{
    FILE *file = create(folder, "config.json");
    if (!file)
        return SR_EIO;
    fprintf(file,
            "{\"architectures\":[\"%s\"],\"model_type\":\"%s\",\"hidden_size\":%zu,\"intermediate_size\":%zu,"
            "\"max_position_embeddings\":%zu,\"num_attention_heads\":%zu,\"num_hidden_layers\":%zu,\"pad_"
            "token_id\":0,"
            "\"vocab_size\":%u,",
            s->modern ? "ModernBertModel"
            : s->span ? "DebertaV2Model"
                      : "BertModel",
            s->modern ? "modernbert"
            : s->span ? "deberta-v2"
                      : "bert",
            s->hidden, s->intermediate, s->positions, s->heads, s->layers, VOCAB);
    if (s->modern)
        fprintf(file,
                "\"global_attn_every_n_layers\":3,\"local_attention\":%zu,\"norm_eps\":1e-5,"
                "\"global_rope_theta\":160000.0,\"local_rope_theta\":160000.0}",
                2 * s->window);
    else if (s->span)
        fprintf(file,
                "\"layer_norm_eps\":1e-7,\"type_vocab_size\":0,\"relative_attention\":true,"
                "\"position_buckets\":%zu,\"norm_rel_ebd\":\"layer_norm\",\"share_att_key\":true,"
                "\"pos_att_type\":\"p2c|c2p\",\"position_biased_input\":false}",
                s->span);
    else
        fprintf(file, "\"layer_norm_eps\":1e-12,\"type_vocab_size\":2}");
    if (fclose(file))
        return SR_EIO;
    file = create(folder, "tokenizer.json");
    if (!file)
        return SR_EIO;
    fputs(tokenizer, file);
    return fclose(file) ? SR_EIO : SR_OK;
}

/* Three heads that read the plain trunk: two of the text, one of its tokens. */
static int write_heads(const struct sr_bench_shape *shape, const char *folder)
{
    static const char *const files[] = {"category_mapping.json", "jailbreak_type_mapping.json",
                                        "pii_type_mapping.json"};
    char path[320];
    snprintf(path, sizeof path, "%s/heads", folder);
    FILE *file = mkdir(path, 0700) == 0 ? create(path, "config.json") : NULL;
    if (!file)
        return SR_EIO;
    fputs("{\"heads\":{", file);
    for (size_t i = 0; i < 3; i++)
        fprintf(file, "%s\"%s\":{\"pooling\":\"%s\"}", i ? "," : "", head_names[i], i < 2 ? "mean" : "token");
    fputs("}}", file);
    if (fclose(file))
        return SR_EIO;
    if (!(file = create(path, "adapter_config.json"))) /* no adapter, but a bundle says how it would be one */
        return SR_EIO;
    fputs("{\"peft_type\":\"LORA\",\"base_model_name_or_path\":\"trunk\",\"r\":1,\"lora_alpha\":1}", file);
    if (fclose(file))
        return SR_EIO;
    for (size_t i = 0; i < 3; i++) {
        if (!(file = create(path, files[i])))
            return SR_EIO;
        fputs("{\"id_to_label\":{", file);
        for (unsigned k = 0; k < LABELS; k++)
            fprintf(file, "%s\"%u\":\"%c\"", k ? "," : "", k, 'a' + (int)k);
        fputs("}}", file);
        if (fclose(file))
            return SR_EIO;
    }
    return write_weights(shape, all_heads, path, "adapters.safetensors");
}

int sr_bench_encoder_folder(const struct sr_bench_shape *shape, char folder[256])
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, 256, "%.200s/semroute-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return SR_EIO;
    int rc = write_config(shape, folder);
    if (rc == SR_OK)
        rc = write_weights(shape, all_tensors, folder, "model.safetensors");
    if (rc == SR_OK)
        rc = write_heads(shape, folder);
    if (rc)
        sr_bench_encoder_folder_remove(folder);
    return rc;
}

void sr_bench_encoder_folder_remove(const char *folder)
{
    static const char *const names[] = {"heads/config.json",
                                        "heads/adapter_config.json",
                                        "heads/category_mapping.json",
                                        "heads/jailbreak_type_mapping.json",
                                        "heads/pii_type_mapping.json",
                                        "heads/adapters.safetensors",
                                        "heads",
                                        "config.json",
                                        "tokenizer.json",
                                        "model.safetensors"};
    char path[320];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

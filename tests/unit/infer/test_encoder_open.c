/*
 * Opening model folders: what is refused with which message, adapters alone, finding folders; and what a run
 * refuses. Folders are copies of tests/golden/encoder/small with something changed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "infer/encoder/encoder.h"

#define SMALL SR_SOURCE_DIR "/tests/golden/encoder/small/"

static char root[256], folder[512];

/* ---- files ---- */

static void shell(const char *format, ...) SR_PRINTF(1, 2);

static void shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static int make_root(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(root, sizeof root, "%.200s/sr-encoder-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    shell("rm -rf '%s'", root);
    return 0;
}

static void copy_as(const char *name, const char *as)
{
    snprintf(folder, sizeof folder, "%s/%s", root, as);
    shell("rm -rf '%s' && cp -r '" SMALL "%s' '%s' && chmod -R u+w '%s'", folder, name, folder, folder);
}

static void copy(const char *name)
{
    copy_as(name, "model");
}

static char *read_file(const char *name, size_t *n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = sr_mem_alloc((size_t)1 << 20);
    assert_non_null(bytes);
    *n = fread(bytes, 1, ((size_t)1 << 20) - 1, file);
    bytes[*n] = '\0';
    fclose(file);
    return bytes;
}

static void write_file(const char *name, const void *p, size_t n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(p, 1, n, file), n);
    fclose(file);
}

/* Replaces the first `from`, which must be there, by `to`. */
static void edit(const char *name, const char *from, const char *to)
{
    size_t n;
    char *text = read_file(name, &n), *at = memmem(text, n, from, strlen(from));
    char *changed = sr_mem_alloc(n + strlen(to) + 1);
    assert_non_null(changed);
    if (!at)
        fail_msg("%s has no %s", name, from);
    size_t before = (size_t)(at - text), after = n - before - strlen(from);
    memcpy(changed, text, before);
    memcpy(changed + before, to, strlen(to));
    memcpy(changed + before + strlen(to), at + strlen(from), after);
    write_file(name, changed, before + strlen(to) + after);
    sr_mem_free(text);
    sr_mem_free(changed);
}

/* The same in the header of a safetensors file, whose length stands before it. */
static void edit_header(const char *name, const char *from, const char *to)
{
    size_t n;
    uint64_t length;
    edit(name, from, to);
    char *bytes = read_file(name, &n);
    memcpy(&length, bytes, sizeof length);
    length += strlen(to) - strlen(from);
    memcpy(bytes, &length, sizeof length);
    write_file(name, bytes, n);
    sr_mem_free(bytes);
}

/* ---- what is refused ---- */

static void refused_with(const struct sr_encoder_options *options, int code, const char *what)
{
    struct sr_encoder *e = NULL;
    struct sr_err err = {0};
    int rc = sr_encoder_open(&e, folder, options, &err);
    sr_encoder_unref(e);
    if (rc != code || !strstr(err.message, what))
        fail_msg("%d (%s) instead of %d: \"%s\", wanted \"%s\"", rc, sr_strerror(rc), code, err.message,
                 what);
    assert_null(e);
}

static void refused(int code, const char *what)
{
    struct sr_encoder_options options = {0};
    refused_with(&options, code, what);
}

static void missing_files(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/nowhere", root);
    refused(SR_ENOENT, "nowhere/config.json");
    copy("bert-embed");
    shell("rm '%s/tokenizer.json'", folder);
    refused(SR_ENOENT, "tokenizer.json");
    copy("bert-embed");
    shell("rm '%s/model.safetensors'", folder);
    refused(SR_ENOENT, "no model.safetensors");
    write_file("pytorch_model.bin", "x", 1);
    refused(SR_EUNSUPPORTED, "pytorch_model.bin");
}

struct change {
    const char *from, *to;
    int code;
    const char *what;
};

static void try_changes(const char *model, const char *file, const struct change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        copy(model);
        edit(file, changes[i].from, changes[i].to);
        refused(changes[i].code, changes[i].what);
    }
}

static void configurations_of_bert(void **state)
{
    static const struct change changes[] = {
        {"{", "{{", SR_EPARSE, "config.json: line 1"},
        {"{", "[1] {", SR_EPARSE, "config.json"},
        {"\"model_type\": \"bert\"", "\"model_type\": \"t5\"", SR_EUNSUPPORTED, "t5"},
        {"\"model_type\": \"bert\"", "\"kind\": 1", SR_EPARSE, "`model_type` is missing"},
        {"\"hidden_size\": 32", "\"hidden\": 32", SR_EPARSE, "`hidden_size` is missing"},
        {"\"hidden_size\": 32", "\"hidden_size\": -32", SR_EPARSE, "`hidden_size` must be"},
        {"\"hidden_size\": 32", "\"hidden_size\": 1e9", SR_EPARSE, "`hidden_size` must be"},
        {"\"hidden_size\": 32", "\"hidden_size\": 99999999999999999999", SR_EPARSE, "`hidden_size` must be"},
        {"\"hidden_size\": 32", "\"hidden_size\": 33", SR_EPARSE, "not a multiple"},
        {"\"hidden_size\": 32", "\"hidden_size\": 64", SR_EMISMATCH, "word_embeddings.weight is [192, 32]"},
        {"\"num_attention_heads\": 2", "\"num_attention_heads\": 4", SR_EUNSUPPORTED, "heads of 8"},
        {"\"num_hidden_layers\": 4", "\"num_hidden_layers\": 5", SR_EMISMATCH, "encoder.layer.4."},
        {"\"num_hidden_layers\": 4", "\"num_hidden_layers\": 999", SR_EPARSE, "`num_hidden_layers`"},
        {"\"intermediate_size\": 48", "\"intermediate_size\": 64", SR_EMISMATCH, "intermediate.dense"},
        {"\"vocab_size\": 192", "\"vocab_size\": 100", SR_EMISMATCH, "tokenizer.json"},
        {"\"vocab_size\": 192", "\"vocab_size\": 200", SR_EMISMATCH, "[200, 32]"},
        {"\"max_position_embeddings\": 256", "\"max_position_embeddings\": 255", SR_EMISMATCH,
         "position_embeddings"},
        {"\"hidden_act\": \"gelu\"", "\"hidden_act\": \"relu\"", SR_EUNSUPPORTED, "`hidden_act`"},
        {"\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": \"x\"", SR_EPARSE, "`layer_norm_eps`"},
        {"\"model_type\": \"bert\"", "\"model_type\": \"bert\", \"is_decoder\": true", SR_EUNSUPPORTED,
         "is_decoder"},
        {"\"model_type\": \"bert\"",
         "\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"", SR_EUNSUPPORTED,
         "position_embedding_type"},
        {"\"model_type\": \"bert\"", "\"model_type\": \"modernbert\"", SR_EMISMATCH, "tok_embeddings"},
    };
    (void)state;
    try_changes("bert-embed", "config.json", changes, sizeof changes / sizeof *changes);
}

static void configurations_of_deberta(void **state)
{
    static const struct change of_v3[] = {
        {"\"pos_att_type\": [", "\"pos_att_type\": [\"p2p\", ", SR_EUNSUPPORTED, "`pos_att_type`"},
        {"\"norm_rel_ebd\": \"layer_norm\"", "\"norm_rel_ebd\": \"rms\"", SR_EUNSUPPORTED, "`norm_rel_ebd`"},
        {"\"position_buckets\": 16", "\"position_buckets\": 18", SR_EMISMATCH,
         "encoder.rel_embeddings.weight is [32, 32]"},
        {"\"position_buckets\": 16", "\"position_buckets\": 2", SR_EPARSE, "`position_buckets` 2"},
        {"\"position_buckets\": 16", "\"position_buckets\": -2", SR_EPARSE, "`position_buckets` must be"},
        {"\"max_relative_positions\": -1", "\"max_relative_positions\": 9", SR_EPARSE,
         "`position_buckets` 16 does not fit `max_relative_positions` 9"},
        {"\"share_att_key\": true", "\"share_att_key\": false", SR_EMISMATCH, "self.pos_key_proj.weight"},
        {"\"position_biased_input\": false", "\"position_biased_input\": true", SR_EMISMATCH,
         "position_embeddings"},
        {"\"type_vocab_size\": 0", "\"type_vocab_size\": 2", SR_EMISMATCH, "token_type_embeddings"},
        {"\"pooler_hidden_act\": \"gelu\"", "\"pooler_hidden_act\": \"mish\"", SR_EUNSUPPORTED,
         "`pooler_hidden_act`"},
        {"\"pooler_hidden_size\": 32", "\"pooler_hidden_size\": 64", SR_EUNSUPPORTED, "`pooler_hidden_size`"},
        {"\"hidden_act\": \"gelu\"", "\"hidden_act\": \"tanh\"", SR_EUNSUPPORTED, "`hidden_act`"},
        {"\"model_type\": \"deberta-v2\"", "\"model_type\": \"deberta\"", SR_EUNSUPPORTED, "model_type"},
        {"\"model_type\"", "\"embedding_size\": 16, \"model_type\"", SR_EUNSUPPORTED, "`embedding_size`"},
        {"\"model_type\"", "\"conv_kernel_size\": 3, \"model_type\"", SR_EMISMATCH,
         "encoder.conv.conv.weight"},
        {"\"model_type\"", "\"conv_kernel_size\": 4, \"model_type\"", SR_EUNSUPPORTED, "`conv_kernel_size`"},
        {"\"model_type\"", "\"conv_kernel_size\": 3, \"conv_groups\": 2, \"model_type\"", SR_EUNSUPPORTED,
         "`conv_groups`"},
    };
    static const struct change of_conv[] = {
        {"\"conv_kernel_size\": 3", "\"conv_kernel_size\": 5", SR_EMISMATCH, "asks for [32, 32, 5]"},
        {"\"conv_act\": \"gelu\"", "\"conv_act\": 7", SR_EUNSUPPORTED, "`conv_act`"},
    };
    (void)state;
    try_changes("deberta-v3", "config.json", of_v3, sizeof of_v3 / sizeof *of_v3);
    try_changes("deberta-conv", "config.json", of_conv, sizeof of_conv / sizeof *of_conv);
}

static void configurations_of_modernbert(void **state)
{
    static const struct change changes[] = {
        {"\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"", SR_EUNSUPPORTED, "yarn"},
        {"\"model_type\"", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}, \"model_type\"",
         SR_EUNSUPPORTED, "linear"},
        {"\"rope_theta\": 160000.0", "\"rope_theta\": 0", SR_EPARSE, "rope_theta"},
        {"\"sliding_attention\",\n", "\"chunked_attention\",\n", SR_EUNSUPPORTED, "layer_types"},
        {"  \"full_attention\",\n", "", SR_EPARSE, "3 entries for 4 layers"},
        {"\"classifier_pooling\": \"mean\"", "\"classifier_pooling\": \"max\"", SR_EUNSUPPORTED,
         "classifier_pooling"},
        {"\"hidden_activation\": \"gelu\"", "\"hidden_activation\": \"silu\"", SR_EUNSUPPORTED,
         "hidden_activation"},
        {"\"attention_bias\": false", "\"attention_bias\": true", SR_EMISMATCH, "attn.Wqkv.bias"},
        {"\"4\": \"label 4\"", "\"5\": \"label 4\"", SR_EPARSE, "label index 5"},
        {"\"4\": \"label 4\"", "\"4\": \"label 3\"", SR_EPARSE, "appears twice"},
        {"\"4\": \"label 4\"", "\"4\": \"\"", SR_EPARSE, "label 4 is empty"},
        {",\n  \"4\": \"label 4\"", "", SR_EMISMATCH, "5 outputs, but there are 4 labels"},
    };
    (void)state;
    try_changes("modernbert-mean", "config.json", changes, sizeof changes / sizeof *changes);
}

static void shards(void **state)
{
    static const struct change changes[] = {
        {"model-00002-of-00003.safetensors", "../model-00002-of-00003.safetensors", SR_EPARSE,
         "not the name of a file"},
        {"model-00002-of-00003.safetensors", "model-9.safetensors", SR_ENOENT, "model-9.safetensors"},
        {"\"weight_map\"", "\"weights\"", SR_EPARSE, "`weight_map` is missing"},
        {"model-00002-of-00003.safetensors", "model-00001-of-00003.safetensors", SR_EMISMATCH, "is not in"},
        {"\"weight_map\": {", "\"weight_map\": {\"x\": 3,", SR_EPARSE, "must map tensors"},
    };
    struct sr_encoder_options options = {.sha256 = "00"};
    (void)state;
    try_changes("modernbert-mean", "model.safetensors.index.json", changes, sizeof changes / sizeof *changes);
    copy("modernbert-mean");
    refused_with(&options, SR_EUNSUPPORTED, "several files");
}

static void mappings(void **state)
{
    static const struct change changes[] = {
        {"\"label 4\": 4", "\"label 4\": 3", SR_EPARSE, "label index 3 appears twice"},
        {"\"label 4\": 4", "\"label x\": 4", SR_EMISMATCH, "do not agree"},
        {"\"4\": \"label 4\"", "\"4\": \"classification_error\"", SR_EPARSE, "reserved"},
        {"\"4\": \"label 4\"", "\"x\": \"label 4\"", SR_EPARSE, "not an integer"},
        {"\"4\": \"label 4\"", "\"4\": 7", SR_EPARSE, "not a string"},
        {"\"idx_to_category\"", "\"other\"", SR_OK, ""},
    };
    (void)state;
    try_changes("bert-sequence", "category_mapping.json", changes, sizeof changes / sizeof *changes - 1);
    copy("bert-sequence");
    edit("category_mapping.json", "\"idx_to_category\"", "\"other\"");
    edit("category_mapping.json", "\"category_to_idx\"", "\"another\"");
    refused(SR_EPARSE, "has no labels");
}

static void damaged_weights(void **state)
{
    struct sr_encoder_options options = {.sha256 = "0000"};
    size_t n;
    (void)state;
    copy("bert-embed");
    refused_with(&options, SR_EMISMATCH, "SHA-256");
    char *bytes = read_file("model.safetensors", &n);
    for (size_t cut = 0; cut < n; cut += n / 9) {
        write_file("model.safetensors", bytes, cut);
        refused(SR_EPARSE, "model.safetensors");
    }
    memset(bytes + n / 2, 0xFF, 64); /* NaN in some layer */
    write_file("model.safetensors", bytes, n);
    refused(SR_EMISMATCH, "not a finite number");
    sr_mem_free(bytes);
    copy("bert-embed");
    edit("model.safetensors", "\"F32\"", "\"I32\"");
    refused(SR_EUNSUPPORTED, "is I32");
}

/* Where tensor `name` begins in the bytes of a file of safetensors. */
static size_t place_of(const char *bytes, size_t n, const char *name)
{
    uint64_t header;
    assert_true(n > sizeof header);
    memcpy(&header, bytes, sizeof header);
    const char *at = strstr(bytes + sizeof header, name);
    assert_non_null(at);
    at = strstr(at, "\"data_offsets\":[");
    assert_non_null(at);
    return sizeof header + header + strtoull(at + strlen("\"data_offsets\":["), NULL, 10);
}

static void damaged_word_embeddings(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const enum sr_precision precisions[] = {SR_PRECISION_FP32, SR_PRECISION_BF16, SR_PRECISION_INT8};
    size_t n;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        copy("bert-embed");
        char *bytes = read_file("model.safetensors", &n);
        size_t at = place_of(bytes, n, "embeddings.word_embeddings.weight");
        memcpy(bytes + at + 4 * sizeof *bad, &bad[i], sizeof *bad);
        write_file("model.safetensors", bytes, n);
        sr_mem_free(bytes);
        for (size_t k = 0; k < sizeof precisions / sizeof *precisions; k++) {
            struct sr_encoder_options options = {.precision = precisions[k]};
            refused_with(&options, SR_EMISMATCH,
                         "word_embeddings.weight has a value that is not a finite number");
        }
    }
}

static void poolings(void **state)
{
    (void)state;
    copy("bert-cls");
    edit("1_Pooling/config.json", "pooling_mode_cls_token", "pooling_mode_max_tokens");
    refused(SR_EUNSUPPORTED, "pooling_mode_max_tokens");
    copy("bert-cls");
    edit("1_Pooling/config.json", "\"pooling_mode_mean_tokens\": false",
         "\"pooling_mode_mean_tokens\": true");
    refused(SR_EUNSUPPORTED, "more than one pooling");
    shell("printf '[{\"pooling_mode_cls_token\": true}]' > '%s/1_Pooling/config.json'", folder);
    refused(SR_EPARSE, "not an object");
    copy("bert-dense");
    edit("1_Pooling/config.json", "\"cls\"", "\"lasttoken\"");
    refused(SR_EUNSUPPORTED, "lasttoken");
    copy("bert-dense");
    edit("1_Pooling/config.json", "\"cls\"", "[\"cls\", \"mean\"]");
    refused(SR_EUNSUPPORTED, "`pooling_mode`");
}

static void modules(void **state)
{
    static const struct change changes[] = {
        {"[", "{", SR_EPARSE, "modules.json"},
        {"modules.transformer.Transformer", "modules.cnn.CNN", SR_EUNSUPPORTED, "modules.cnn.CNN"},
        {"modules.pooling.Pooling", "modules.dense.Dense", SR_EUNSUPPORTED, "at this position"},
        {"modules.dense.Dense", "modules.normalize.Normalize", SR_EUNSUPPORTED, "at this position"},
        {"modules.normalize.Normalize", "modules.layer_norm.LayerNorm", SR_EUNSUPPORTED, "LayerNorm"},
        {"\"path\": \"2_Dense\"", "\"path\": \"../2_Dense\"", SR_EPARSE, "`path`"},
        {"\"path\": \"2_Dense\"", "\"path\": \"/etc\"", SR_EPARSE, "`path`"},
        {"\"path\": \"2_Dense\"", "\"path\": 7", SR_EPARSE, "`path`"},
        {"\"path\": \"2_Dense\"", "\"path\": \"7_Dense\"", SR_ENOENT, "7_Dense/config.json"},
        {"\"path\": \"2_Dense\"", "\"path\": \"3_Dense\"", SR_EMISMATCH, "`in_features` is 80"},
        {"\"type\"", "\"kind\"", SR_EPARSE, "no `type`"},
    };
    (void)state;
    try_changes("bert-dense", "modules.json", changes, sizeof changes / sizeof *changes);
}

static void dense_layers(void **state)
{
    static const struct change changes[] = {
        {"activation.Tanh", "activation.SiLU", SR_EUNSUPPORTED, "activation.SiLU"},
        {"\"in_features\"", "\"features\"", SR_EPARSE, "`in_features` and"},
        {"\"out_features\": 80", "\"out_features\": 81", SR_EMISMATCH, "3_Dense/config.json"},
        {"\"out_features\": 80", "\"out_features\": 1e6", SR_EPARSE, "`out_features` must be"},
        {"\"in_features\": 32", "\"in_features\": 64", SR_EMISMATCH, "`in_features` is 64"},
        {"\"bias\": true", "\"bias\": true, \"use_residual\": true", SR_EUNSUPPORTED, "use_residual"},
        {"\"module_input_name\": \"sentence_embedding\"", "\"module_input_name\": \"token_embeddings\"",
         SR_EUNSUPPORTED, "module_input_name"},
    };
    (void)state;
    try_changes("bert-dense", "2_Dense/config.json", changes, sizeof changes / sizeof *changes);
    copy("bert-dense");
    edit("3_Dense/config.json", "\"bias\": false", "\"bias\": true");
    refused(SR_EMISMATCH, "linear");
    copy("bert-dense");
    shell("mv '%s/2_Dense/model.safetensors' '%s/2_Dense/pytorch_model.bin'", folder, folder);
    refused(SR_EUNSUPPORTED, "2_Dense: has pytorch_model.bin only");
}

/* ---- adapters and bundles ---- */

static void heads_refused(const char *heads, int code, const char *what)
{
    char path[600];
    const char *list[2] = {path, path};
    struct sr_encoder_options options = {.heads = list, .n_heads = 1};
    snprintf(path, sizeof path, "%s/%s", folder, heads);
    refused_with(&options, code, what);
}

static void adapters(void **state)
{
    static const struct change changes[] = {
        {"\"r\": 4", "\"r\": 5", SR_EMISMATCH, "[4, 32]"},
        {"\"r\": 4", "\"r\": 0", SR_EPARSE, "`r` must be"},
        {"\"lora_alpha\": 6", "\"alpha\": 6", SR_EPARSE, "`lora_alpha`"},
        {"\"use_dora\": false", "\"use_dora\": true", SR_EUNSUPPORTED, "use_dora"},
        {"\"bias\": \"none\"", "\"bias\": \"all\"", SR_EUNSUPPORTED, "`bias`"},
        {"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"layer\\\\.(0|1).key\": 2}", SR_EUNSUPPORTED,
         "only names of modules"},
        {"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"key\": -2}", SR_EPARSE, "`alpha_pattern`"},
        {"\"alpha_pattern\": {}", "\"alpha_pattern\": [\"key\"]", SR_EUNSUPPORTED, "`alpha_pattern`"},
        {"\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"", SR_EUNSUPPORTED, "pissa"},
        {"{", "{\"trainable_token_indices\": [3],", SR_EUNSUPPORTED, "trainable_token_indices"},
        {"{", "{\"alora_invocation_tokens\": [3],", SR_EUNSUPPORTED, "alora_invocation_tokens"},
        {"\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\"", SR_EUNSUPPORTED, "peft_type"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        copy("bert-embed");
        edit("adapter-pii/adapter_config.json", changes[i].from, changes[i].to);
        heads_refused("adapter-pii", changes[i].code, changes[i].what);
    }
    copy("bert-embed");
    heads_refused("nothing", SR_ENOENT, "nothing/adapter_config.json");
    edit("adapter-pii/adapter_model.safetensors", "encoder.layer.3.attention", "encoder.layer.9.attention");
    heads_refused("adapter-pii", SR_EMISMATCH, "layer.3.attention.self.key");
    edit("adapter-pii/adapter_model.safetensors", "encoder.layer.3.attention", "encoder.layer.9.attention");
    heads_refused("adapter-pii", SR_EMISMATCH,
                  "encoder.layer.9.attention.self.key.lora_A.weight fits nothing");
    copy("bert-embed");
    edit_header("adapter-pii/adapter_model.safetensors", "{\"__metadata__\"",
                "{\"base_model.model.bert.embeddings.LayerNorm.weight\":{\"dtype\":\"F32\",\"shape\":[0],"
                "\"data_offsets\":[0,0]},\"__metadata__\"");
    heads_refused("adapter-pii", SR_EMISMATCH, "would replace a part of the trunk");
    copy("bert-embed");
    shell("mv '%s/adapter-pii/adapter_model.safetensors' '%s/adapter-pii/adapter_model.bin'", folder, folder);
    heads_refused("adapter-pii", SR_EUNSUPPORTED, "adapter_model.bin only");
    copy("bert-embed");
    edit("adapter-pii/pii_type_mapping.json", "\"2\": \"label 2\"", "\"2\": \"label 9\"");
    heads_refused("adapter-pii", SR_EMISMATCH, "do not agree");
}

static void bundles(void **state)
{
    static const struct change changes[] = {
        {"\"pooling\": \"mean\"", "\"pooling\": \"max\"", SR_EPARSE, "`pooling`"},
        {"\"pooling\": \"mean\"", "\"pooling\": \"sliding\"", SR_EPARSE, "`width` and `step`"},
        {"\"pooling\": \"mean\"", "\"pooling\": \"sliding\", \"width\": 8, \"step\": 9", SR_EPARSE,
         "no longer than a mean"},
        {"\"pooling\": \"mean\"", "\"pooling\": \"sliding\", \"width\": 0, \"step\": 1", SR_EPARSE,
         "`width` must be"},
        {"\"heads\"", "\"head\"", SR_EPARSE, "`heads` is missing"},
        {"\"domain\"", "\"subject\"", SR_EMISMATCH, "no labels for the head `subject`"},
        {"{", "{\"trunk\": {\"sha256\": \"00\"}, ", SR_EMISMATCH, "made for a trunk of SHA-256 00"},
        {"\"pooling\": \"mean\"", "\"layer\": 3, \"pooling\": \"mean\"", SR_EPARSE, "`layer`"},
        {"\"pooling\": \"mean\"", "\"activation\": \"relu\", \"pooling\": \"mean\"", SR_EUNSUPPORTED,
         "activation"},
        {"\"pooling\": \"mean\"", "\"adapted\": \"no\", \"pooling\": \"mean\"", SR_EPARSE, "`adapted`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        copy("bert-bundle");
        edit("bundle/config.json", changes[i].from, changes[i].to);
        heads_refused("bundle", changes[i].code, changes[i].what);
    }
    shell("printf '{\"heads\": [{\"pooling\": \"mean\"}]}' > '%s/bundle/config.json'", folder);
    heads_refused("bundle", SR_EPARSE, "`heads` is missing");
    copy("bert-bundle");
    edit("bundle/adapters.safetensors", "pii.out.bias", "pii.out.bia_");
    heads_refused("bundle", SR_EMISMATCH, "pii.out");
}

static void the_same_task_twice(void **state)
{
    char path[600];
    const char *list[2] = {path, path};
    struct sr_encoder_options options = {.heads = list, .n_heads = 2};
    (void)state;
    copy("bert-embed");
    snprintf(path, sizeof path, "%s/adapter-pii", folder);
    refused_with(&options, SR_EMISMATCH, "two heads are called `pii`");
}

static void run_one(struct sr_encoder *e, const char *head, float *out)
{
    static const int32_t ids[] = {2, 40, 50, 60, 3};
    struct sr_encoder_work *work;
    int h = sr_encoder_find_head(e, head);
    assert_true(h >= 0);
    struct sr_encoder_item item = {.ids = ids, .n_ids = 5, .heads = 1u << h};
    item.out[h] = out;
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 24), 0);
    assert_int_equal(sr_encoder_run(e, NULL, work, &item, 1, NULL), 0);
    sr_encoder_work_free(work);
}

/* An adapter's folder alone finds its base beside it, and says what it says as a head on that base. */
static void an_adapter_alone(void **state)
{
    char beside[600];
    const char *list[1] = {beside};
    struct sr_encoder_options options = {.heads = list, .n_heads = 1};
    struct sr_encoder *e;
    struct sr_err err = {0};
    float as_head[15], alone[15];
    (void)state;
    copy_as("bert-embed", "base");
    snprintf(beside, sizeof beside, "%s/adapter-pii", folder);
    assert_int_equal(sr_encoder_open(&e, folder, &options, &err), 0);
    assert_true(sr_encoder_info(e)->heads[1].adapted);
    assert_string_equal(sr_encoder_info(e)->heads[1].folder, beside);
    run_one(e, "pii", as_head);
    sr_encoder_unref(e);
    copy_as("bert-embed/adapter-pii", "adapter");
    options.n_heads = 0;
    int rc = sr_encoder_open(&e, folder, &options, &err);
    if (rc)
        fail_msg("%s", err.message);
    assert_int_equal(sr_encoder_info(e)->n_heads, 1);
    run_one(e, "pii", alone);
    sr_encoder_unref(e);
    assert_memory_equal(as_head, alone, sizeof alone);
    shell("rm -rf '%s/base'", root);
    refused(SR_ENOENT, "its base model was not found");
}

/* A raw checkpoint keeps PEFT's names for modules that were trained whole, the module's or its parent's. */
static void modules_saved_whole(void **state)
{
    static const char name[] = "\"base_model.model.classifier.weight\"";
    static const char as[] = "\"base_model.model.classifier.modules_to_save.default.weight\"";
    char path[600];
    const char *list[1] = {path};
    struct sr_encoder_options options = {.heads = list, .n_heads = 1};
    struct sr_err err = {0};
    struct sr_encoder *e;
    float plain[15], renamed[15];
    (void)state;
    copy("bert-embed");
    snprintf(path, sizeof path, "%s/adapter-pii", folder);
    assert_int_equal(sr_encoder_open(&e, folder, &options, &err), 0);
    run_one(e, "pii", plain);
    sr_encoder_unref(e);
    edit_header("adapter-pii/adapter_model.safetensors", name, as);
    int rc = sr_encoder_open(&e, folder, &options, &err);
    if (rc)
        fail_msg("%s", err.message);
    run_one(e, "pii", renamed);
    sr_encoder_unref(e);
    assert_memory_equal(plain, renamed, sizeof plain);
}

static void finding_folders(void **state)
{
    static const char *const names[] = {
        "lora_intent_classifier_modernbert-base_model", "other", "lora_intent_classifier_roberta-base_model",
        "lora_intent_classifier_bert-base-uncased_model", "category_classifier_modernbert-base_model"};
    static const char *const order[] = {
        "lora_intent_classifier_bert-base-uncased_model", "lora_intent_classifier_roberta-base_model",
        "lora_intent_classifier_modernbert-base_model", "category_classifier_modernbert-base_model"};
    char path[600], small[20];
    struct sr_err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        shell("mkdir -p '%s/found/%s' && touch '%s/found/%s/config.json'", root, names[i], root, names[i]);
    snprintf(folder, sizeof folder, "%s/found", root);
    assert_int_equal(sr_encoder_discover(folder, "domain", small, sizeof small, &err), SR_ELIMIT);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        assert_int_equal(sr_encoder_discover(folder, "domain", path, sizeof path, &err), 0);
        assert_string_equal(strrchr(path, '/') + 1, order[i]);
        shell("rm -r '%s'", path);
    }
    assert_int_equal(sr_encoder_discover(folder, "domain", path, sizeof path, &err), SR_ENOENT);
    assert_int_equal(sr_encoder_discover("/nowhere", "domain", path, sizeof path, &err), SR_ENOENT);
}

/* What the files say wins over what the names suggest. */
static void candidates_by_their_files(void **state)
{
    static const char *const order[] = {"my-guard-lora", "z-guard", "jailbreak_a"};
    struct sr_encoder_candidate found[4];
    struct sr_err err = {0};
    size_t n;
    (void)state;
    shell("rm -rf '%s/many' && mkdir '%s/many'", root, root);
    copy_as("bert-embed/adapter-pii", "many/my-guard-lora");
    edit("adapter_config.json", "\"base\"", "\"someone/base\"");
    shell("mv '%s/pii_type_mapping.json' '%s/jailbreak_type_mapping.json'", folder, folder);
    copy_as("modernbert-embed", "many/base");
    copy_as("roberta-sequence", "many/z-guard");
    copy_as("modernbert-mean", "many/jailbreak_a");
    copy_as("bert-sequence", "many/jailbreak_t5");
    edit("config.json", "\"model_type\": \"bert\"", "\"model_type\": \"t5\"");
    copy_as("bert-bundle/bundle", "many/neural");
    snprintf(folder, sizeof folder, "%s/many", root);
    assert_int_equal(sr_encoder_candidates(folder, "jailbreak", found, 4, &n, &err), 0);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(found[i].name, order[i]);
    assert_true(found[0].adapter && found[0].lora && !found[0].by_name);
    assert_string_equal(found[0].architecture, "modernbert");
    assert_string_equal(found[1].architecture, "roberta");
    assert_true(!found[2].lora && found[2].by_name);
    assert_int_equal(sr_encoder_candidates(folder, "jailbreak", found, 1, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_string_equal(found[0].name, order[0]);
    assert_int_equal(sr_encoder_candidates(folder, "pii", found, 4, &n, &err), 0);
    assert_int_equal(n, 0);
}

/* Every allocation may fail; only a sample of them does here, for there are thousands. */
static void without_memory(const char *name, const char *adapter)
{
    char path[600];
    const char *list[1] = {path};
    struct sr_encoder_options options = {.heads = list, .n_heads = adapter ? 1 : 0};
    bool reached = true;
    copy(name);
    snprintf(path, sizeof path, "%s/%s", folder, adapter ? adapter : "");
    for (size_t nth = 1; reached; nth += 1 + nth / 16) {
        struct sr_encoder *e = NULL;
        struct sr_err err = {0};
        sr_mem_fail_at(nth);
        int rc = sr_encoder_open(&e, folder, &options, &err);
        reached = sr_mem_count() >= nth;
        sr_mem_fail_at(0);
        if (reached ? rc != SR_ENOMEM || !err.message[0] : rc != SR_OK)
            fail_msg("%s, allocation %zu: %d, %s", name, nth, rc, err.message);
        sr_encoder_unref(e);
    }
}

static void opening_without_memory(void **state)
{
    (void)state;
    without_memory("bert-dense", NULL);
    without_memory("bert-patterns", "adapter-suffix");
    without_memory("deberta-conv", NULL);
}

/* ---- running ---- */

static struct sr_encoder *open_small(const char *name)
{
    struct sr_encoder_options options = {0};
    struct sr_encoder *e;
    struct sr_err err = {0};
    char path[512];
    snprintf(path, sizeof path, SMALL "%s", name);
    if (sr_encoder_open(&e, path, &options, &err))
        fail_msg("%s", err.message);
    return e;
}

static bool stops(void *ctx)
{
    return ctx == NULL;
}

static void what_a_run_refuses(void **state)
{
    static int32_t ids[300] = {2, 5, 3};
    struct sr_encoder *e = open_small("bert-embed");
    struct sr_encoder_work *work, *tiny;
    struct sr_encoder_item good = {.ids = ids, .n_ids = 3, .heads = 1}, item;
    float out[32];
    const struct sr_encoder_between stop = {.stops = stops};
    (void)state;
    good.out[0] = out;
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 24), 0);
    assert_int_equal(sr_encoder_work_new(&tiny, 1024), 0);
    assert_int_equal(sr_encoder_run(e, NULL, work, &good, 1, NULL), 0);
    assert_int_equal(sr_encoder_run(e, NULL, work, NULL, 0, NULL), 0);
    assert_int_equal(sr_encoder_run(e, NULL, work, &good, 1, &stop), SR_ECANCELED);
    assert_int_equal(sr_encoder_run(e, NULL, tiny, &good, 1, NULL), SR_ELIMIT);
    assert_int_equal(sr_encoder_work_bytes(tiny), 0);
#define BAD(change)                                                                                          \
    item = good;                                                                                             \
    item.change;                                                                                             \
    assert_int_equal(sr_encoder_run(e, NULL, work, &item, 1, NULL), SR_EINVAL)
    BAD(n_ids = 0);
    BAD(n_ids = 257);
    BAD(heads = 0);
    BAD(heads = 2);
    BAD(layers = 5);
    BAD(dimensions = 33);
    BAD(out[0] = NULL);
    ids[1] = 192;
    BAD(n_ids = 3);
    ids[1] = -1;
    BAD(n_ids = 3);
    ids[1] = 5;
#undef BAD
    assert_int_equal(sr_encoder_run(e, NULL, work, &good, 1, NULL), 0);
    sr_encoder_work_free(work);
    sr_encoder_work_free(tiny);
    sr_encoder_unref(sr_encoder_ref(e));
    sr_encoder_unref(e);
}

/* What is said to be needed suffices, and little more is held. */
static void the_ceiling(void **state)
{
    static int32_t ids[256];
    struct sr_encoder *e = open_small("bert-embed");
    struct sr_encoder_work *work;
    struct sr_encoder_item item = {.ids = ids, .n_ids = 256, .heads = 1};
    float out[32];
    (void)state;
    item.out[0] = out;
    for (size_t n = 1; n <= 256; n *= 2) {
        size_t need = sr_encoder_need(e, n);
        item.n_ids = n;
        assert_int_equal(sr_encoder_work_new(&work, need), 0);
        assert_int_equal(sr_encoder_run(e, NULL, work, &item, 1, NULL), 0);
        assert_true(sr_encoder_work_bytes(work) <= need);
        sr_encoder_work_free(work);
    }
    assert_int_equal(sr_encoder_need(e, 0), 0);
    assert_true(sr_encoder_need(e, SIZE_MAX) == SIZE_MAX);
    sr_encoder_unref(e);
}

/* Items of one batch that ask for different layers, dimensions and heads. */
static void a_mixed_batch(void **state)
{
    static const int32_t ids[] = {2, 40, 50, 60, 70, 80, 3};
    struct sr_encoder *e = open_small("modernbert-embed");
    struct sr_encoder_work *work;
    struct sr_encoder_item items[6] = {0};
    float together[6][32], alone[32];
    (void)state;
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 24), 0);
    for (size_t i = 0; i < 6; i++) {
        items[i] = (struct sr_encoder_item){.ids = ids, .n_ids = 2 + i, .heads = 1};
        items[i].layers = (uint16_t)(5 - i % 5);
        items[i].dimensions = (uint16_t)(i % 2 ? 8 : 0);
        items[i].out[0] = together[i];
    }
    assert_int_equal(sr_encoder_run(e, NULL, work, items, 6, NULL), 0);
    for (size_t i = 0; i < 6; i++) {
        items[i].out[0] = alone;
        assert_int_equal(sr_encoder_run(e, NULL, work, &items[i], 1, NULL), 0);
        for (size_t d = 0; d < (items[i].dimensions ? 8 : 32); d++)
            assert_float_equal(together[i][d], alone[d], 1e-5);
    }
    sr_encoder_work_free(work);
    sr_encoder_unref(e);
}

/* ---- heads on two trunks of one beginning ---- */

static struct sr_encoder *open_upper(void)
{
    char path[600];
    const char *list[1] = {path};
    struct sr_encoder_options options = {.heads = list, .n_heads = 1};
    struct sr_encoder *e;
    struct sr_err err = {0};
    snprintf(path, sizeof path, "%s/bundle", folder);
    int rc = sr_encoder_open(&e, folder, &options, &err);
    if (rc)
        fail_msg("%s", err.message);
    return e;
}

static bool is_adapted(const struct sr_encoder *e, const char *head)
{
    int h = sr_encoder_find_head(e, head);
    assert_true(h >= 0);
    return sr_encoder_info(e)->heads[h].adapted;
}

/* A head reads the adapted layers unless its entry says otherwise, or it reads the rows below them. */
static void which_heads_are_adapted(void **state)
{
    (void)state;
    copy("bert-upper");
    struct sr_encoder *e = open_upper();
    size_t bytes = sr_encoder_info(e)->weight_bytes;
    assert_true(is_adapted(e, "jailbreak"));
    assert_false(is_adapted(e, "domain") || is_adapted(e, "pii") || is_adapted(e, "feedback") ||
                 is_adapted(e, "embedding"));
    sr_encoder_unref(e);
    edit("bundle/config.json", "\"adapted\": false", "\"adapted\": true");
    e = open_upper();
    assert_true(is_adapted(e, "domain") && !is_adapted(e, "pii"));
    assert_int_equal(sr_encoder_info(e)->weight_bytes, bytes);
    sr_encoder_unref(e);
    edit("bundle/config.json", "\"adapted\": true", "\"adapted\": 1");
    heads_refused("bundle", SR_EPARSE, "`adapted`");
}

#define UPPER_ITEMS  6u
#define UPPER_HEADS  5u
#define UPPER_FLOATS (7u * 40u)

static bool stop_at(void *ctx)
{
    return (*(int *)ctx)-- == 0;
}

/* A batch whose sequences ask for heads of one trunk, of the other, of both and of layers below the adapters
 * says what each says alone, to the last bit, from one reading of the shared layers. */
static void two_trunks_in_a_batch(void **state)
{
    static const uint32_t asked[UPPER_ITEMS] = {31,      1u << 2,           1u << 1,
                                                1u << 4, 1u << 2 | 1u << 3, 1 | 1u << 2};
    static float together[UPPER_ITEMS][UPPER_HEADS][UPPER_FLOATS], alone[UPPER_FLOATS];
    static int32_t ids[40];
    struct sr_encoder_item items[UPPER_ITEMS] = {0};
    struct sr_encoder_work *work;
    (void)state;
    copy("bert-upper");
    struct sr_encoder *e = open_upper();
    assert_int_equal(sr_encoder_info(e)->n_heads, UPPER_HEADS);
    assert_int_equal(sr_encoder_find_head(e, "jailbreak"), 2);
    assert_int_equal(sr_encoder_find_head(e, "feedback"), 4);
    for (size_t i = 0; i < 40; i++)
        ids[i] = (int32_t)(4 + i * 37 % 180);
    for (size_t i = 0; i < UPPER_ITEMS; i++) {
        items[i] = (struct sr_encoder_item){.ids = ids + i, .n_ids = 3 + 5 * i, .heads = asked[i]};
        items[i].layers = i == 5 ? 1 : 0;
        for (size_t h = 0; h < UPPER_HEADS; h++)
            items[i].out[h] = together[i][h];
    }
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 24), 0);
    for (size_t n = 1; n <= UPPER_ITEMS; n++) {
        memset(together, 0, sizeof together);
        assert_int_equal(sr_encoder_run(e, NULL, work, items, n, NULL), 0);
        for (size_t i = 0; i < n; i++)
            for (size_t h = 0; h < UPPER_HEADS; h++) {
                struct sr_encoder_item one = items[i];
                one.heads = 1u << h;
                one.out[h] = alone;
                memset(alone, 0, sizeof alone);
                if (asked[i] >> h & 1)
                    assert_int_equal(sr_encoder_run(e, NULL, work, &one, 1, NULL), 0);
                assert_memory_equal(together[i][h], alone, sizeof alone);
            }
    }
    /* All heads of one text: two shared layers, two plain ones, two adapted ones; the last alone: no plain
     * one. */
    for (int layers = 0; layers < 8; layers++) {
        int left = layers;
        const struct sr_encoder_between between = {stop_at, &left};
        assert_int_equal(sr_encoder_run(e, NULL, work, &items[0], 1, &between),
                         layers < 6 ? SR_ECANCELED : 0);
        left = layers;
        assert_int_equal(sr_encoder_run(e, NULL, work, &items[1], 1, &between),
                         layers < 4 ? SR_ECANCELED : 0);
    }
    sr_encoder_work_free(work);
    sr_encoder_unref(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_files),
        cmocka_unit_test(configurations_of_bert),
        cmocka_unit_test(configurations_of_deberta),
        cmocka_unit_test(configurations_of_modernbert),
        cmocka_unit_test(shards),
        cmocka_unit_test(mappings),
        cmocka_unit_test(damaged_weights),
        cmocka_unit_test(damaged_word_embeddings),
        cmocka_unit_test(poolings),
        cmocka_unit_test(modules),
        cmocka_unit_test(dense_layers),
        cmocka_unit_test(adapters),
        cmocka_unit_test(bundles),
        cmocka_unit_test(the_same_task_twice),
        cmocka_unit_test(an_adapter_alone),
        cmocka_unit_test(modules_saved_whole),
        cmocka_unit_test(finding_folders),
        cmocka_unit_test(candidates_by_their_files),
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test(what_a_run_refuses),
        cmocka_unit_test(the_ceiling),
        cmocka_unit_test(a_mixed_batch),
        cmocka_unit_test(which_heads_are_adapted),
        cmocka_unit_test(two_trunks_in_a_batch),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}

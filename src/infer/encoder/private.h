/*
 * What the encoder's files share: a folder's configuration, its tensors, the trunk's and the heads' weights.
 *
 * Opening goes: config.json (config.c, config_deberta.c), weight files (files.c), adapters (lora.c), matrices
 * and norms (weights.c), relative positions and convolution (relative.c, conv.c), trunks of them (trunk.c),
 * heads and labels (heads.c, labels.c), all held together by open.c. Running: run.c over the workspace of
 * work.c, conv.c, heads in pool.c.
 */
#ifndef SR_INFER_ENCODER_PRIVATE_H
#define SR_INFER_ENCODER_PRIVATE_H

#include "base/arena.h"
#include "base/json_read.h"
#include "base/ref.h"
#include "infer/encoder/encoder.h"
#include "infer/encoder/words.h"
#include "model/safetensors.h"

#define SR_ENC_LAYERS_MAX 128u
#define SR_ENC_HIDDEN_MAX 8192u
#define SR_ENC_WIDE_MAX   32768u /* intermediate size */
#define SR_ENC_TOKENS_MAX 65536u
#define SR_ENC_SHARDS_MAX 64u
#define SR_ENC_TRUNKS_MAX 8u /* the plain one and adapted ones */
#define SR_ENC_PATH_MAX   4096u
#define SR_ENC_NAME_MAX   256u /* of a tensor */
#define SR_ENC_JSON_MAX   ((size_t)4 << 20)
#define SR_ENC_EMBEDDING  "embedding" /* the head every trunk without a classifier has */
#define SR_ENC_PARTS_MAX  3u
#define SR_ENC_DENSE_MAX  4u    /* linear layers behind an embedding's pooling */
#define SR_ENC_GROUP      128u  /* rows that heads work on at a time */
#define SR_ENC_CONV_MAX   15u   /* tokens that a convolution sees */
#define SR_ENC_RUN        1024u /* tokens that attend with relative positions at a time, or one sequence */
#define SR_ENC_PIGUARD    "piguard" /* a model_type: DeBERTa-v3 whose classifier reads the first row itself */

/* ---- small JSON files ---- */

struct sr_enc_json {
    char path[SR_ENC_PATH_MAX];
    char *bytes; /* NULL: there is no such file */
    sr_json_view root;
};

/* FOLDER/NAME. With `optional` a missing file leaves json->bytes NULL and root empty. */
int sr_enc_json_open(struct sr_enc_json *json, const char *folder, const char *name, bool optional,
                     struct sr_err *err) SR_WARN_UNUSED;
void sr_enc_json_close(struct sr_enc_json *json);

/* Reads an integer member into *out, which keeps its value when the member is absent or null. */
int sr_enc_json_size(const struct sr_enc_json *json, sr_json_view object, const char *name, size_t min,
                     size_t max, size_t *out, struct sr_err *err) SR_WARN_UNUSED;
/* The same for a finite number. */
int sr_enc_json_number(const struct sr_enc_json *json, sr_json_view object, const char *name, double min,
                       double max, double *out, struct sr_err *err) SR_WARN_UNUSED;
bool sr_enc_number(sr_json_view v, double *out);
/* The same for the name of an activation: gelu, tanh, relu. SR_EUNSUPPORTED for another. */
int sr_enc_json_activation(const struct sr_enc_json *json, const char *name, enum sr_epilogue *out,
                           struct sr_err *err) SR_WARN_UNUSED;
/* SR_EUNSUPPORTED: the member's value is none that is implemented; `wanted` says which are. */
int sr_enc_json_unsupported(const struct sr_enc_json *json, const char *name, const char *wanted,
                            struct sr_err *err);

/* FOLDER/NAME into `path`; SR_ELIMIT when it is too long. */
int sr_enc_path(char path[SR_ENC_PATH_MAX], const char *folder, const char *name,
                struct sr_err *err) SR_WARN_UNUSED;

/* ---- config.json ---- */

enum sr_enc_family { SR_ENC_BERT, SR_ENC_ROBERTA, SR_ENC_MODERNBERT, SR_ENC_DEBERTA };
enum sr_enc_pooling { SR_ENC_MEAN, SR_ENC_CLS, SR_ENC_SLIDING };
enum sr_enc_task { SR_ENC_TASK_NONE, SR_ENC_TASK_SEQUENCE, SR_ENC_TASK_TOKEN };

/* A linear layer behind the pooling of embeddings. */
struct sr_enc_dense {
    char folder[SR_ENC_NAME_MAX]; /* of its files, within the model's */
    size_t in, out;
    bool bias;
    enum sr_epilogue activation;
};

struct sr_enc_config {
    enum sr_enc_family family;
    enum sr_enc_task task;
    size_t layers, hidden, heads, head_dim, intermediate, vocab;
    size_t positions;  /* rows of the position table; most tokens with RoPE */
    bool no_positions; /* there is no position table */
    size_t types;      /* rows of the token type table; 0: there is none */
    size_t offset;     /* RoBERTa: position of the first token */
    int32_t pad;
    float scale; /* of attention's scores */
    float eps;
    bool attention_bias, mlp_bias, norm_bias, classifier_bias; /* ModernBERT */
    size_t window;
    bool global[SR_ENC_LAYERS_MAX]; /* layers that see the whole sequence */
    double theta_global, theta_local;
    enum sr_enc_pooling classifier_pooling, embedding_pooling;
    enum sr_epilogue classifier_activation;
    bool classifier_dense; /* a sequence head has a dense layer before its classifier */
    /* DeBERTa: scores by relative position. */
    bool relative, share_keys /* the layers' own projections make the terms */, norm_relative;
    bool c2p, p2c;    /* which terms there are: of queries, of keys */
    size_t buckets;   /* distances share buckets, ever wider; 0: each has its own */
    size_t distances; /* beyond it all are in the last bucket */
    size_t span;      /* buckets on each side of zero */
    size_t conv;      /* tokens that the first layer's convolution sees; 0: there is none */
    enum sr_epilogue conv_activation;
    struct sr_enc_dense dense[SR_ENC_DENSE_MAX];
    size_t n_dense;
    size_t vector; /* numbers of an embedding: hidden, or what the last dense layer gives */
};

/* Everything is checked against the limits above. SR_EUNSUPPORTED names what is not implemented. */
int sr_enc_config_read(struct sr_enc_config *config, const char *folder, struct sr_err *err) SR_WARN_UNUSED;

/* The members of DeBERTa, when the sizes are read. Called by sr_enc_config_read. */
int sr_enc_deberta_read(struct sr_enc_config *config, const struct sr_enc_json *json,
                        struct sr_err *err) SR_WARN_UNUSED;

/* What modules.json says of embeddings, or 1_Pooling/config.json alone. Called by sr_enc_config_read. */
int sr_enc_modules_read(struct sr_enc_config *config, const char *folder, struct sr_err *err) SR_WARN_UNUSED;

const char *sr_enc_family_name(enum sr_enc_family family);
/* False: none that is supported. */
bool sr_enc_family_of(sr_json_view model_type, enum sr_enc_family *family);

/* ---- weight files ---- */

struct sr_enc_files {
    const char *folder;
    struct sr_safetensors *shards[SR_ENC_SHARDS_MAX];
    size_t n;
    char prefix[SR_ENC_NAME_MAX]; /* before the trunk's own tensor names */
};

/* FOLDER/model.safetensors or the shards of its index; `sha256` as in the options. */
int sr_enc_files_open(struct sr_enc_files *files, const char *folder, const char *sha256,
                      struct sr_err *err) SR_WARN_UNUSED;
/* One file of another name; SR_ENOENT. */
int sr_enc_files_open_one(struct sr_enc_files *files, const char *folder, const char *name,
                          struct sr_err *err) SR_WARN_UNUSED;
void sr_enc_files_close(struct sr_enc_files *files);

/* Finds what stands before `anchor` in the shortest name that ends with it: the prefix of the trunk. */
int sr_enc_find_prefix(struct sr_enc_files *files, const char *anchor, struct sr_err *err) SR_WARN_UNUSED;

/* prefix + name; also LayerNorm.gamma and .beta for .weight and .bias. NULL. */
const struct sr_tensor *sr_enc_trunk_tensor(const struct sr_enc_files *files, const char *name);

/* A head's tensor: behind the trunk's prefix or any leading part of it that ends with a dot. NULL. */
const struct sr_tensor *sr_enc_head_tensor(const struct sr_enc_files *files, const char *name);

/* F32, F16 or BF16 of exactly this shape (columns 0: rank 1), or a matrix of as many columns in 4-bit blocks
 * (U8, SR_SCALAR_Q4); says what is wrong otherwise. `tensor` NULL:
 * "`name` is missing". */
int sr_enc_check(const struct sr_enc_files *files, const struct sr_tensor *tensor, const char *name,
                 size_t rows, size_t columns, struct sr_err *err) SR_WARN_UNUSED;

enum sr_scalar sr_enc_scalar(const struct sr_tensor *tensor);

/* All elements as floats into `out`. SR_EMISMATCH when one is not finite. */
int sr_enc_floats(const struct sr_enc_files *files, const struct sr_tensor *tensor, float *out,
                  struct sr_err *err) SR_WARN_UNUSED;

/* The check alone. */
int sr_enc_check_values(const struct sr_enc_files *files, const struct sr_tensor *tensor,
                        struct sr_err *err) SR_WARN_UNUSED;

/* ---- adapters ---- */

struct sr_enc_adapter {
    struct sr_enc_files files;
    struct sr_enc_json config; /* adapter_config.json */
    bool rslora;
    bool ranks;                     /* rank_pattern: ranks differ, each pair has its own */
    enum sr_enc_task task;          /* NONE: embeddings, or a classifier where its weights are */
    char base[SR_ENC_NAME_MAX + 1]; /* name of the folder beside, "" when none is named */
    double alpha;
    size_t rank;
    size_t pairs; /* in the file */
    bool *taken;  /* [tensors of the file]: merged */
};

/* adapter_config.json and its weights (PEFT). SR_EUNSUPPORTED for what is not plain LoRA. `needed`: a file
 * without pairs is an error. Close it in any case. */
int sr_enc_adapter_open(struct sr_enc_adapter *adapter, const char *folder, const char *weights, bool needed,
                        struct sr_err *err) SR_WARN_UNUSED;

/* The last part of the name of the base of the adapter in `folder`; "" where it says none. */
void sr_enc_base_read(char name[SR_ENC_NAME_MAX + 1], const char *folder);
/* SR_EMISMATCH when a pair was left over that would change the trunk; with `whole` also when another tensor
 * than a head's is in the file. */
int sr_enc_adapter_check(const struct sr_enc_adapter *adapter, bool whole, struct sr_err *err) SR_WARN_UNUSED;
void sr_enc_adapter_close(struct sr_enc_adapter *adapter);
/* Is there a pair for the module (its name within the trunk, or a head's)? */
bool sr_enc_adapter_has(const struct sr_enc_adapter *adapter, const char *module);
/* w[n][k] += scale * B A, when the module has a pair. */
int sr_enc_adapter_merge(struct sr_enc_adapter *adapter, const char *module, float *w, size_t n, size_t k,
                         struct sr_err *err) SR_WARN_UNUSED;

/* ---- the weights of a trunk ---- */

struct sr_enc_norm {
    const float *weight, *bias; /* bias may be NULL; weight NULL: no norm here */
};

/* The matrices of a layer: four linear layers, then the terms of relative positions. */
enum { SR_ENC_QKV, SR_ENC_OUT, SR_ENC_UP, SR_ENC_DOWN, SR_ENC_TERMS, SR_ENC_LINEARS };

struct sr_enc_layer {
    struct sr_matrix *qkv, *out, *up, *down;
    struct sr_matrix **terms[2]; /* [heads] each: of queries, of keys; NULL: no such term */
    struct sr_enc_norm attention_norm, mlp_norm;
};

struct sr_enc_trunk {
    struct sr_enc_layer layers[SR_ENC_LAYERS_MAX];
    size_t shared; /* layers at its beginning that are the plain trunk's, whole; the plain one: 0 */
    bool borrowed[SR_ENC_LAYERS_MAX][SR_ENC_LINEARS]; /* it is the plain trunk's */
};

/* Relative positions, shared by all layers. */
struct sr_enc_relative {
    float *rows; /* [2 * span][hidden], normed; on the heap, while trunks are loaded */
    const int32_t *key_rows, *query_rows; /* by distance, [-positions, positions] around 0: see sr_relative */
    size_t positions;
};

struct sr_enc_conv {
    struct sr_matrix *matrix; /* [hidden][conv * hidden]; NULL: none */
    struct sr_enc_norm norm;
};

struct sr_enc_head {
    enum sr_head_kind kind;
    size_t trunk;
    size_t layers; /* reads the rows behind so many; 0: all */
    enum sr_enc_pooling pooling;
    size_t width, step;      /* SR_ENC_SLIDING: rows of a mean, and from one mean to the next */
    bool unit;               /* the pooled row is scaled to length 1 */
    struct sr_matrix *dense; /* NULL: none */
    struct sr_enc_norm norm; /* behind it */
    struct sr_matrix *classifier;
    struct sr_matrix *after[SR_ENC_DENSE_MAX]; /* embeddings: [config.n_dense] */
};

struct sr_encoder {
    struct sr_ref ref;
    struct sr_arena arena;
    struct sr_enc_config config;
    struct sr_encoder_info info;
    struct sr_head_info head_info[SR_ENCODER_HEADS_MAX];
    struct sr_tokenizer *tokenizer;
    const char *base; /* the folder of the trunk's weights: info.folder, or the base of its adapter */
    struct sr_enc_files files; /* closed when all is loaded */
    const void *words;         /* [vocab][hidden] */
    struct sr_enc_words *word_table;
    enum sr_scalar word_type;
    const float *places; /* [positions, or 1][hidden]: position and type embeddings; NULL: neither */
    struct sr_enc_norm embedding_norm, final_norm;
    struct sr_rope *rope[2]; /* local, global; may be the same */
    struct sr_enc_relative relative;
    struct sr_enc_conv conv;
    struct sr_enc_trunk *trunks[SR_ENC_TRUNKS_MAX];
    size_t n_trunks;
    struct sr_enc_head heads[SR_ENCODER_HEADS_MAX];
};

/* One linear layer from up to SR_ENC_PARTS_MAX tensors above each other, with an adapter merged in. */
struct sr_enc_linear {
    const char *modules[SR_ENC_PARTS_MAX]; /* names within the trunk, without ".weight" */
    size_t parts;
    size_t rows; /* of each part */
    size_t depth;
    bool bias;
    enum sr_epilogue epilogue;
    bool exact; /* fp32 whatever the encoder's precision, and not counted: it does not stay */
};

int sr_enc_linear_load(struct sr_encoder *e, const struct sr_enc_linear *linear,
                       struct sr_enc_adapter *adapter, struct sr_matrix **out,
                       struct sr_err *err) SR_WARN_UNUSED;

/* A vector of `n` floats in the arena. */
int sr_enc_vector_load(struct sr_encoder *e, const struct sr_enc_files *files, const struct sr_tensor *tensor,
                       const char *name, size_t n, const float **out, struct sr_err *err) SR_WARN_UNUSED;

/* The norm `module` of the trunk. */
int sr_enc_norm_load(struct sr_encoder *e, const char *module, bool bias, struct sr_enc_norm *norm,
                     struct sr_err *err) SR_WARN_UNUSED;

/* The rows and the buckets of relative positions. */
int sr_enc_relative_load(struct sr_encoder *e, struct sr_err *err) SR_WARN_UNUSED;

/* Distances up to here have a row each, in their order. */
static inline size_t sr_enc_straight(const struct sr_enc_config *config)
{
    size_t each = config->buckets ? config->buckets / 2 : config->span;
    return each < config->span ? each : config->span - 1;
}

/* The terms of a layer: `projections` are two parts, of queries and of keys, that the rows go through. On
 * failure terms has what was made. */
int sr_enc_terms_load(struct sr_encoder *e, const struct sr_enc_linear *projections,
                      struct sr_enc_adapter *adapter, struct sr_matrix **terms[2],
                      struct sr_err *err) SR_WARN_UNUSED;
void sr_enc_terms_free(const struct sr_encoder *e, struct sr_matrix **terms[2]);

/* What attention of a layer adds to its scores. */
static inline struct sr_relative sr_enc_relative_of(const struct sr_encoder *e, size_t trunk, size_t layer)
{
    struct sr_matrix **const *terms = e->trunks[trunk]->layers[layer].terms;
    return (struct sr_relative){.keys = terms[0],
                                .queries = terms[1],
                                .key_rows = e->relative.key_rows,
                                .query_rows = e->relative.query_rows,
                                .positions = e->relative.positions,
                                .straight = sr_enc_straight(&e->config),
                                .n_rows = 2 * e->config.span};
}

/* The convolution beside the first layer. */
int sr_enc_conv_load(struct sr_encoder *e, struct sr_err *err) SR_WARN_UNUSED;

/* The tables and norms that all trunks share. */
int sr_enc_shared_load(struct sr_encoder *e, struct sr_err *err) SR_WARN_UNUSED;

/* The next trunk, with `adapter` (may be NULL: the plain one). */
int sr_enc_trunk_load(struct sr_encoder *e, struct sr_enc_adapter *adapter,
                      struct sr_err *err) SR_WARN_UNUSED;

/* ---- heads ---- */

/* A head's tensors lie in the folder's weights, or in an adapter's (PEFT's modules_to_save). */
struct sr_enc_source {
    const struct sr_enc_files *files[2]; /* looked into in this order; the second may be NULL */
    const struct sr_enc_files *found;    /* where the latest was looked for */
    struct sr_enc_adapter *adapter;      /* merged into what it has pairs for; NULL: none */
};

const struct sr_tensor *sr_enc_head_find(struct sr_enc_source *from, const char *module, const char *kind);

struct sr_enc_head_layer {
    const char *module;
    size_t n, k; /* rows; columns, 0: hidden */
    bool bias;
    enum sr_epilogue epilogue;
    enum sr_precision precision;
};

int sr_enc_head_matrix(struct sr_encoder *e, struct sr_enc_source *from,
                       const struct sr_enc_head_layer *layer, struct sr_matrix **out,
                       struct sr_err *err) SR_WARN_UNUSED;

/* The dense layers of the folder's embeddings into head->after. */
int sr_enc_dense_load(struct sr_encoder *e, struct sr_enc_head *head, struct sr_err *err) SR_WARN_UNUSED;

/* The trunk that has what a head of `trunk` reads behind `layers` layers: the plain one up to where `trunk`
 * differs. */
size_t sr_enc_trunk_read(const struct sr_encoder *e, size_t trunk, size_t layers);

/* A further head; its info is the last one's. */
int sr_enc_head_add(struct sr_encoder *e, const char *name, const char *folder, enum sr_head_kind kind,
                    size_t trunk, struct sr_enc_head **out, struct sr_err *err) SR_WARN_UNUSED;

/* A folder with adapters.safetensors: several heads on one adapted trunk (docs/internals/encoder.md).
 * `sha256` is what the trunk's file was checked against, or NULL. */
int sr_enc_bundle_load(struct sr_encoder *e, const char *folder, const char *sha256,
                       struct sr_err *err) SR_WARN_UNUSED;

/* The folder's own heads: its classifier, or the embedding; `adapter` (may be NULL) is looked into first. */
int sr_enc_heads_load(struct sr_encoder *e, const char *task, struct sr_enc_adapter *adapter,
                      struct sr_err *err) SR_WARN_UNUSED;

/* A folder with an adapter for this trunk: an adapted trunk and its classifier. */
int sr_enc_adapter_heads_load(struct sr_encoder *e, const char *folder, struct sr_err *err) SR_WARN_UNUSED;

struct sr_enc_labels {
    const char *task; /* what the mapping file stands for, NULL */
    const char **labels;
    size_t n; /* 0: nothing said */
};

/* Mapping file of the folder (with `task`: only that task's), else id2label of its config.json. In the arena.
 */
int sr_enc_labels_read(struct sr_enc_labels *labels, const char *folder, const char *task,
                       struct sr_arena *arena, struct sr_err *err) SR_WARN_UNUSED;

static inline int sr_enc_out_of_memory(struct sr_err *err)
{
    (void)sr_err_set(err, SR_ENOMEM, "out of memory for an encoder");
    return SR_ENOMEM;
}

/* ---- running ---- */

/* The workspace for a batch: where things lie, bytes from its start.
 *   x        F32 [tokens][hidden]           the residual stream
 *   a        act [tokens][hidden]           normed input of a linear layer; then attention's output
 *   q        act [tokens][3 * hidden]       q, k, v; then the hidden rows of the MLP, a chunk at a time;
 *                                           then F32 [tokens][hidden] behind the last norm
 *   rows     F32 [group][2 * wide + labels]  pooled rows and what heads make of them; wide: hidden, or the
 *                                           widest dense layer of an embedding
 *   first    F32 [tokens][hidden]           the residual stream before the first layer, for a convolution
 *   fork     F32 [tokens][hidden]           the residual stream behind the layers that trunks share
 *   fork_starts, fork_order                 as starts and order, of the rows in fork
 *   scratch  what the kernels ask for */
struct sr_enc_plan {
    enum sr_scalar act;
    size_t tokens, chunk /* rows of the MLP at a time */, group, wide;
    size_t x, a, q, rows, starts, order, first, fork, fork_starts, fork_order, scratch, bytes;
};

void sr_enc_plan_make(const struct sr_encoder *e, size_t tokens, size_t sequences, unsigned team,
                      struct sr_enc_plan *plan);

struct sr_encoder_work {
    void *raw;
    unsigned char *p; /* raw, aligned */
    size_t bytes, max;
};

/* Room for `bytes`, aligned to 64; the old contents are lost. SR_ELIMIT, SR_ENOMEM. */
int sr_enc_work_reserve(struct sr_encoder_work *work, size_t bytes) SR_WARN_UNUSED;

/* What a pass has at hand. Sequence s of the batch: rows starts[s] .. starts[s + 1], item order[s]. */
struct sr_enc_pass {
    const struct sr_encoder *e;
    struct sr_team *team;
    const struct sr_encoder_item *items;
    struct sr_enc_plan plan;
    size_t trunk;
    float *x;
    void *a, *q;
    float *rows, *first;
    void *scratch;
    uint32_t *starts, *order;
    size_t n; /* sequences still in progress */
    /* Adapted trunks begin behind so many layers, with the rows that the plain one left in fork. */
    size_t shared;
    float *fork;
    uint32_t *fork_starts, *fork_order;
    size_t n_fork;
};

/* Adds the convolution of the rows before the first layer (pass->first) to the rows after it, and norms. */
void sr_enc_convolve(struct sr_enc_pass *pass);

/* Writes the output of the items' heads that are due after `layers` layers. */
void sr_enc_emit(struct sr_enc_pass *pass, size_t layers);

/* Layers that head `h` of an item needs. */
size_t sr_enc_layers_of(const struct sr_encoder *e, const struct sr_encoder_item *item, size_t h);

#endif

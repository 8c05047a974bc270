/*
 * Encoders from Hugging Face folders: a trunk, and the heads that share it.
 *
 * Opens config.json, tokenizer.json, safetensors (one file or shards), mapping files, LoRA adapters;
 * architectures: BERT, RoBERTa (XLM-R with it), ModernBERT (mmBERT with it), DeBERTa-v2 and v3. Runs a packed
 * batch of sequences through the trunk once and gives what each sequence's heads say. Knows no queue
 * (infer/engine/engine.h), no windows, no thresholds. Immutable and counted once open; any thread may run it
 * with its own workspace. Numerical reference: Hugging Face transformers in float32.
 */
#ifndef SR_INFER_ENCODER_ENCODER_H
#define SR_INFER_ENCODER_ENCODER_H

#include "infer/locate.h"
#include "kernel/kernel.h"
#include "model/tokenizer/tokenizer.h"

#define SR_ENCODER_HEADS_MAX  16u
#define SR_ENCODER_LABELS_MAX 1024u

struct sr_encoder;
struct sr_encoder_work; /* activations and scratch of one run at a time; grows up to its ceiling */

enum sr_head_kind {
    SR_HEAD_EMBEDDING, /* pooled, optionally normalised vector */
    SR_HEAD_SEQUENCE,  /* logits of the whole sequence */
    SR_HEAD_TOKEN,     /* logits of each token */
};

/* Strings and arrays belong to the encoder. */
struct sr_head_info {
    const char *name;   /* "embedding", "domain", ... the task as configured or as the folder says */
    const char *folder; /* where the head's files are */
    enum sr_head_kind kind;
    const char *const *labels; /* [n_labels]; NULL for embeddings */
    size_t n_labels;           /* dimension of the vector for embeddings */
    float temperature;         /* divide logits by it, where nothing else is mixed in; 1: not said */
    bool adapted;              /* reads the adapted trunk: layers of its own beside the plain trunk's */
};

struct sr_encoder_info {
    const char *architecture; /* "bert", "roberta", "modernbert", "deberta-v2" */
    const char *folder;
    size_t layers, hidden, attention_heads, intermediate, vocab;
    size_t max_tokens; /* positions of one sequence, special tokens included */
    size_t parameters, weight_bytes /* packed */;
    size_t word_bytes; /* of word embeddings, which encoders of one model share */
    enum sr_precision precision;
    size_t n_heads;
    const struct sr_head_info *heads;
};

struct sr_encoder_options {
    enum sr_precision precision;
    const char *task; /* what a sequence or token head of the folder is called; NULL: by its mapping file */
    const char *const
        *heads; /* [n_heads] folders with heads or adapters for this trunk (see docs); may be 0 */
    size_t n_heads;
    size_t max_tokens;  /* lower than the architecture's; 0: the architecture's */
    const char *sha256; /* of model.safetensors, or NULL */
};

/* Blocks on I/O. SR_ENOENT, SR_EIO, SR_EPARSE, SR_EUNSUPPORTED, SR_EMISMATCH (tensors, labels and task do not
 * fit each other), SR_ELIMIT, SR_ENOMEM; err says which file and what is wrong. */
int sr_encoder_open(struct sr_encoder **out, const char *folder, const struct sr_encoder_options *options,
                    struct sr_err *err) SR_WARN_UNUSED;

/* The folder whose weights an encoder of `folder` runs: `folder`, or the base of an adapter. It may be
 * changed where the adapter is not. SR_ENOENT when the base is not there, SR_EPARSE, SR_ELIMIT. */
int sr_encoder_base(char out[SR_LOCATE_MAX], const char *folder, struct sr_err *err) SR_WARN_UNUSED;

struct sr_encoder *sr_encoder_ref(struct sr_encoder *encoder);
void sr_encoder_unref(struct sr_encoder *encoder); /* NULL is allowed */

/* A model folder that could serve a task. */
struct sr_encoder_candidate {
    char name[256];           /* within the models folder */
    const char *architecture; /* as in the info: by its files, else by its name */
    bool adapter;             /* a PEFT adapter, merged into a base beside it */
    bool lora;                /* an adapter, or trained as one and merged */
    bool by_name;             /* its name says the task; else its mapping file does */
};

/* The model folders in `folder` that are for `task`, by the names, the mapping files and the order of
 * published set-ups: those with LoRA first, then BERT, RoBERTa, ModernBERT, DeBERTa, then by name. The best
 * `max`; their number may be 0. SR_ENOENT when `folder` cannot be read. */
int sr_encoder_candidates(const char *folder, const char *task, struct sr_encoder_candidate *out, size_t max,
                          size_t *n, struct sr_err *err) SR_WARN_UNUSED;

/* The path of the best one. SR_ENOENT when there is none, SR_ELIMIT. */
int sr_encoder_discover(const char *folder, const char *task, char *path, size_t size,
                        struct sr_err *err) SR_WARN_UNUSED;

const struct sr_encoder_info *sr_encoder_info(const struct sr_encoder *encoder);
struct sr_tokenizer *sr_encoder_tokenizer(const struct sr_encoder *encoder); /* borrowed */
/* Index of a head by name, -1. */
int sr_encoder_find_head(const struct sr_encoder *encoder, const char *name);

/* One sequence of a batch. Ids include the template's tokens; 1 <= n_ids <= max_tokens. */
struct sr_encoder_item {
    const int32_t *ids;
    size_t n_ids;
    uint32_t heads; /* bit i: run head i */
    /* Embeddings: stop after this many layers (0: all) and keep the first `dimensions` (0: all). Items of one
     * batch may differ. */
    uint16_t layers, dimensions;
    /* out[i] for each asked head i: [n_labels] floats, or [n_ids][n_labels] for token heads. Logits are raw.
     */
    float *out[SR_ENCODER_HEADS_MAX];
};

/* `max_bytes`: ceiling of a workspace. */
int sr_encoder_work_new(struct sr_encoder_work **out, size_t max_bytes) SR_WARN_UNUSED;
void sr_encoder_work_free(struct sr_encoder_work *work);
size_t sr_encoder_work_bytes(const struct sr_encoder_work *work); /* held now */

/* Bytes a batch of so many tokens needs; to refuse before anything is allocated. */
size_t sr_encoder_need(const struct sr_encoder *encoder, size_t tokens);

/* Called between two layers, on the calling thread: may wait so that others compute, and ends the batch by
 * returning true. */
struct sr_encoder_between {
    bool (*stops)(void *ctx);
    void *ctx;
};

/* Runs the batch: plain trunk once if an unadapted head is asked, adapted trunk once if an adapted one is;
 * the layers before the first that an adapter changes run once for both, to the same numbers. Sequences never
 * see each other. SR_ELIMIT when it does not fit the workspace's ceiling, SR_ECANCELED when `between` (may be
 * NULL) ended it, SR_EINVAL for ids or lengths out of range, SR_ENOMEM. */
int sr_encoder_run(const struct sr_encoder *encoder, struct sr_team *team, struct sr_encoder_work *work,
                   const struct sr_encoder_item *items, size_t n_items,
                   const struct sr_encoder_between *between) SR_WARN_UNUSED;

#endif

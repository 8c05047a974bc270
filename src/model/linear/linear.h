/*
 * The linear tier: a text classifier over word and character n-grams, in one pass over the bytes.
 *
 * A model is a table of n-grams kept by training (training/train_domain.py): 8-way buckets of 16-bit
 * fingerprints and one int8 weight per label. Each known n-gram counts once per text, so
 *     logit[l] = bias[l] + scale * sum of weights[l] / sqrt(number of known n-grams + damping)
 * and the probabilities are softmax(logit / temperature), the temperature fitted on held-out folds
 * (Guo et al. 2017, "On Calibration of Modern Neural Networks", section 4.2).
 * It has no thresholds; `model/classifier.h` is the interface that it shares with neural tiers.
 */
#ifndef SR_MODEL_LINEAR_LINEAR_H
#define SR_MODEL_LINEAR_LINEAR_H

#include "model/classifier.h"

#define SR_LINEAR_FORMAT      "semroute-linear-1"
#define SR_LINEAR_ROWS_MAX    (1u << 19)
#define SR_LINEAR_BATCH       128 /* n-grams looked up together */
#define SR_LINEAR_GRAM_MAX    6   /* characters of an n-gram */
#define SR_LINEAR_GRAM_ACROSS 5   /* maximum characters of an n-gram that contains a space */

/* Immutable, counted, shared by any number of threads. */
struct sr_linear;

/* Opens a model of format SR_LINEAR_FORMAT. The SHA-256 of the data section, which the file states, is always
 * verified; `sha256` (64 hex digits, or NULL) is what the whole file must have. Errors: those of
 * sr_safetensors_open_*, SR_EMISMATCH for a hash, SR_EUNSUPPORTED for another format, SR_EPARSE for tensors
 * that are missing or of a wrong shape; `*out` is NULL then. Blocks on I/O; milliseconds for the hash. */
int sr_linear_open_file(struct sr_linear **out, const char *path, const char *sha256,
                        struct sr_err *err) SR_WARN_UNUSED;

/* The same over bytes that stay unchanged for the life of the process or until the last unref. */
int sr_linear_open_memory(struct sr_linear **out, const void *p, size_t n, const char *sha256,
                          struct sr_err *err) SR_WARN_UNUSED;

/* The domain model inside the executable. */
int sr_linear_open_domain(struct sr_linear **out, struct sr_err *err) SR_WARN_UNUSED;

/* The jailbreak model inside the executable. */
int sr_linear_open_jailbreak(struct sr_linear **out, struct sr_err *err) SR_WARN_UNUSED;

struct sr_linear *sr_linear_ref(struct sr_linear *model);
void sr_linear_unref(struct sr_linear *model); /* NULL is allowed */

/* The same object as a classifier; borrowed, valid as long as the model. */
struct sr_classifier *sr_linear_classifier(struct sr_linear *model);

/* Valid as long as the model. */
size_t sr_linear_n_labels(const struct sr_linear *model);
const char *const *sr_linear_labels(const struct sr_linear *model); /* [n_labels] */
const char *sr_linear_task(const struct sr_linear *model);
const char *sr_linear_sha256(const struct sr_linear *model); /* hex, of the whole file; the model's version */
size_t sr_linear_rows(const struct sr_linear *model);

/* Probabilities of a whole text into `out` [n_labels]. No allocation; about 70 KiB of stack. Any thread.
 * Any bytes are a text: broken UTF-8 separates words. The empty text gets the prior. */
void sr_linear_scores(const struct sr_linear *model, struct sr_bytes text, float *out);

#define SR_LINEAR_TOUCHED 256u /* a power of two */

/* The same for a text that arrives in pieces, cut anywhere. Caller's memory, one thread; the model must
 * outlive the run. begin() prepares, feed() any number of times, end() once. */
struct sr_linear_run {
    const struct sr_linear *model;
    int32_t sums[SR_CLASSIFIER_LABELS_MAX];
    uint32_t known;            /* distinct n-grams that the model knows */
    uint32_t code, low, high;  /* UTF-8: code point so far, bounds of the next byte */
    uint32_t need;             /* continuation bytes still to come */
    uint32_t last_kind, reach; /* class of the last symbol; symbols since the last space, inclusive */
    uint32_t at, recent[8];    /* ring of symbols */
    uint64_t word;             /* hash of the unfinished word, 0 = none */
    uint64_t words[2];         /* the two words before, newest first, 0 = none */
    uint32_t waiting;          /* keys that are not looked up yet */
    uint32_t n_pending;        /* rows whose weights are not added yet */
    uint64_t keys[SR_LINEAR_BATCH];
    uint32_t pending[SR_LINEAR_BATCH + 1];
    uint64_t seen[SR_LINEAR_ROWS_MAX / 64];
    uint32_t touched[SR_LINEAR_TOUCHED]; /* the first rows in `seen` */
};

void sr_linear_begin(struct sr_linear_run *run, const struct sr_linear *model);
/* begin() for a run that has ended: of a short text it clears only what that text set. */
void sr_linear_again(struct sr_linear_run *run);
void sr_linear_feed(struct sr_linear_run *run, struct sr_bytes piece);
/* `logits` (before the temperature) and `probabilities`: each [n_labels], or NULL. */
void sr_linear_end(struct sr_linear_run *run, double *logits, float *probabilities);

#endif

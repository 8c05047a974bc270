/*
 * The interface between users of a classification and classifiers.
 *
 * The linear tier answers at once on the calling thread; a neural tier may answer later, from a batch on
 * another thread. Callers handle both: start() says which it was. Handles are immutable and counted, so a
 * configuration snapshot, a running job and a cascade may share one. Nothing here knows rules or thresholds.
 */
#ifndef SR_MODEL_CLASSIFIER_H
#define SR_MODEL_CLASSIFIER_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/ref.h"

#include <stdint.h>

#define SR_CLASSIFIER_LABELS_MAX 64u

struct sr_classifier;
struct sr_classifier_job;

struct sr_classifier_ops {
    const char *name; /* the tier as users see it: "linear", "neural" */
    /* Mandatory, any thread, must not block on I/O. See sr_classifier_start. */
    int (*start)(struct sr_classifier *self, struct sr_classifier_job *job);
    /* Optional (NULL: nothing is ever late). Any thread: drops a late job if it has not begun; `done` still
     * comes exactly once, with SR_ECANCELED when the job was dropped. */
    void (*cancel)(struct sr_classifier *self, struct sr_classifier_job *job);
    /* Optional. Any thread: as `cancel`, but where another tier has answered already its answer stands, and
     * `done` comes with SR_OK; else with SR_ETIMEOUT. */
    void (*settle)(struct sr_classifier *self, struct sr_classifier_job *job);
    /* With `cancel`: after the answer to a job whose start did not fail, any thread, when no caller will
     * cancel it any more: frees what was kept for it. */
    void (*release)(struct sr_classifier *self, struct sr_classifier_job *job);
    /* Mandatory. Called by the last unref, on its thread, when no job is in progress. */
    void (*free)(struct sr_classifier *self);
};

/* First member of every implementation. Set once by its constructor, constant afterwards. */
struct sr_classifier {
    const struct sr_classifier_ops *ops;
    struct sr_ref ref;
    const char *task;          /* "domain" */
    const char *const *labels; /* [n_labels] */
    size_t n_labels;           /* 1..SR_CLASSIFIER_LABELS_MAX */
    uint32_t ns_per_kib;       /* price of 1 KiB of text on one core, to order tiers by */
};

/* Owned by the caller, who keeps it and the text's bytes unchanged until the answer is there. */
struct sr_classifier_job {
    struct sr_bytes text; /* UTF-8; broken sequences separate words */
    uint64_t salt;        /* texts of different salts do not share what is remembered; 0: shared */
    float *probabilities; /* [n_labels], written; calibrated, sums to 1 */
    const char *tier;     /* written: whose answer it is, as ops->name of that tier */
    size_t read_bytes;    /* written: of the text's beginning that were read */
    /* Called exactly once for a late answer, on a thread of the implementation: must be short and not block
     * (post to a mailbox). `status` is SR_OK or why there is no answer. Unused when start() did not return
     * SR_AGAIN; NULL then allowed for tiers that always answer at once. */
    void (*done)(struct sr_classifier_job *job, int status);
    void *owner; /* the caller's */
    void *state; /* the implementation's, until release */
};

/* SR_OK: answered, the probabilities are written. SR_AGAIN: `done` will be called. SR_EBUSY: the queue is
 * full, ask another tier. Any other error: no answer, `done` is not called. */
static inline int sr_classifier_start(struct sr_classifier *c, struct sr_classifier_job *job)
{
    return c->ops->start(c, job);
}

/* Does it ever answer late? */
static inline bool sr_classifier_is_late(const struct sr_classifier *c)
{
    return c->ops->cancel != NULL;
}

/* After SR_AGAIN, any thread; does nothing where answers are never late or the answer was given. */
static inline void sr_classifier_cancel(struct sr_classifier *c, struct sr_classifier_job *job)
{
    if (c->ops->cancel)
        c->ops->cancel(c, job);
}

/* As sr_classifier_cancel, for an answer that comes too late. */
static inline void sr_classifier_settle(struct sr_classifier *c, struct sr_classifier_job *job)
{
    if (c->ops->settle)
        c->ops->settle(c, job);
    else
        sr_classifier_cancel(c, job);
}

static inline void sr_classifier_release(struct sr_classifier *c, struct sr_classifier_job *job)
{
    if (c->ops->release)
        c->ops->release(c, job);
}

static inline struct sr_classifier *sr_classifier_ref(struct sr_classifier *c)
{
    sr_ref_get(&c->ref);
    return c;
}

/* NULL is allowed. */
static inline void sr_classifier_unref(struct sr_classifier *c)
{
    if (c && sr_ref_put(&c->ref))
        c->ops->free(c);
}

/* Index of the largest of `n` probabilities, the first on a tie; 0 when n is 0. */
size_t sr_classifier_top(const float *probabilities, size_t n);

/* Shannon entropy over log(n): 0 = certain, 1 = knows nothing. 0 when n < 2. */
float sr_classifier_entropy(const float *probabilities, size_t n);

#endif

/* What the neural classifier's memory (table.c), who waits for what (wait.c, begin.c),
 * readings of texts (read.c), windows (window.c) and texts that still grow (growing.c)
 * share. Private to the unit. */
#ifndef SR_INFER_CLASSIFIER_PRIVATE_H
#define SR_INFER_CLASSIFIER_PRIVATE_H

#include "base/hash.h"
#include "base/ref.h"
#include "infer/classifier/neural.h"

#include <pthread.h>

#define SR_NEURAL_BUCKETS 4096u

enum sr_neural_kind { SR_NEURAL_TEXT, SR_NEURAL_WINDOW };

struct sr_neural_key {
    uint8_t digest[SR_SHA256_SIZE]; /* of the text; of a window's ids, template included */
    uint64_t salt;
    enum sr_neural_kind kind;
};

/* What the table holds, first member of readings and windows. Under the neural classifier's lock, but for the
 * count and the key. */
struct sr_neural_item {
    struct sr_ref ref;
    struct sr_neural_key key;
    bool listed, done;
    size_t memory; /* bytes of all of it, once it is done */
    struct sr_neural_item *chain, *newer, *older;
};

struct sr_neural {
    struct sr_ref ref;
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    struct sr_neural_options options;
    uint32_t heads;                     /* those that are run */
    int token_head;                     /* -1: none */
    size_t place[SR_ENCODER_HEADS_MAX]; /* of a sequence head in a window's probabilities */
    size_t stride;                      /* probabilities of one window */
    struct sr_bio bio;
    pthread_mutex_t lock; /* of everything below, and of the links of items */
    struct sr_neural_item *buckets[SR_NEURAL_BUCKETS];
    struct sr_neural_item *newest, *oldest; /* of the remembered */
    struct sr_neural_stats stats;
};

/* A window's place in a reading that waits for it. */
struct sr_neural_part {
    struct sr_neural_result *reading;
    struct sr_neural_window *window; /* a reference */
    struct sr_neural_part *next;     /* of those that wait for the window */
    bool waits;                      /* it is among them */
    bool own;                        /* the window is this reading's to submit */
};

/* What a window needs until it is done; the job holds one reference, a canceller another. */
struct sr_neural_work {
    struct sr_ref ref;
    struct sr_infer_job job;
    struct sr_neural_work *next; /* of those to cancel */
    float *token_logits;         /* [n_ids][n_labels] of the token head */
    int32_t *ids;
};

/* What the heads say of a sequence of ids, whatever text it is of. Immutable once done. */
struct sr_neural_window {
    struct sr_neural_item item;
    struct sr_neural *neural; /* a reference while it is in progress */
    uint32_t n_ids, n_tokens;
    bool keep;                   /* to be remembered: another text may have it */
    float *probabilities;        /* [stride] */
    struct sr_bio_token *tokens; /* [n_tokens]; NULL: none is of a type */
    uint64_t run_ns, wait_ns;
    bool good; /* under the neural classifier's lock: it is done, and all of this is there */
    /* Under the neural classifier's lock, until done: */
    enum sr_infer_priority priority;
    struct sr_neural_work *work;
    struct sr_neural_part *parts;
};

struct sr_neural_result {
    struct sr_neural_item item;
    const struct sr_neural *of; /* not a reference: for the places of heads, see neural.h */
    size_t place[SR_ENCODER_HEADS_MAX], stride;
    struct sr_neural_scope scope;
    float *probabilities;    /* [1 + windows][stride]; the first is the whole text */
    uint32_t *starts, *ends; /* [windows] */
    struct sr_bio_span *spans;
    size_t n_spans;
    /* Until it ended: */
    struct sr_arena arena; /* windows and parts */
    struct sr_windows windows;
    struct sr_neural_key *keys; /* [windows.n] */
    struct sr_neural_part *parts;
    bool ahead; /* one window of a text that still grows: there is no result */
    /* Under the neural classifier's lock: */
    enum sr_infer_priority priority; /* of the most urgent who asked */
    size_t open; /* parts that wait, and who begins or settles; at 0 one thread ends the reading */
    bool begun;  /* its parts have their windows */
    int status;
    struct sr_neural_wait *waits;
    struct sr_neural_result *next; /* of those that a window has completed */
};

/* ---- table.c: all under the neural classifier's lock ---- */

struct sr_neural_item *sr_neural_find(struct sr_neural *neural, const struct sr_neural_key *key);
void sr_neural_list(struct sr_neural *neural, struct sr_neural_item *item);
void sr_neural_unlist(struct sr_neural *neural, struct sr_neural_item *item); /* listed or not */

/* It is done and listed; takes over a reference of the caller. */
void sr_neural_remember(struct sr_neural *neural, struct sr_neural_item *item);

/* It was found, is done, and so is remembered; a reference for the caller. */
void sr_neural_renew(struct sr_neural *neural, struct sr_neural_item *item);

void sr_neural_forget_all(struct sr_neural *neural);

/* ---- begin.c ---- */

/* Reads what is not known of the reading's windows, with the caller's reference of it, and joins `wait` to it
 * or to one of the same key. Returns as sr_neural_read does. */
int sr_neural_begin(struct sr_neural *neural, struct sr_neural_result *reading,
                    enum sr_infer_priority priority, struct sr_neural_wait *wait) SR_WARN_UNUSED;

/* ---- wait.c: the first four under the neural classifier's lock ---- */

/* Joins the reading of that text that is there, done or in progress. SR_ENOENT: there is none. */
int sr_neural_join(struct sr_neural *neural, const struct sr_neural_key *key, enum sr_infer_priority priority,
                   struct sr_neural_wait *wait) SR_WARN_UNUSED;

/* Is the part's window worth remembering: will more text behind it leave it as it is? */
bool sr_neural_is_lasting(const struct sr_neural_part *part);

/* The part gets its window if it is remembered or in progress. */
bool sr_neural_take_known(struct sr_neural *neural, struct sr_neural_part *part,
                          const struct sr_neural_key *key);

void sr_neural_wait_for(struct sr_neural_part *part, struct sr_neural_window *window);

/* What the reading's own thread had to do is done, or has failed. As sr_neural_read; the waiter `own` has its
 * answer as what is returned. */
int sr_neural_begun(struct sr_neural *neural, struct sr_neural_result *reading, struct sr_neural_wait *own,
                    int rc) SR_WARN_UNUSED;

/* The window's job has ended, or cannot begin: remembers or forgets it and tells those that wait. Drops the
 * job's references. */
void sr_neural_window_ended(struct sr_neural_window *window, int status);

/* ---- window.c ---- */

/* The key of ids under a salt. */
int sr_neural_window_key(struct sr_neural_key *key, const int32_t *ids, size_t n_ids,
                         uint64_t salt) SR_WARN_UNUSED;

/* A window with its job, not submitted, without a priority; copies the ids. SR_ENOMEM. */
int sr_neural_window_new(struct sr_neural_window **out, struct sr_neural *neural, const struct sr_window *of,
                         const struct sr_neural_key *key) SR_WARN_UNUSED;
void sr_neural_window_unref(struct sr_neural_window *window);
void sr_neural_work_unref(struct sr_neural_work *work);

/* ---- read.c ---- */

/* Cuts the text. The reading is not visible to other threads yet; its key is the caller's to set. */
int sr_neural_result_new(struct sr_neural_result **out, struct sr_neural *neural,
                         struct sr_bytes text) SR_WARN_UNUSED;

/* The same of one window of a text that still grows. */
int sr_neural_result_ahead(struct sr_neural_result **out, struct sr_neural *neural,
                           const struct sr_window *of, uint64_t salt) SR_WARN_UNUSED;

/* The same of what was read of a text by now: of its windows those that are not NULL in `done` [windows.n].
 * The reading is kept open meanwhile. */
int sr_neural_result_part(struct sr_neural_result **out, const struct sr_neural_result *of,
                          struct sr_neural_window *const *done) SR_WARN_UNUSED;

/* All windows are done: the result, and what was needed for it is freed. Returns the reading's status. */
int sr_neural_result_finish(struct sr_neural_result *reading, int status) SR_WARN_UNUSED;

#endif

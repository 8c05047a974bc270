/* What the judge's memory (judge_table.c), who waits for what (judge_wait.c, judge_begin.c), readings of
 * texts (judge_read.c), windows (judge_window.c) and texts that still grow (judge_growing.c) share. Private
 * to the unit. */
#ifndef SR_INFER_CLASSIFIER_PRIVATE_H
#define SR_INFER_CLASSIFIER_PRIVATE_H

#include "base/hash.h"
#include "base/ref.h"
#include "infer/classifier/neural.h"

#include <pthread.h>

#define SR_JUDGE_BUCKETS 4096u

enum sr_judge_kind { SR_JUDGE_TEXT, SR_JUDGE_WINDOW };

struct sr_judge_key {
    uint8_t digest[SR_SHA256_SIZE]; /* of the text; of a window's ids, template included */
    uint64_t salt;
    enum sr_judge_kind kind;
};

/* What the table holds, first member of readings and windows. Under the judge's lock, but for the count and
 * the key. */
struct sr_judge_item {
    struct sr_ref ref;
    struct sr_judge_key key;
    bool listed, done;
    size_t memory; /* bytes of all of it, once it is done */
    struct sr_judge_item *chain, *newer, *older;
};

struct sr_judge {
    struct sr_ref ref;
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    struct sr_judge_options options;
    uint32_t heads;                     /* those that are run */
    int token_head;                     /* -1: none */
    size_t place[SR_ENCODER_HEADS_MAX]; /* of a sequence head in a window's probabilities */
    size_t stride;                      /* probabilities of one window */
    struct sr_bio bio;
    pthread_mutex_t lock; /* of everything below, and of the links of items */
    struct sr_judge_item *buckets[SR_JUDGE_BUCKETS];
    struct sr_judge_item *newest, *oldest; /* of the remembered */
    struct sr_judge_stats stats;
};

/* A window's place in a reading that waits for it. */
struct sr_judge_part {
    struct sr_judge_reading *reading;
    struct sr_judge_window *window; /* a reference */
    struct sr_judge_part *next;     /* of those that wait for the window */
    bool waits;                     /* it is among them */
    bool own;                       /* the window is this reading's to submit */
};

/* What a window needs until it is done; the job holds one reference, whoever cancels it another. */
struct sr_judge_work {
    struct sr_ref ref;
    struct sr_infer_job job;
    struct sr_judge_work *next; /* of those to cancel */
    float *token_logits;        /* [n_ids][n_labels] of the token head */
    int32_t *ids;
};

/* What the heads say of a sequence of ids, whatever text it is of. Immutable once done. */
struct sr_judge_window {
    struct sr_judge_item item;
    struct sr_judge *judge; /* a reference while it is under way */
    uint32_t n_ids, n_tokens;
    bool keep;                   /* to be remembered: another text may have it */
    float *probabilities;        /* [stride] */
    struct sr_bio_token *tokens; /* [n_tokens]; NULL: none is of a type */
    uint64_t run_ns, wait_ns;
    bool good; /* under the judge's lock: it is done, and all of this is there */
    /* Under the judge's lock, until done: */
    enum sr_infer_priority priority;
    struct sr_judge_work *work;
    struct sr_judge_part *parts;
};

struct sr_judge_reading {
    struct sr_judge_item item;
    const struct sr_judge *of; /* not a reference: for the places of heads, see judge.h */
    size_t place[SR_ENCODER_HEADS_MAX], stride;
    struct sr_judge_scope scope;
    float *probabilities;    /* [1 + windows][stride]; the first is the whole text */
    uint32_t *starts, *ends; /* [windows] */
    struct sr_bio_span *spans;
    size_t n_spans;
    /* Until it ended: */
    struct sr_arena arena; /* windows and parts */
    struct sr_windows windows;
    struct sr_judge_key *keys; /* [windows.n] */
    struct sr_judge_part *parts;
    bool ahead; /* one window of a text that still grows: there is no result */
    /* Under the judge's lock: */
    enum sr_infer_priority priority; /* of the most urgent who asked */
    size_t open; /* parts that wait, and who begins or settles; at 0 one thread ends the reading */
    bool begun;  /* its parts have their windows */
    int status;
    struct sr_judge_wait *waits;
    struct sr_judge_reading *next; /* of those that a window has completed */
};

/* ---- judge_table.c: all under the judge's lock ---- */

struct sr_judge_item *sr_judge_find(struct sr_judge *judge, const struct sr_judge_key *key);
void sr_judge_list(struct sr_judge *judge, struct sr_judge_item *item);
void sr_judge_unlist(struct sr_judge *judge, struct sr_judge_item *item); /* listed or not */

/* It is done and listed; takes over a reference of the caller. */
void sr_judge_remember(struct sr_judge *judge, struct sr_judge_item *item);

/* It was found, is done, and so is remembered; a reference for the caller. */
void sr_judge_renew(struct sr_judge *judge, struct sr_judge_item *item);

void sr_judge_forget_all(struct sr_judge *judge);

/* ---- judge_begin.c ---- */

/* Reads what is not known of the reading's windows, with the caller's reference of it, and joins `wait` to it
 * or to one of the same key. Returns as sr_judge_read does. */
int sr_judge_begin(struct sr_judge *judge, struct sr_judge_reading *reading, enum sr_infer_priority priority,
                   struct sr_judge_wait *wait) SR_WARN_UNUSED;

/* ---- judge_wait.c: the first four under the judge's lock ---- */

/* Joins the reading of that text that is there, done or under way. SR_ENOENT: there is none. */
int sr_judge_join(struct sr_judge *judge, const struct sr_judge_key *key, enum sr_infer_priority priority,
                  struct sr_judge_wait *wait) SR_WARN_UNUSED;

/* Is the part's window worth remembering: will more text behind it leave it as it is? */
bool sr_judge_is_lasting(const struct sr_judge_part *part);

/* The part gets its window if it is remembered or under way. */
bool sr_judge_take_known(struct sr_judge *judge, struct sr_judge_part *part, const struct sr_judge_key *key);

void sr_judge_wait_for(struct sr_judge_part *part, struct sr_judge_window *window);

/* What the reading's own thread had to do is done, or has failed. As sr_judge_read; whoever is `own` has its
 * answer as what is returned. */
int sr_judge_begun(struct sr_judge *judge, struct sr_judge_reading *reading, struct sr_judge_wait *own,
                   int rc) SR_WARN_UNUSED;

/* The window's job has ended, or cannot begin: remembers or forgets it and tells those that wait. Drops the
 * job's references. */
void sr_judge_window_ended(struct sr_judge_window *window, int status);

/* ---- judge_window.c ---- */

/* The key of ids under a salt. */
int sr_judge_window_key(struct sr_judge_key *key, const int32_t *ids, size_t n_ids,
                        uint64_t salt) SR_WARN_UNUSED;

/* A window with its job, not submitted, without a priority; copies the ids. SR_ENOMEM. */
int sr_judge_window_new(struct sr_judge_window **out, struct sr_judge *judge, const struct sr_window *of,
                        const struct sr_judge_key *key) SR_WARN_UNUSED;
void sr_judge_window_unref(struct sr_judge_window *window);
void sr_judge_work_unref(struct sr_judge_work *work);

/* ---- judge_read.c ---- */

/* Cuts the text. The reading is not visible to anybody yet; its key is the caller's to set. */
int sr_judge_reading_new(struct sr_judge_reading **out, struct sr_judge *judge,
                         struct sr_bytes text) SR_WARN_UNUSED;

/* The same of one window of a text that still grows. */
int sr_judge_reading_ahead(struct sr_judge_reading **out, struct sr_judge *judge, const struct sr_window *of,
                           uint64_t salt) SR_WARN_UNUSED;

/* The same of what was read of a text by now: of its windows those that are not NULL in `done` [windows.n].
 * The reading is kept open meanwhile. */
int sr_judge_reading_part(struct sr_judge_reading **out, const struct sr_judge_reading *of,
                          struct sr_judge_window *const *done) SR_WARN_UNUSED;

/* All windows are done: the result, and what was needed for it is freed. Returns the reading's status. */
int sr_judge_reading_finish(struct sr_judge_reading *reading, int status) SR_WARN_UNUSED;

#endif

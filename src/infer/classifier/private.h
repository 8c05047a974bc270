/*
 * What the files of the neural classifier share. Private to the unit; calls go down this list only:
 *   growing.c  a text that still arrives
 *   read.c     a text is asked for: what is not known of it becomes jobs
 *   ask.c      who asks for which result, which result needs which window; how they end
 *   result.c   the windows of a text, and what becomes of their answers
 *   neural.c   life and heads
 *   window.c   one window: its ids as a job, and what the heads' logits become
 *   pending.c  what is pending by its key; what is done goes to the memo
 */
#ifndef SR_INFER_CLASSIFIER_PRIVATE_H
#define SR_INFER_CLASSIFIER_PRIVATE_H

#include "infer/classifier/neural.h"

#include <pthread.h>

#define SR_NEURAL_BUCKETS 1024u

/* First member of results and windows. Its key has the SHA-256 of the text, or of a window's ids, template
 * included. */
struct sr_neural_item {
    struct sr_memo_entry entry;
    /* Under the neural classifier's lock: */
    bool listed, done; /* listed: it is pending and may be found */
    struct sr_neural_item *chain;
};

struct sr_neural {
    struct sr_ref ref;
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    struct sr_neural_options options;
    uint32_t heads;                      /* those that are run */
    int token_head;                      /* -1: none */
    size_t offset[SR_ENCODER_HEADS_MAX]; /* of a sequence head in a window's probabilities */
    size_t stride;                       /* probabilities of one window */
    struct sr_bio bio;
    bool spaced; /* the vocabulary marks tokens that stand behind a space */
    struct sr_memo *memo;
    uint64_t texts, window_ids; /* readers in the memo's keys */
    pthread_mutex_t lock;       /* of everything below, and of the links of items; before those of the memo */
    struct sr_neural_item *buckets[SR_NEURAL_BUCKETS]; /* of the pending */
    struct sr_neural_stats stats;
};

/* A result needs a window. */
struct sr_neural_link {
    struct sr_neural_result *result;
    struct sr_neural_window *window; /* a reference */
    struct sr_neural_link *next;     /* of those that wait for the window */
    bool waits;                      /* it is among them */
    bool own;                        /* the window is this result's to submit */
};

/* What a window needs until it is done; the job holds one reference, a canceller another. */
struct sr_neural_work {
    struct sr_ref ref;
    struct sr_infer_job job;
    struct sr_neural_work *next; /* of those to cancel */
    float *token_logits;         /* [n_ids][n_labels] of the token head */
    int32_t *ids;
};

/* The output of the heads for a sequence of ids, independent of the text. Immutable once done. */
struct sr_neural_window {
    struct sr_neural_item item;
    struct sr_neural *neural;                                   /* a reference while it is pending */
    void (*ended)(struct sr_neural_window *window, int status); /* its job has ended; see ask.c */
    uint32_t n_ids, n_tokens;
    bool keep;                   /* to be remembered: another text may have it */
    float *probabilities;        /* [stride] */
    struct sr_bio_token *tokens; /* [n_tokens]; NULL: none is of a type */
    uint64_t run_ns, wait_ns;
    bool good; /* under the neural classifier's lock: it is done, and all of this is there */
    /* Under the neural classifier's lock, until done: */
    enum sr_infer_priority priority;
    struct sr_neural_work *work;
    struct sr_neural_link *links; /* that wait for it */
};

struct sr_neural_result {
    struct sr_neural_item item;
    const struct sr_neural *of; /* not a reference: for the places of heads, see neural.h */
    size_t offset[SR_ENCODER_HEADS_MAX], stride;
    struct sr_neural_scope scope;
    float *probabilities;    /* [1 + windows][stride]; the first is the whole text */
    uint32_t *starts, *ends; /* [windows] */
    struct sr_bio_span *spans;
    size_t n_spans;
    /* Until it ended: */
    struct sr_arena arena; /* windows and links */
    struct sr_windows windows;
    uint8_t *cases;           /* [windows.read] enum sr_word_case of the tokens; NULL: they say nothing */
    struct sr_memo_key *keys; /* [windows.n] */
    struct sr_neural_link *links;
    bool prefetch; /* one window of a text that still arrives: there is no content */
    /* Under the neural classifier's lock: */
    enum sr_infer_priority priority; /* of the most urgent who asked */
    uint64_t client, deadline_ns;    /* of the first, and what it asked for before */
    struct sr_span_ref origin;
    size_t before, before_jobs;
    size_t open; /* links that wait, and threads that work on it; at 0 one thread ends the result */
    bool begun;  /* its links have their windows */
    int status;
    struct sr_neural_ask *asks;
    struct sr_neural_result *next; /* of those that a window has completed */
};

/* ---- pending.c: all under the neural classifier's lock ---- */

/* What is pending or remembered; a reference for the caller. NULL: neither. */
struct sr_neural_item *sr_neural_find(struct sr_neural *neural, const struct sr_memo_key *key) SR_WARN_UNUSED;
void sr_neural_list(struct sr_neural *neural, struct sr_neural_item *item);
void sr_neural_unlist(struct sr_neural *neural, struct sr_neural_item *item); /* listed or not */

/* It is not pending any more. `remember`: it goes to the memo unless it was unlisted before. */
void sr_neural_item_done(struct sr_neural *neural, struct sr_neural_item *item, bool remember);

/* ---- window.c ---- */

/* The key of a window under a salt. */
int sr_neural_window_key(struct sr_memo_key *key, const struct sr_neural *neural, const struct sr_window *of,
                         uint64_t salt) SR_WARN_UNUSED;

/* A window with its job, not submitted, without a priority and `ended`; copies the ids. SR_ENOMEM. */
int sr_neural_window_new(struct sr_neural_window **out, struct sr_neural *neural, const struct sr_window *of,
                         const struct sr_memo_key *key) SR_WARN_UNUSED;
void sr_neural_window_unref(struct sr_neural_window *window); /* NULL is allowed */
void sr_neural_work_unref(struct sr_neural_work *work);       /* NULL is allowed */

/* ---- result.c ---- */

/* Cuts the text. The result is not visible to other threads yet; its key is the caller's to set. */
int sr_neural_result_new(struct sr_neural_result **out, struct sr_neural *neural,
                         struct sr_bytes text) SR_WARN_UNUSED;

/* The same of one window of a text that still arrives. */
int sr_neural_result_prefetch(struct sr_neural_result **out, struct sr_neural *neural,
                              const struct sr_window *of, uint64_t salt) SR_WARN_UNUSED;

/* The same of what was read of a text by now: of its windows those that are not NULL in `done` [windows.n].
 * The caller keeps `of` open meanwhile. */
int sr_neural_result_partial(struct sr_neural_result **out, const struct sr_neural_result *of,
                             struct sr_neural_window *const *done) SR_WARN_UNUSED;

/* All windows are done: the content, and what was needed for it is freed. Returns the result's status. */
int sr_neural_result_finish(struct sr_neural_result *result, int status) SR_WARN_UNUSED;

/* ---- ask.c: the first five under the neural classifier's lock ---- */

/* The ask waits for a pending result. Takes the producer's reference of its task. */
void sr_neural_add_ask(struct sr_neural_result *result, struct sr_neural_ask *ask);

/* Joins the result of that text that is there, done or pending. SR_ENOENT: there is none. */
int sr_neural_join(struct sr_neural *neural, const struct sr_memo_key *key, enum sr_infer_priority priority,
                   struct sr_neural_ask *ask) SR_WARN_UNUSED;

/* Is the link's window final, so that it can be kept: does more text after it leave it unchanged? */
bool sr_neural_is_lasting(const struct sr_neural_link *link);

/* The link gets its window if it is remembered or pending. */
bool sr_neural_take_known(struct sr_neural *neural, struct sr_neural_link *link,
                          const struct sr_memo_key *key);

void sr_neural_wait_for(struct sr_neural_link *link, struct sr_neural_window *window);

/* What the result's own thread had to do is done, or has failed. As sr_neural_read; the waiter `own` has its
 * answer as what is returned. */
int sr_neural_begun(struct sr_neural *neural, struct sr_neural_result *result, struct sr_neural_ask *own,
                    int rc) SR_WARN_UNUSED;

/* The window's job has ended, or cannot begin: remembers or forgets it and notifies its waiters. Drops the
 * job's references. */
void sr_neural_window_ended(struct sr_neural_window *window, int status);

/* How an ask is stopped and expires. */
extern const struct sr_task_work sr_neural_ask_work;

/* ---- read.c ---- */

/* Reads what is not known of the result's windows, with the caller's reference of it, and joins `ask` to it
 * or to one of the same key. Returns as sr_neural_read does. */
int sr_neural_begin(struct sr_neural *neural, struct sr_neural_result *result,
                    enum sr_infer_priority priority, struct sr_neural_ask *ask) SR_WARN_UNUSED;

#endif

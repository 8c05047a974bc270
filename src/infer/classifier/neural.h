/*
 * The neural classifier: the answers of the heads on one shared trunk about a text, read whole and only once.
 *
 * A text is cut into windows; each window passes the trunk once for all heads, whichever signal asks first.
 * A second request for the same text joins the pending result; afterwards it is remembered by
 * the SHA-256 of the text, so that the next turn of a conversation costs its new text. Windows are full from
 * the start of a text on, and all but the last are remembered by the SHA-256 of their tokens: a text that has
 * grown, or that was read while it arrived, costs what is new of it. Knows no rules, no thresholds, no
 * requests. Counted; any thread.
 */
#ifndef SR_INFER_CLASSIFIER_NEURAL_H
#define SR_INFER_CLASSIFIER_NEURAL_H

#include "base/task.h"
#include "infer/classifier/bio.h"
#include "infer/engine/engine.h"
#include "infer/windows.h"
#include "model/memo.h"

struct sr_neural;
struct sr_neural_result; /* immutable once it is given out; counted */

struct sr_neural_options {
    struct sr_windows_options windows; /* max_tokens 0: all positions of the encoder; always full ones */
    struct sr_memo *memo;              /* for texts and windows; NULL: none are remembered */
    size_t text_bytes;                 /* of the longest text that is read; 0: SR_TOKENIZER_TEXT_MAX */
};

/* Windows of 256 tokens with 32 in common, as the bundled heads were trained, 1,024 windows of one text,
 * nothing is remembered. */
struct sr_neural_options sr_neural_defaults(void);
/* The same for a folder's own heads: windows of 512 tokens with 64 in common, or as many as the model has
 * positions. */
struct sr_neural_options sr_neural_own_defaults(void);

/* Uses the encoder's sequence and token heads, up to one of the latter. Keeps a reference of the memo;
 * `infer` outlives the neural classifier. SR_EUNSUPPORTED: it has none; errors of sr_bio_open; SR_ENOMEM. */
int sr_neural_new(struct sr_neural **out, struct sr_encoder *encoder, struct sr_infer *infer,
                  const struct sr_neural_options *options, struct sr_err *err) SR_WARN_UNUSED;
struct sr_neural *sr_neural_ref(struct sr_neural *neural);
void sr_neural_unref(struct sr_neural *neural); /* NULL is allowed */

/* The head of a task ("domain"), NULL when the neural classifier has none. */
const struct sr_head_info *sr_neural_head(const struct sr_neural *neural, const char *task);
/* Names of the entity types of the token head; NULL, 0 without one. */
const char *const *sr_neural_types(const struct sr_neural *neural, size_t *n);

/* A text that a caller asks for: a task (base/task.h) in the caller's object, initialised by the caller,
 * without a mailbox. */
struct sr_neural_ask {
    struct sr_task task;
    /* The caller's, before it asks; of struct sr_infer_job. 0: not known, no deadline. */
    uint64_t client, deadline_ns;
    struct sr_span_ref origin;
    size_t before, before_jobs;
    /* Before SR_AGAIN: what the text adds to the engine's queue. */
    size_t tokens, jobs;
    /* With SR_OK: a reference, for the task's `free` to drop. A partial result where the deadline passed. */
    struct sr_neural_result *result;
    /* The neural classifier's: */
    struct sr_neural *neural;
    struct sr_neural_ask *next;
    struct sr_neural_result *pending;
};

/* Reads `text`, which is not needed afterwards. `salt` separates what is remembered (a tenant; 0: shared).
 * SR_OK: ask->result is there, the task stays pending. SR_AGAIN: the task will be completed, on a thread of
 * the engine; from now on it may be cancelled, which drops work without other waiters, or expire: then
 * the result is of the windows that are done (scope.partial), SR_ETIMEOUT when none is; the others are
 * dropped unless they have other waiters. Otherwise no answer: SR_EBUSY (as of sr_infer_submit), SR_ELIMIT
 * (over text_bytes or SR_TOKENIZER_TEXT_MAX), SR_ENOMEM, SR_ECLOSED. Tokenizes on the calling thread: long
 * texts are for workers. Of priorities that meet at a window the first of the enum counts. */
int sr_neural_read(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
                   enum sr_infer_priority priority, struct sr_neural_ask *ask) SR_WARN_UNUSED;

/* The same, and waits; *out is the caller's reference. Not on an event loop. */
int sr_neural_read_wait(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
                        enum sr_infer_priority priority, struct sr_neural_result **out) SR_WARN_UNUSED;

struct sr_neural_result *sr_neural_result_ref(struct sr_neural_result *result);
void sr_neural_result_unref(struct sr_neural_result *result); /* NULL is allowed */

/* Everything below belongs to the result. The neural classifier outlives it. */
struct sr_neural_scope {
    size_t bytes, read_bytes; /* of the text, and those in a window; of a whole result these come first */
    size_t tokens, windows;   /* of the text; windows that were read */
    bool partial;             /* the deadline passed: windows are missing, anywhere */
    uint64_t run_ns, wait_ns; /* the longest of its windows, in a batch and in the queue */
};
struct sr_neural_scope sr_neural_scope(const struct sr_neural_result *result);

/* Calibrated probabilities [n_labels] of a sequence head (one of this neural classifier's) over the whole
 * text: the mean of its windows, weighted by their tokens. */
const float *sr_neural_text(const struct sr_neural_result *result, const struct sr_head_info *head);

/* The same of one window, and where it lies. */
const float *sr_neural_window(const struct sr_neural_result *result, const struct sr_head_info *head,
                              size_t window, uint32_t *start, uint32_t *end);

/* Spans of the token head, in the order of the text. */
const struct sr_bio_span *sr_neural_spans(const struct sr_neural_result *result, size_t *n);

/* A text that still arrives: its windows are read as soon as nothing that may follow changes them. Saves
 * time, never changes an answer: what is read here is found by its tokens, or is not found. One thread at a
 * time. */
struct sr_neural_growing;

/* Keeps a reference of the neural classifier. SR_ENOMEM. */
int sr_neural_growing_new(struct sr_neural_growing **out, struct sr_neural *neural,
                          uint64_t salt) SR_WARN_UNUSED;
void sr_neural_growing_free(struct sr_neural_growing *growing); /* NULL is allowed */

/* The text begins anew. */
void sr_neural_growing_begin(struct sr_neural_growing *growing);

/* More of the text. SR_ELIMIT: it is longer than texts may be, so none of it will be asked for.
 * SR_EUNSUPPORTED: there is no place to cut. SR_ENOMEM. After an error nothing more is read of it. */
int sr_neural_growing_feed(struct sr_neural_growing *growing, struct sr_bytes piece) SR_WARN_UNUSED;

/* Reads the next window that is complete (SR_INFER_PREFETCH). SR_ENOENT: there is none. Else as
 * sr_neural_read; ask->result has no content, it is only to be unreferenced. */
int sr_neural_growing_read(struct sr_neural_growing *growing, struct sr_neural_ask *ask) SR_WARN_UNUSED;

/* SR_EBUSY: a text of roughly so many tokens would be refused now, see sr_infer_room. Any thread. */
int sr_neural_room(const struct sr_neural *neural, uint64_t client, size_t tokens,
                   uint64_t deadline_ns) SR_WARN_UNUSED;

/* True while so much waits for the engine that reading ahead would only take time from others. Any thread. */
bool sr_neural_is_busy(const struct sr_neural *neural);

struct sr_neural_stats {
    uint64_t read, joined, remembered;    /* texts begun, joined while pending, from the memo */
    uint64_t expired;                     /* asks whose deadline passed */
    uint64_t windows_read, windows_known; /* windows begun, and found or joined */
};
struct sr_neural_stats sr_neural_stats(struct sr_neural *neural);

#endif

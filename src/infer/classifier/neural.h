/*
 * The judge: what the heads on one shared trunk say of a text, read whole and only once.
 *
 * A text is cut into windows; each window passes the trunk once for all heads, whichever signal asks first.
 * Whoever asks for the same text meanwhile joins the reading that is under way; afterwards it is remembered
 * by the SHA-256 of the text, so that the next turn of a conversation costs its new text. Windows are full
 * from the start of a text on, and all but the last are remembered by the SHA-256 of their tokens: a text
 * that has grown, or that was read while it arrived, costs what is new of it. Knows no rules, no thresholds,
 * no requests. Counted; any thread.
 */
#ifndef SR_INFER_CLASSIFIER_NEURAL_H
#define SR_INFER_CLASSIFIER_NEURAL_H

#include "infer/classifier/bio.h"
#include "infer/engine/engine.h"
#include "infer/windows.h"

struct sr_judge;
struct sr_judge_reading; /* immutable once it is given out; counted */

struct sr_judge_options {
    struct sr_windows_options windows; /* max_tokens 0: all positions of the encoder; always full ones */
    size_t memo_bytes;                 /* of remembered texts and windows; 0: none are kept */
    size_t text_bytes;                 /* of the longest text that is read; 0: SR_TOKENIZER_TEXT_MAX */
};

/* Windows of 256 tokens with 32 in common, 1,024 windows of one text, 16 MiB of memory. */
struct sr_judge_options sr_judge_defaults(void);

/* Uses the encoder's sequence and token heads, up to one of the latter. `infer` outlives the judge.
 * SR_EUNSUPPORTED: it has none; errors of sr_bio_open; SR_ENOMEM. */
int sr_judge_new(struct sr_judge **out, struct sr_encoder *encoder, struct sr_infer *infer,
                 const struct sr_judge_options *options, struct sr_err *err) SR_WARN_UNUSED;
struct sr_judge *sr_judge_ref(struct sr_judge *judge);
void sr_judge_unref(struct sr_judge *judge); /* NULL is allowed */

/* The head of a task ("domain"), NULL when the judge has none. */
const struct sr_head_info *sr_judge_head(const struct sr_judge *judge, const char *task);
/* Names of the entity types of the token head; NULL, 0 without one. */
const char *const *sr_judge_types(const struct sr_judge *judge, size_t *n);

/* One who asks. The caller's memory, unchanged until `done` was called. */
struct sr_judge_wait {
    /* Exactly once after SR_AGAIN, on a thread of the engine or inside sr_judge_leave: short, does not block,
     * asks nothing. With SR_OK `reading` is the waiter's, to unref. */
    void (*done)(struct sr_judge_wait *wait, int status);
    void *owner; /* the caller's */
    struct sr_judge_reading *reading;
    /* The judge's: */
    struct sr_judge_wait *next;
    struct sr_judge_reading *under_way;
};

/* Reads `text`, which is not needed afterwards. `salt` separates what is remembered (a tenant; 0: shared).
 * SR_OK: wait->reading is there, `done` is not called. SR_AGAIN: `done` will be called. Otherwise no answer:
 * SR_EBUSY (the queue is full), SR_ELIMIT (over text_bytes or SR_TOKENIZER_TEXT_MAX), SR_ENOMEM, SR_ECLOSED.
 * Tokenizes on the calling thread: long texts are for workers. Of priorities that meet at a window the first
 * of the enum counts. */
int sr_judge_read(struct sr_judge *judge, struct sr_bytes text, uint64_t salt,
                  enum sr_infer_priority priority, struct sr_judge_wait *wait) SR_WARN_UNUSED;

/* After SR_AGAIN, any thread: waits no more. `done` is called in here with SR_ECANCELED, unless it was called
 * already or is being called now. Work that nobody waits for is dropped. */
void sr_judge_leave(struct sr_judge *judge, struct sr_judge_wait *wait);

/* After SR_AGAIN, any thread, not while sr_judge_leave may be called for the same wait: what is read by now
 * is enough. `done` is called in here, with SR_OK and a reading of those windows that are done (scope.part),
 * or with SR_ETIMEOUT when none is; unless all was read, and `done` was called already or is being called
 * now. Work that nobody else waits for is dropped; windows that are done stay remembered. */
void sr_judge_settle(struct sr_judge *judge, struct sr_judge_wait *wait);

struct sr_judge_reading *sr_judge_reading_ref(struct sr_judge_reading *reading);
void sr_judge_reading_unref(struct sr_judge_reading *reading); /* NULL is allowed */

/* Everything below belongs to the reading, which the judge must outlive. */
struct sr_judge_scope {
    size_t bytes, read_bytes; /* of the text, and those in a window; but for a part these come first */
    size_t tokens, windows;   /* of the text; windows that were read */
    bool part;                /* it was settled: windows are missing, anywhere */
    uint64_t run_ns, wait_ns; /* the longest of its windows, in a batch and in the queue */
};
struct sr_judge_scope sr_judge_scope(const struct sr_judge_reading *reading);

/* Calibrated probabilities [n_labels] of a sequence head (one of this judge's) over the whole text: the mean
 * of its windows, weighted by their tokens. */
const float *sr_judge_text(const struct sr_judge_reading *reading, const struct sr_head_info *head);

/* The same of one window, and where it lies. */
const float *sr_judge_window(const struct sr_judge_reading *reading, const struct sr_head_info *head,
                             size_t window, uint32_t *start, uint32_t *end);

/* Spans of the token head, in the order of the text. */
const struct sr_bio_span *sr_judge_spans(const struct sr_judge_reading *reading, size_t *n);

/* A text that still arrives: its windows are read as soon as nothing that may follow changes them. Saves
 * time, never changes an answer: what is read here is found by its tokens, or is not found. One thread at a
 * time. */
struct sr_judge_growing;

/* Keeps a reference of the judge. SR_ENOMEM. */
int sr_judge_growing_new(struct sr_judge_growing **out, struct sr_judge *judge, uint64_t salt) SR_WARN_UNUSED;
void sr_judge_growing_free(struct sr_judge_growing *growing); /* NULL is allowed */

/* The text begins anew. */
void sr_judge_growing_begin(struct sr_judge_growing *growing);

/* More of the text. SR_ELIMIT: it is longer than texts may be, so none of it will be asked for.
 * SR_EUNSUPPORTED: there is no place to cut. SR_ENOMEM. After an error nothing more is read of it. */
int sr_judge_growing_feed(struct sr_judge_growing *growing, struct sr_bytes piece) SR_WARN_UNUSED;

/* Reads the next window that is complete, ahead of everybody (SR_INFER_AHEAD). SR_ENOENT: there is none. Else
 * as sr_judge_read; wait->reading has no result, it is only to be unreferenced. */
int sr_judge_growing_read(struct sr_judge_growing *growing, struct sr_judge_wait *wait) SR_WARN_UNUSED;

struct sr_judge_stats {
    uint64_t read, joined, remembered,
        dropped;                          /* texts begun, joined under way, from memory; items evicted */
    uint64_t settled;                     /* waiters that were content with a part */
    uint64_t windows_read, windows_known; /* windows begun, and found or joined */
    size_t memo_bytes, memo_items;        /* items: texts and windows */
};
struct sr_judge_stats sr_judge_stats(struct sr_judge *judge);

#endif

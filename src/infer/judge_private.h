/* What the judge's memory (judge.c) and its readings (judge_read.c) share. Private to the unit. */
#ifndef SR_INFER_JUDGE_PRIVATE_H
#define SR_INFER_JUDGE_PRIVATE_H

#include "base/hash.h"
#include "base/ref.h"
#include "infer/judge.h"

#include <pthread.h>
#include <stdatomic.h>

#define SR_JUDGE_BUCKETS 4096u

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
    pthread_mutex_t lock; /* of everything below, and of the links of readings */
    struct sr_judge_reading *buckets[SR_JUDGE_BUCKETS];
    struct sr_judge_reading *newest, *oldest; /* of the remembered */
    struct sr_judge_stats stats;
};

struct sr_judge_key {
    uint8_t digest[SR_SHA256_SIZE];
    uint64_t salt;
};

/* What a reading needs until it is done. Jobs hold one reference together; whoever cancels them another. */
struct sr_judge_work {
    struct sr_ref ref;
    struct sr_arena arena; /* windows, jobs, logits */
    struct sr_windows windows;
    struct sr_infer_job *jobs;   /* [windows.n] */
    float *token_logits;         /* [total_ids][n_labels] of the token head */
    struct sr_bio_token *tokens; /* [windows.read] */
    atomic_size_t open;
    atomic_int status;
};

struct sr_judge_reading {
    struct sr_ref ref;
    const struct sr_judge *of; /* not a reference: for the places of heads, see judge.h */
    size_t place[SR_ENCODER_HEADS_MAX], stride;
    struct sr_judge_scope scope;
    float *probabilities;    /* [1 + windows][stride]; the first is the whole text */
    uint32_t *starts, *ends; /* [windows] */
    struct sr_bio_span *spans;
    size_t n_spans;
    size_t memory; /* bytes of all this */
    /* Under the judge's lock: */
    struct sr_judge_key key;
    bool listed, done;
    struct sr_judge_work *work; /* until done */
    struct sr_judge_wait *waits;
    struct sr_judge_reading *chain, *newer, *older;
};

/* Cuts the text, makes jobs. The reading is not visible to anybody yet. */
int sr_judge_reading_new(struct sr_judge_reading **out, struct sr_judge *judge, struct sr_bytes text,
                         enum sr_infer_priority priority) SR_WARN_UNUSED;
void sr_judge_work_unref(struct sr_judge_work *work);

/* The last job of `reading` is done, on its thread: its result is complete if status is SR_OK. */
void sr_judge_reading_ended(struct sr_judge *judge, struct sr_judge_reading *reading, int status);

#endif

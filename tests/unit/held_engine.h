/* An inference engine whose lanes are held: jobs that are submitted meanwhile wait, so that a test decides
 * how much is read. */
#ifndef TESTS_UNIT_HELD_ENGINE_H
#define TESTS_UNIT_HELD_ENGINE_H

#include "tests/unit/cmocka_all.h"

#include "infer/engine/engine.h"

#include <pthread.h>

#define HELD_LABELS_MAX 1024

#define HELD_LANES 2

struct held {
    struct sr_infer_job jobs[HELD_LANES];
    int32_t id;
    float out[HELD_LANES][HELD_LABELS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside, left; /* lanes */
    bool open;
};

/* On a lane's thread: it computes nothing until the test opens. */
static inline void held_done(struct sr_infer_job *job, int status)
{
    struct held *held = job->owner;
    (void)status;
    pthread_mutex_lock(&held->lock);
    held->inside++;
    pthread_cond_broadcast(&held->changed);
    while (!held->open)
        pthread_cond_wait(&held->changed, &held->lock);
    held->left++;
    pthread_cond_broadcast(&held->changed);
    pthread_mutex_unlock(&held->lock);
}

static inline void hold(struct held *held, struct sr_infer *infer, struct sr_encoder *encoder)
{
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    size_t head = 0;
    *held = (struct held){.id = 1};
    while (head < info->n_heads && info->heads[head].kind == SR_HEAD_TOKEN)
        head++;
    assert_true(head < info->n_heads && info->heads[head].n_labels <= HELD_LABELS_MAX);
    pthread_mutex_init(&held->lock, NULL);
    pthread_cond_init(&held->changed, NULL);
    static const enum sr_infer_priority lanes[HELD_LANES] = {SR_INFER_INTERACTIVE, SR_INFER_BULK};
    for (int i = 0; i < HELD_LANES; i++) {
        held->jobs[i] =
            (struct sr_infer_job){.encoder = encoder, .owner = held, .done = held_done, .priority = lanes[i]};
        held->jobs[i].item = (struct sr_encoder_item){.ids = &held->id, .n_ids = 1, .heads = 1u << head};
        held->jobs[i].item.out[head] = held->out[i];
        assert_int_equal(sr_infer_submit(infer, &held->jobs[i]), SR_OK);
    }
    pthread_mutex_lock(&held->lock);
    while (held->inside < HELD_LANES)
        pthread_cond_wait(&held->changed, &held->lock);
    pthread_mutex_unlock(&held->lock);
}

static inline void let_go(struct held *held)
{
    pthread_mutex_lock(&held->lock);
    held->open = true;
    pthread_cond_broadcast(&held->changed);
    while (held->left < HELD_LANES)
        pthread_cond_wait(&held->changed, &held->lock);
    pthread_mutex_unlock(&held->lock);
    pthread_cond_destroy(&held->changed);
    pthread_mutex_destroy(&held->lock);
}

#endif

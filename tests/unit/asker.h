/* A caller that asks a neural classifier for a text, and counts the results. */
#ifndef TESTS_UNIT_ASKER_H
#define TESTS_UNIT_ASKER_H

#include "tests/unit/cmocka_all.h"

#include "infer/classifier/neural.h"

#include <stddef.h>
#include <unistd.h>

struct asker {
    struct sr_neural_ask ask;
    atomic_int answers;
    atomic_bool freed;
    int status;
};

static inline struct asker *asker_of(struct sr_task *task)
{
    return (struct asker *)((char *)task - offsetof(struct asker, ask.task));
}

static inline void asker_done(struct sr_task *task, int status)
{
    asker_of(task)->status = status;
    atomic_fetch_add(&asker_of(task)->answers, 1);
}

static inline void asker_free(struct sr_task *task)
{
    atomic_store(&asker_of(task)->freed, true);
}

static inline void asker_init(struct asker *asker)
{
    *asker = (struct asker){.status = SR_AGAIN};
    atomic_init(&asker->answers, 0);
    atomic_init(&asker->freed, false);
    sr_task_init(&asker->ask.task, asker_done, asker_free, NULL);
}

/* The status of what returned `rc`. */
static inline int asker_wait(struct asker *asker, int rc)
{
    while (rc == SR_AGAIN && atomic_load(&asker->answers) == 0)
        usleep(100);
    return rc == SR_AGAIN ? asker->status : rc;
}

/* Nobody works for it any more; its result is dropped. */
static inline void asker_end(struct asker *asker)
{
    sr_task_unref(&asker->ask.task);
    while (!atomic_load(&asker->freed))
        usleep(100);
    sr_neural_result_unref(asker->ask.result);
}

#endif

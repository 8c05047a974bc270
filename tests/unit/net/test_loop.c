/* The loop: timers in any order, deferred calls, messages from other threads, stop. */
#include "tests/unit/cmocka_all.h"

#include "net/loop/loop.h"

#include <pthread.h>
#include <stdlib.h>

enum { timers = 300 };

struct bed {
    struct sr_loop *loop;
    struct sr_timer timer[timers];
    uint64_t asked[timers];
    bool fired[timers];
    size_t left;
    uint64_t latest;
};

struct probe {
    struct bed *bed;
    size_t index;
};

static void probe_fire(void *ctx)
{
    struct probe *probe = ctx;
    struct bed *bed = probe->bed;
    uint64_t now = sr_loop_now(bed->loop);
    assert_false(bed->fired[probe->index]);
    assert_true(now >= bed->asked[probe->index]);
    bed->fired[probe->index] = true;
    if (--bed->left == 0)
        sr_loop_stop(bed->loop);
}

static void timers_fire_once_and_never_early(void **state)
{
    struct bed *bed = calloc(1, sizeof *bed);
    struct probe probes[timers];
    (void)state;
    srand(7);
    assert_int_equal(sr_loop_new(&bed->loop), SR_OK);
    for (size_t i = 0; i < timers; i++) {
        probes[i] = (struct probe){bed, i};
        sr_timer_init(&bed->timer[i], bed->loop, probe_fire, &probes[i]);
    }
    /* Start, move earlier, move later, stop: the last word counts. */
    for (size_t round = 0; round < 4; round++)
        for (size_t i = 0; i < timers; i++) {
            uint64_t ms = (uint64_t)(rand() % 60);
            if (rand() % 5 == 0) {
                sr_timer_stop(&bed->timer[i]);
                continue;
            }
            sr_timer_start(&bed->timer[i], ms);
            bed->asked[i] = sr_loop_now(bed->loop) + ms;
        }
    for (size_t i = 0; i < timers; i++)
        bed->left += bed->timer[i].armed;
    assert_true(bed->left > timers / 2);
    sr_loop_run(bed->loop);
    for (size_t i = 0; i < timers; i++)
        assert_false(bed->timer[i].armed);
    sr_loop_free(bed->loop);
    free(bed);
}

struct task {
    struct sr_deferred deferred;
    struct sr_loop *loop;
    struct task *next;
    int *order;
    int seen;
};

static void task_run(void *ctx)
{
    struct task *task = ctx;
    task->seen = ++*task->order;
    if (task->next)
        sr_loop_defer(task->loop, &task->next->deferred);
    else
        sr_loop_stop(task->loop);
}

static void deferred_calls_keep_their_order(void **state)
{
    struct sr_loop *loop;
    struct task task[4] = {0};
    int order = 0;
    (void)state;
    assert_int_equal(sr_loop_new(&loop), SR_OK);
    for (int i = 0; i < 4; i++)
        task[i] =
            (struct task){.loop = loop, .order = &order, .deferred = {.run = task_run, .ctx = &task[i]}};
    task[0].next = &task[3];
    task[1].next = &task[3];
    task[2].next = &task[3];
    sr_loop_defer(loop, &task[0].deferred);
    sr_loop_defer(loop, &task[1].deferred);
    sr_loop_defer(loop, &task[0].deferred);
    sr_loop_defer(loop, &task[2].deferred);
    sr_deferred_cancel(&task[1].deferred);
    sr_deferred_cancel(&task[1].deferred);
    sr_loop_run(loop);
    assert_int_equal(task[0].seen, 1);
    assert_int_equal(task[1].seen, 0);
    assert_int_equal(task[2].seen, 2);
    assert_int_equal(task[3].seen, 3);
    sr_loop_free(loop);
}

struct letter {
    struct sr_message message;
    struct sr_loop *loop;
    int *count;
    int last;
    bool closed;
};

static void letter_run(struct sr_message *message, bool closed)
{
    struct letter *letter = (struct letter *)message;
    letter->closed = closed;
    if (++*letter->count == letter->last)
        sr_loop_stop(letter->loop);
}

static void *post_all(void *ctx)
{
    struct letter *letters = ctx;
    for (int i = 0; i < 100; i++)
        assert_int_equal(sr_loop_post(letters[i].loop, &letters[i].message), SR_OK);
    return NULL;
}

static void messages_come_from_other_threads(void **state)
{
    struct sr_loop *loop;
    struct letter letters[200], late = {0};
    pthread_t thread[2];
    int count = 0;
    (void)state;
    assert_int_equal(sr_loop_new(&loop), SR_OK);
    for (int i = 0; i < 200; i++)
        letters[i] =
            (struct letter){.message = {.run = letter_run}, .loop = loop, .count = &count, .last = 200};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, post_all, letters + 100 * i), 0);
    sr_loop_run(loop);
    assert_int_equal(count, 200);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    late = (struct letter){.message = {.run = letter_run}, .loop = loop, .count = &count};
    assert_int_equal(sr_loop_post(loop, &late.message), SR_OK);
    sr_loop_free(loop);
    assert_true(late.closed);
}

static void a_stop_before_the_run_counts(void **state)
{
    struct sr_loop *loop;
    (void)state;
    assert_int_equal(sr_loop_new(&loop), SR_OK);
    sr_loop_stop(loop);
    sr_loop_run(loop);
    sr_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_once_and_never_early),
        cmocka_unit_test(deferred_calls_keep_their_order),
        cmocka_unit_test(messages_come_from_other_threads),
        cmocka_unit_test(a_stop_before_the_run_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

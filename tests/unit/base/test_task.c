/* Tasks: each way to end, which callback runs on which thread, and that it runs once when threads race. */
#include "tests/unit/hand_loop.h"

#include "base/mem.h"
#include "base/task.h"

#include <sched.h>

static atomic_int alive; /* works that are not freed */

/* A task with a result, and what its ends have done. */
struct work {
    struct sr_task task;
    int result, partial; /* the producer's */
    int told, status, seen;
    enum sr_task_state state;
    int stopped, expired;
    int on_expire; /* what expire completes with; SR_AGAIN: it does not */
};

static struct work *work_of(struct sr_task *task)
{
    return (struct work *)((char *)task - offsetof(struct work, task));
}

static void work_done(struct sr_task *task, int status)
{
    struct work *work = work_of(task);
    work->told++;
    work->status = status;
    work->state = sr_task_state(task);
    if (status == SR_OK)
        work->seen = work->state == SR_TASK_EXPIRED ? work->partial : work->result;
}

static void work_free(struct sr_task *task)
{
    atomic_fetch_sub(&alive, 1);
    sr_mem_free(work_of(task));
}

static void work_stop(struct sr_task *task)
{
    work_of(task)->stopped++;
}

static void work_expire(struct sr_task *task)
{
    struct work *work = work_of(task);
    work->expired++;
    if (work->on_expire == SR_AGAIN)
        return;
    work->result = 5;
    sr_task_complete(task, work->on_expire);
}

static const struct sr_task_work stops = {.stop = work_stop};
static const struct sr_task_work both = {.stop = work_stop, .expire = work_expire};

/* Two references: the consumer's and the producer's. */
static struct work *work_new(struct sr_mailbox *mailbox)
{
    struct work *work = sr_mem_calloc(1, sizeof *work);
    assert_non_null(work);
    atomic_fetch_add(&alive, 1);
    sr_task_init(&work->task, work_done, work_free, mailbox);
    sr_task_ref(&work->task);
    return work;
}

static void check(struct work *work, enum sr_task_state state, int status)
{
    assert_int_equal(work->told, 1);
    assert_int_equal(work->status, status);
    assert_int_equal(work->state, state);
}

static void test_without_a_mailbox(void **state)
{
    (void)state;
    struct work *work = work_new(NULL);
    sr_task_begin(&work->task, &stops);
    assert_int_equal(sr_task_state(&work->task), SR_TASK_PENDING);
    work->result = 7;
    assert_true(sr_task_complete(&work->task, SR_OK));
    check(work, SR_TASK_DONE, SR_OK);
    assert_int_equal(work->seen, 7);
    sr_task_cancel(&work->task); /* too late */
    sr_task_expire(&work->task);
    check(work, SR_TASK_DONE, SR_OK);
    assert_int_equal(work->stopped, 0);
    assert_int_equal(sr_task_wait(&work->task), SR_OK);
    sr_task_unref(&work->task);

    work = work_new(NULL);
    sr_task_begin(&work->task, &stops);
    sr_task_cancel(&work->task);
    sr_task_cancel(&work->task);
    check(work, SR_TASK_CANCELLED, SR_ECANCELED);
    assert_int_equal(work->stopped, 1);
    assert_false(sr_task_complete(&work->task, SR_OK));
    check(work, SR_TASK_CANCELLED, SR_ECANCELED);
    sr_task_unref(&work->task);
    assert_int_equal(atomic_load(&alive), 0);
}

static void test_stopped_when_it_begins(void **state)
{
    (void)state;
    struct work *work = work_new(NULL);
    sr_task_cancel(&work->task);
    assert_int_equal(work->stopped, 0);
    sr_task_begin(&work->task, &stops);
    assert_int_equal(work->stopped, 1);
    assert_false(sr_task_complete(&work->task, SR_OK));
    sr_task_unref(&work->task);
    assert_int_equal(atomic_load(&alive), 0);
}

static void test_deadline(void **state)
{
    (void)state;
    /* Nothing is known. */
    struct work *work = work_new(NULL);
    sr_task_begin(&work->task, &stops);
    sr_task_expire(&work->task);
    check(work, SR_TASK_EXPIRED, SR_ETIMEOUT);
    assert_int_equal(work->stopped, 1);
    assert_false(sr_task_complete(&work->task, SR_OK));
    sr_task_unref(&work->task);
    /* A partial result was offered. */
    work = work_new(NULL);
    work->partial = 3;
    sr_task_offer_partial(&work->task);
    sr_task_begin(&work->task, &stops);
    sr_task_expire(&work->task);
    check(work, SR_TASK_EXPIRED, SR_OK);
    assert_int_equal(work->seen, 3);
    assert_false(sr_task_complete(&work->task, SR_OK));
    sr_task_unref(&work->task);
    /* The producer answers with what it has. */
    work = work_new(NULL);
    work->on_expire = SR_OK;
    sr_task_begin(&work->task, &both);
    sr_task_expire(&work->task);
    check(work, SR_TASK_DONE, SR_OK);
    assert_int_equal(work->seen, 5);
    assert_int_equal(work->stopped, 0);
    sr_task_unref(&work->task);
    assert_int_equal(atomic_load(&alive), 0);
}

static struct loop *loop_open(void)
{
    struct loop *loop = sr_mem_calloc(1, sizeof *loop);
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->posted, NULL);
    return loop;
}

static void loop_close(struct loop *loop)
{
    pthread_cond_destroy(&loop->posted);
    pthread_mutex_destroy(&loop->lock);
    sr_mem_free(loop);
}

static void test_mailbox(void **state)
{
    (void)state;
    struct loop *loop = loop_open();
    struct sr_mailbox *box = NULL;
    assert_int_equal(sr_mailbox_new(&box, loop_post, loop), SR_OK);
    struct work *work = work_new(box), *late = work_new(box), *silent = work_new(box);
    work->result = 7;
    assert_true(sr_task_complete(&work->task, SR_OK));
    assert_int_equal(work->told, 0);
    loop_turn(loop);
    check(work, SR_TASK_DONE, SR_OK);
    sr_task_unref(&work->task);

    /* It was complete, and not told: the deadline finds the result, the message nobody. */
    late->result = 8;
    assert_true(sr_task_complete(&late->task, SR_OK));
    sr_task_expire(&late->task);
    check(late, SR_TASK_DONE, SR_OK);
    assert_int_equal(late->seen, 8);
    loop_turn(loop);
    check(late, SR_TASK_DONE, SR_OK);
    sr_task_unref(&late->task);

    /* A producer that was to answer and does not: it is waited for, not for ever. */
    silent->on_expire = SR_AGAIN;
    sr_task_begin(&silent->task, &both);
    sr_task_expire(&silent->task);
    check(silent, SR_TASK_EXPIRED, SR_ETIMEOUT);
    assert_int_equal(silent->stopped, 1);
    assert_false(sr_task_complete(&silent->task, SR_OK));
    sr_task_unref(&silent->task);

    /* The receiver ends while one is on its way and another is worked on. */
    struct work *sent = work_new(box), *open = work_new(box);
    assert_true(sr_task_complete(&sent->task, SR_OK));
    sr_task_cancel(&sent->task);
    sr_task_cancel(&open->task);
    assert_int_equal(sent->status, SR_ECANCELED);
    sr_mailbox_close(box);
    assert_false(sr_task_complete(&open->task, SR_OK));
    sr_task_unref(&open->task);
    sr_task_unref(&sent->task);
    assert_int_equal(atomic_load(&alive), 1);
    loop_turn(loop);
    assert_int_equal(atomic_load(&alive), 0);
    loop_close(loop);
}

/* ---- several threads ---- */

#define ROUNDS 2000

struct race {
    atomic_int round;
    bool expires;
    struct work *works[ROUNDS + 1]; /* of each round */
};

static void *producer(void *arg)
{
    struct race *race = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        while (atomic_load(&race->round) < i)
            sched_yield();
        struct work *work = race->works[i];
        work->partial = i;
        if (i % 2)
            sr_task_offer_partial(&work->task);
        work->on_expire = SR_AGAIN;
        sr_task_begin(&work->task, race->expires ? &both : &stops);
        work->result = i;
        sr_task_complete(&work->task, SR_OK);
    }
    return NULL;
}

static void check_race(const struct work *work, int i)
{
    assert_int_equal(work->told, 1);
    if (work->state == SR_TASK_DONE)
        assert_int_equal(work->seen, i);
    else if (work->state == SR_TASK_EXPIRED)
        assert_int_equal(work->status, work->seen ? SR_OK : SR_ETIMEOUT);
    else
        assert_int_equal(work->status, SR_ECANCELED);
}

static void turn_if_posted(struct loop *loop, int more_than)
{
    pthread_mutex_lock(&loop->lock);
    int n = loop->n;
    pthread_mutex_unlock(&loop->lock);
    if (n > more_than)
        loop_turn(loop);
}

/* Against a consumer that cancels, that expires it, and that waits for its message. */
static void test_races_with_a_mailbox(void **state)
{
    struct loop *loop = loop_open();
    struct sr_mailbox *box = NULL;
    struct race race = {.expires = true};
    pthread_t thread;
    (void)state;
    assert_int_equal(sr_mailbox_new(&box, loop_post, loop), SR_OK);
    assert_int_equal(pthread_create(&thread, NULL, producer, &race), 0);
    for (int i = 1; i <= ROUNDS; i++) {
        struct work *work = work_new(box);
        race.works[i] = work;
        atomic_store(&race.round, i);
        for (int spin = i % 7; spin; spin--)
            sched_yield();
        if (i % 3 == 0)
            sr_task_cancel(&work->task);
        else if (i % 3 == 1)
            sr_task_expire(&work->task);
        while (!work->told)
            loop_turn(loop);
        check_race(work, i);
        sr_task_unref(&work->task);
        turn_if_posted(loop, 32);
    }
    pthread_join(thread, NULL);
    turn_if_posted(loop, 0);
    assert_int_equal(atomic_load(&alive), 0);
    sr_mailbox_close(box);
    loop_close(loop);
}

static void test_races_without_a_mailbox(void **state)
{
    struct race race = {.expires = false};
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, producer, &race), 0);
    for (int i = 1; i <= ROUNDS; i++) {
        struct work *work = work_new(NULL);
        race.works[i] = work;
        atomic_store(&race.round, i);
        for (int spin = i % 7; spin; spin--)
            sched_yield();
        if (i % 3 == 0)
            sr_task_cancel(&work->task);
        int status = sr_task_wait(&work->task);
        assert_true(status == SR_OK || (i % 3 == 0 && status == SR_ECANCELED));
        sr_task_unref(&work->task);
    }
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&alive), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_mailbox),
        cmocka_unit_test(test_stopped_when_it_begins),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_mailbox),
        cmocka_unit_test(test_races_with_a_mailbox),
        cmocka_unit_test(test_races_without_a_mailbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

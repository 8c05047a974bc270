/*
 * Worker threads: what is more urgent runs in the pauses of a long job, a job that nobody waits for stops,
 * and what others would make late is refused.
 */
#include "base/thread.h"

#include "base/clock.h"
#include "tests/unit/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define KIB   ((size_t)1024)
#define STEPS 32

/* The order in which jobs ended, and a gate that holds the first one. */
struct room {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool begun, open;
    char ended[16];
    size_t n;
};

struct work {
    struct sr_job job;
    struct room *room;
    char name;
    bool holds;        /* it waits in its first step until the room opens */
    struct work *next; /* submitted when it begins; or NULL */
    struct sr_workers *workers;
    struct timespec nap; /* of each step */
    atomic_bool stopped;
    int status; /* of its last pause */
};

static struct work *work_of(struct sr_job *job)
{
    return (struct work *)(void *)job; /* the first member */
}

static bool is_stopped(struct sr_job *job)
{
    return atomic_load(&work_of(job)->stopped);
}

static void wait_open(struct room *room)
{
    pthread_mutex_lock(&room->lock);
    room->begun = true;
    pthread_cond_broadcast(&room->changed);
    while (!room->open)
        pthread_cond_wait(&room->changed, &room->lock);
    pthread_mutex_unlock(&room->lock);
}

static void run(struct sr_job *job)
{
    struct work *work = work_of(job);
    if (work->next)
        assert_int_equal(sr_workers_submit(work->workers, &work->next->job, SR_JOB_INTERACTIVE), SR_OK);
    for (int i = 0; i < STEPS && work->status == SR_OK; i++) {
        if (work->holds && i == 0)
            wait_open(work->room);
        if (work->nap.tv_nsec)
            nanosleep(&work->nap, NULL);
        work->status = sr_job_pause(job->bytes / STEPS);
    }
    pthread_mutex_lock(&work->room->lock);
    work->room->ended[work->room->n++] = work->name;
    pthread_cond_broadcast(&work->room->changed);
    pthread_mutex_unlock(&work->room->lock);
}

static struct work work_in(struct room *room, char name, size_t bytes)
{
    return (struct work){
        .job = {.run = run, .is_stopped = is_stopped, .bytes = bytes}, .room = room, .name = name};
}

static void submit(struct sr_workers *workers, struct work *work)
{
    assert_int_equal(sr_workers_submit(workers, &work->job, SR_JOB_INTERACTIVE), SR_OK);
}

static void wait_begun(struct room *room)
{
    pthread_mutex_lock(&room->lock);
    while (!room->begun)
        pthread_cond_wait(&room->changed, &room->lock);
    pthread_mutex_unlock(&room->lock);
}

static void open_room(struct room *room)
{
    pthread_mutex_lock(&room->lock);
    room->open = true;
    pthread_cond_broadcast(&room->changed);
    pthread_mutex_unlock(&room->lock);
}

static void wait_ended(struct room *room, size_t n)
{
    pthread_mutex_lock(&room->lock);
    while (room->n < n)
        pthread_cond_wait(&room->changed, &room->lock);
    pthread_mutex_unlock(&room->lock);
}

#define ROOM                                                                                                 \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                               \
    }

/* One thread reads a long text; a short one and one of the same length come meanwhile. */
static void test_short_work_overtakes(void **state)
{
    struct room room = ROOM;
    struct sr_workers *workers;
    struct work first = work_in(&room, 'L', 400 * KIB), same = work_in(&room, 'S', 400 * KIB),
                brief = work_in(&room, 'b', 40 * KIB);
    (void)state;
    first.holds = true;
    assert_int_equal(sr_workers_new(&workers, 1, 8), SR_OK);
    submit(workers, &first);
    wait_begun(&room);
    submit(workers, &same);
    submit(workers, &brief);
    open_room(&room);
    wait_ended(&room, 3);
    assert_string_equal(room.ended, "bLS");
    assert_int_equal(sr_workers_stats(workers).gave_way, 1);
    sr_workers_free(workers);
}

/* Short jobs that come one after the other overtake as long as the long one would have shared with them. */
static void test_none_is_overtaken_for_ever(void **state)
{
    struct room room = ROOM;
    struct sr_workers *workers;
    struct work first = work_in(&room, 'L', 100 * KIB), others[8];
    (void)state;
    first.holds = true;
    assert_int_equal(sr_workers_new(&workers, 1, 16), SR_OK);
    submit(workers, &first);
    wait_begun(&room);
    for (int i = 0; i < 8; i++) {
        others[i] = work_in(&room, 's', 90 * KIB);
        others[i].next = i < 7 ? &others[i + 1] : NULL;
        others[i].workers = workers;
    }
    submit(workers, &others[0]);
    open_room(&room);
    wait_ended(&room, 9);
    sr_workers_free(workers);
    assert_string_equal(room.ended, "ssLssssss");
}

static void test_stopped_work_ends(void **state)
{
    struct room room = ROOM;
    struct sr_workers *workers;
    struct work first = work_in(&room, 'L', 400 * KIB);
    (void)state;
    first.holds = true;
    assert_int_equal(sr_workers_new(&workers, 1, 8), SR_OK);
    submit(workers, &first);
    wait_begun(&room);
    atomic_store(&first.stopped, true);
    open_room(&room);
    wait_ended(&room, 1);
    sr_workers_free(workers);
    assert_int_equal(first.status, SR_ECANCELED);
    assert_int_equal(sr_job_pause(KIB), SR_OK); /* no worker thread */
}

/* A byte took 1,000 ns or more (the naps). While 16 MiB wait, a job with a second has no time for another
 * reason than itself; one without a deadline waits, and one that comes to an idle thread is taken. */
static void test_what_others_make_late_is_refused(void **state)
{
    struct room idle = ROOM, room = ROOM;
    struct sr_workers *workers;
    struct work slow = work_in(&idle, 'm', 32 * KIB), first = work_in(&room, 'L', 16 * KIB * KIB),
                late = work_in(&room, 'l', 16 * KIB * KIB), patient = work_in(&room, 'p', 16 * KIB * KIB);
    (void)state;
    slow.nap.tv_nsec = 1100000;
    first.holds = true;
    assert_int_equal(sr_workers_new(&workers, 1, 8), SR_OK);
    late.job.deadline_ns = sr_clock_ns() + SR_NS_PER_S;
    assert_true(sr_workers_stats(workers).least_ns <= 0);
    submit(workers, &slow);
    wait_ended(&idle, 1);
    submit(workers, &first); /* behind it all is measured */
    wait_begun(&room);
    assert_true(sr_workers_stats(workers).least_ns > 1000);
    assert_true(sr_workers_stats(workers).rest_ns > 0);
    late.job.deadline_ns = sr_clock_ns() + SR_NS_PER_S;
    assert_int_equal(sr_workers_submit(workers, &late.job, SR_JOB_INTERACTIVE), SR_EBUSY);
    submit(workers, &patient);
    open_room(&room);
    wait_ended(&room, 2);
    sr_workers_free(workers);

    assert_int_equal(sr_workers_new(&workers, 1, 8), SR_OK);
    submit(workers, &late); /* nothing is known, nothing waits */
    wait_ended(&room, 3);
    sr_workers_free(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_work_overtakes), cmocka_unit_test(test_none_is_overtaken_for_ever),
        cmocka_unit_test(test_stopped_work_ends), cmocka_unit_test(test_what_others_make_late_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

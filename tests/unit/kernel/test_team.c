/* Fork and join: every part runs exactly once, its writes are visible, teams start and stop. */
#include "tests/unit/cmocka_all.h"

#include "kernel/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct work {
    unsigned parts;
    unsigned counts[SR_TEAM_MAX];
    pthread_t first;
    unsigned long sum[SR_TEAM_MAX];
};

static void part(void *ctx, unsigned i, unsigned parts)
{
    struct work *work = ctx;
    assert_true(i < parts && parts == work->parts);
    if (i == 0)
        work->first = pthread_self();
    work->counts[i]++;
    for (unsigned k = 0; k < 100 * i; k++)
        work->sum[i] += k;
}

static void rounds(unsigned size, int n)
{
    struct sr_team *team = NULL;
    struct work work = {.parts = size};
    assert_int_equal(sr_team_new(&team, size), SR_OK);
    assert_int_equal(sr_team_size(team), size);
    for (int round = 1; round <= n; round++) {
        sr_team_run(team, part, &work);
        for (unsigned i = 0; i < size; i++)
            assert_int_equal(work.counts[i], round);
        assert_true(pthread_equal(work.first, pthread_self()));
        if (round % 500 == 0) /* members fall asleep */
            nanosleep(&(struct timespec){0, 3000000}, NULL);
    }
    sr_team_free(team);
}

static void test_sizes(void **state)
{
    (void)state;
    rounds(1, 10);
    rounds(2, 3000);
    rounds(3, 1000);
    rounds(16, 300);
}

static void test_none(void **state)
{
    (void)state;
    struct work work = {.parts = 1};
    struct sr_team *team = NULL;
    sr_team_run(NULL, part, &work);
    assert_int_equal(work.counts[0], 1);
    assert_int_equal(sr_team_size(NULL), 1);
    sr_team_free(NULL);
    assert_int_equal(sr_team_new(&team, 0), SR_EINVAL);
    assert_int_equal(sr_team_new(&team, SR_TEAM_MAX + 1), SR_EINVAL);
}

static void test_unused(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct sr_team *team = NULL;
        assert_int_equal(sr_team_new(&team, 4), SR_OK);
        sr_team_free(team);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_unused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is learned: outcomes fade, feedback counts once, the file brings it back, and limits hold. */
#include "../cmocka_all.h"

#include "select/state/keep.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct sr_arm_name first = {"d", "a", ""}, second = {"d", "b", "tuned"};

static struct sr_arm get(struct sr_select_arms *arms, const struct sr_arm_name *name)
{
    return sr_arms_get(arms, sr_arm_key(name->decision, name->model, name->lora));
}

static void test_outcomes_fade(void **state)
{
    struct sr_select_arms *arms;
    (void)state;
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    assert_true(get(arms, &first).quality_weight == 0);
    sr_arms_outcome(arms, &first, 1, 10);
    assert_true(get(arms, &first).quality == 1);
    for (int i = 0; i < 100; i++)
        sr_arms_outcome(arms, &first, 0, 10);
    assert_true(get(arms, &first).quality < 0.001);
    assert_true(get(arms, &first).quality_weight < 16); /* 1 / (1 - 2^(-1/10)) */
    sr_arms_outcome(arms, &first, 7, 10);               /* no more than 1 */
    assert_true(get(arms, &first).quality < 1);
    sr_arms_outcome(arms, &first, NAN, 10);
    assert_false(isnan(get(arms, &first).quality));
    sr_arms_time(arms, &second, 120, 10);
    assert_true(get(arms, &second).ttft_ms == 120 && get(arms, &second).quality_weight == 0);
    sr_arms_free(arms);
}

static void test_feedback_counts_once(void **state)
{
    struct sr_select_arms *arms;
    (void)state;
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    assert_int_equal(sr_arms_feedback(arms, SR_LIT("r1"), 1), SR_ENOENT);
    sr_arms_placed(arms, SR_LIT("r1"), &second, 50);
    assert_int_equal(sr_arms_feedback(arms, SR_LIT("r2"), 1), SR_ENOENT);
    assert_int_equal(sr_arms_feedback(arms, SR_LIT("r1"), 0.25), SR_OK);
    assert_true(get(arms, &second).quality == 0.25);
    assert_int_equal(sr_arms_feedback(arms, SR_LIT("r1"), 1), SR_ENOENT);
    assert_true(get(arms, &second).quality == 0.25);
    sr_arms_free(arms);
}

static void test_more_arms_than_there_may_be(void **state)
{
    struct sr_select_arms *arms;
    char model[32];
    struct sr_arm_name name = {"d", model, ""};
    (void)state;
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    for (int i = 0; i < SR_ARMS_MAX + 100; i++) {
        snprintf(model, sizeof model, "m%d", i);
        sr_arms_outcome(arms, &name, 1, 10);
    }
    assert_true(get(arms, &name).quality_weight == 0);
    snprintf(model, sizeof model, "m%d", SR_ARMS_MAX - 1);
    assert_true(get(arms, &name).quality_weight == 1);
    struct sr_buf text;
    sr_buf_init(&text, SR_ARMS_FILE_MAX);
    assert_int_equal(sr_arms_write(arms, &text), SR_OK);
    struct sr_select_arms *again;
    assert_int_equal(sr_arms_new(&again), SR_OK);
    assert_int_equal(sr_arms_read(again, sr_buf_view(&text), NULL), SR_OK);
    assert_true(get(again, &name).quality_weight == 1);
    sr_buf_dispose(&text);
    sr_arms_free(again);
    sr_arms_free(arms);
}

static void test_bad_states_take_nothing(void **state)
{
    static const char good[] =
        "{\"format\":\"semroute-arms-1\",\"arms\":[{\"decision\":\"d\",\"model\":\"a\","
        "\"quality\":[0.5,2],\"ttft_ms\":[10,1]}";
    static const char *const ends[] = {
        ",{\"decision\":\"d\"}]}",
        ",{\"decision\":1,\"model\":\"a\",\"quality\":[0,0],\"ttft_ms\":[0,0]}]}",
        ",{\"decision\":\"d\",\"model\":\"a\",\"quality\":[2,1],\"ttft_ms\":[0,0]}]}",
        ",{\"decision\":\"d\",\"model\":\"a\",\"quality\":[1],\"ttft_ms\":[0,0]}]}",
        ",{\"decision\":\"d\",\"model\":\"a\",\"quality\":[1,-1],\"ttft_ms\":[0,0]}]}",
        ",]}",
        "",
        "]"};
    struct sr_select_arms *arms;
    char text[1024];
    (void)state;
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sr_err err = {0};
        snprintf(text, sizeof text, "%s%s", good, ends[i]);
        assert_int_not_equal(sr_arms_read(arms, sr_bytes_str(text), &err), SR_OK);
        assert_true(err.message[0]);
        assert_true(get(arms, &first).quality_weight == 0);
    }
    snprintf(text, sizeof text, "%s]}", good);
    assert_int_equal(sr_arms_read(arms, sr_bytes_str(text), NULL), SR_OK);
    assert_true(get(arms, &first).quality == 0.5);
    sr_arms_free(arms);
}

static void test_a_file_keeps_it(void **state)
{
    char folder[] = "/tmp/sr-arms-XXXXXX", path[64], command[96];
    struct sr_select_arms *arms;
    struct sr_arms_keeper *keeper;
    struct sr_err err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/state.json", folder);
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    assert_int_equal(sr_arms_keep(&keeper, arms, path, &err), SR_OK);
    sr_arms_outcome(arms, &first, 0.75, 10);
    sr_arms_keeper_close(keeper);
    sr_arms_free(arms);
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    assert_int_equal(sr_arms_keep(&keeper, arms, path, &err), SR_OK);
    assert_true(get(arms, &first).quality == 0.75);
    sr_arms_keeper_close(keeper);
    FILE *file = fopen(path, "w"); /* what cannot be read stays as it is */
    fputs("broken", file);
    fclose(file);
    assert_int_not_equal(sr_arms_keep(&keeper, arms, path, &err), SR_OK);
    assert_non_null(strstr(err.message, path));
    snprintf(command, sizeof command, "grep -q broken %s", path);
    assert_int_equal(system(command), 0);
    unlink(path);
    rmdir(folder);
    sr_arms_free(arms);
}

static void *report(void *arg)
{
    struct sr_select_arms *arms = arg;
    char id[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(id, sizeof id, "r%d", i);
        sr_arms_placed(arms, sr_bytes_str(id), i % 2 ? &first : &second, 10);
        (void)!sr_arms_feedback(arms, sr_bytes_str(id), 1);
        sr_arms_time(arms, &first, i, 10);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct sr_select_arms *arms;
    pthread_t threads[4];
    (void)state;
    assert_int_equal(sr_arms_new(&arms), SR_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, report, arms), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_true(fabs(get(arms, &first).quality - 1) < 1e-9);
    assert_true(sr_arms_changes(arms) >= 8000);
    sr_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes_fade),
        cmocka_unit_test(test_feedback_counts_once),
        cmocka_unit_test(test_more_arms_than_there_may_be),
        cmocka_unit_test(test_bad_states_take_nothing),
        cmocka_unit_test(test_a_file_keeps_it),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

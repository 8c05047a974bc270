/* config: every allocation that can fail gives SR_ENOMEM, without a leak and without a crash. */
#include "base/mem.h"
#include "config/migrate/migrate.h"
#include "tests/unit/config_check.h"

static int load(const char *text)
{
    const struct sr_config *config;
    struct sr_problems problems = {0};
    int rc = sr_config_load_text(&config, sr_bytes_str(text), "x", (struct sr_load_options){0}, &problems);
    sr_mem_fail_at(0);
    assert_true((rc == SR_OK) == (config != NULL));
    sr_config_unref(config);
    sr_problems_dispose(&problems);
    return rc;
}

static int migrate(const char *text)
{
    struct sr_buf out;
    struct sr_problems problems = {0};
    sr_buf_init(&out, (size_t)1 << 20);
    int rc = sr_migrate_text(&out, sr_bytes_str(text), &problems);
    sr_mem_fail_at(0);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
    return rc;
}

/* Fails the first allocation, then the second, ... until the work needs no more. */
static void every_allocation(int (*work)(const char *), const char *text, int expected)
{
    size_t n = 1;
    for (;; n++) {
        sr_mem_fail_at(n);
        int rc = work(text);
        if (rc == expected)
            break;
        assert_int_equal(rc, SR_ENOMEM);
        assert_true(n < 10000);
    }
    assert_true(n > 2);
}

static void test_good_file(void **state)
{
    (void)state;
    char *text = config_file("tests/data/config/full.yaml");
    setenv("SR_TEST_KEY", "x", 1);
    every_allocation(load, text, SR_OK);
    unsetenv("SR_TEST_KEY");
    free(text);
}

static void test_file_with_mistakes(void **state)
{
    (void)state;
    every_allocation(load, "version: v0.3\nroutng: {}\nlisteners: [{port: x, name: '${HOME}'}, 3]\n",
                     SR_EINVAL);
    every_allocation(load, "version: [", SR_EPARSE);
}

static void test_migration(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/data/config/flat_l1.yaml",
                                        "tests/data/config/flat_guards_l0.yaml",
                                        "tests/data/config/flat_guards_l1.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = config_file(files[i]);
        every_allocation(migrate, text, SR_OK);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_file),
        cmocka_unit_test(test_file_with_mistakes),
        cmocka_unit_test(test_migration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Where model folders are found, and the messages when they are not. */
#include "tests/unit/cmocka_all.h"

#include "infer/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_model(const char *root, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/config.json", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{}", f);
    fclose(f);
}

static void drop_model(const char *root, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/config.json", root, name);
    unlink(path);
    snprintf(path, sizeof path, "%s/%s", root, name);
    rmdir(path);
}

static void test_named_folder(void **state)
{
    (void)state;
    char root[] = "/tmp/sr-locate-XXXXXX", found[SR_LOCATE_MAX], want[512];
    struct sr_err err = {0};
    assert_non_null(mkdtemp(root));
    make_model(root, "tiny");
    setenv("SEMROUTE_MODELS", root, 1);
    snprintf(want, sizeof want, "%s/tiny", root);
    assert_int_equal(sr_locate_model(found, "tiny", &err), SR_OK);
    assert_string_equal(found, want);
    unsetenv("SEMROUTE_MODELS");
    assert_int_equal(sr_locate_model(found, want, &err), SR_OK);
    assert_string_equal(found, want);
    assert_int_equal(sr_locate_model(found, "tiny", &err), SR_ENOENT);
    assert_non_null(strstr(err.message, "tiny"));
    drop_model(root, "tiny");
    assert_int_equal(sr_locate_model(found, want, &err), SR_ENOENT);
    rmdir(root);
}

static void test_default_name(void **state)
{
    (void)state;
    char root[] = "/tmp/sr-locate-XXXXXX", found[SR_LOCATE_MAX];
    assert_non_null(mkdtemp(root));
    make_model(root, SR_LOCATE_DEFAULT);
    setenv("SEMROUTE_MODELS", root, 1);
    assert_int_equal(sr_locate_model(found, NULL, NULL), SR_OK);
    assert_memory_equal(found, root, strlen(root));
    assert_int_equal(sr_locate_model(found, "", NULL), SR_OK);
    unsetenv("SEMROUTE_MODELS");
    drop_model(root, SR_LOCATE_DEFAULT);
    rmdir(root);
}

static void test_too_long(void **state)
{
    (void)state;
    static char name[SR_LOCATE_MAX];
    char found[SR_LOCATE_MAX];
    memset(name, 'a', sizeof name - 1);
    assert_int_equal(sr_locate_model(found, name, NULL), SR_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_folder),
        cmocka_unit_test(test_default_name),
        cmocka_unit_test(test_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* config: the epoch follows what a file means, with all that it names, and not how it is written. */
#include "config/load.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL                                                                                                \
    "version: v0.3\nproviders:\n  models:\n    - {name: m, backend_refs: [{endpoint: '127.0.0.1:1'}]}\n"     \
    "  defaults: {default_model: m}\n"
#define PROMPT(value)                                                                                        \
    MODEL "routing:\n  decisions:\n    - name: d\n      priority: 1\n      modelRefs: [{model: m}]\n"        \
          "      plugins: [{type: system_prompt, configuration: {system_prompt: " value "}}]\n"

struct epoch {
    char text[17];
};

static struct epoch epoch_of(const char *yaml)
{
    const struct sr_config *config = NULL;
    struct sr_problems problems = {0};
    struct sr_load_options how = {.files = true};
    struct epoch epoch;
    if (sr_config_load_text(&config, sr_bytes_str(yaml), "test", how, &problems))
        fail_msg("%s", problems.count ? problems.items[0].message : "");
    memcpy(epoch.text, config->epoch, sizeof epoch.text);
    assert_int_equal(strlen(epoch.text), 16);
    sr_config_unref(config);
    sr_problems_dispose(&problems);
    return epoch;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void same(struct epoch a, struct epoch b)
{
    assert_string_equal(a.text, b.text);
}

static void differ(struct epoch a, struct epoch b)
{
    assert_string_not_equal(a.text, b.text);
}

static void test_text(void **state)
{
    (void)state;
    struct epoch first = epoch_of(PROMPT("be kind"));
    same(first, epoch_of(PROMPT("be kind")));
    same(first, epoch_of(PROMPT("be kind") "# as ever\n"));
    differ(first, epoch_of(PROMPT("be brief")));
    differ(epoch_of(MODEL), first);
}

static void test_variable(void **state)
{
    static const char yaml[] = PROMPT("'${EPOCH_PROMPT}'");
    (void)state;
    setenv("EPOCH_PROMPT", "be kind", 1);
    struct epoch kind = epoch_of(yaml);
    setenv("EPOCH_PROMPT", "be brief", 1);
    differ(kind, epoch_of(yaml));
    setenv("EPOCH_PROMPT", "be kind", 1);
    same(kind, epoch_of(yaml));
    unsetenv("EPOCH_PROMPT");
}

static void test_value_in_a_file(void **state)
{
    char path[] = "/tmp/test_epoch.XXXXXX", yaml[1024];
    (void)state;
    close(mkstemp(path));
    snprintf(yaml, sizeof yaml, PROMPT("'${file:%s}'"), path);
    write_text(path, "be kind\n");
    struct epoch kind = epoch_of(yaml);
    write_text(path, "be brief\n");
    differ(kind, epoch_of(yaml));
    write_text(path, "be kind");
    same(kind, epoch_of(yaml));
    unlink(path);
}

static void test_files_that_decide(void **state)
{
    char folder[] = "/tmp/test_epoch.XXXXXX", path[64], yaml[1024];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/labels.json", folder);
    const char *const forms[] = {
        MODEL "global: {model_catalog: {kbs: [{name: own, source: {path: %s}}]}}\n",
        MODEL "global: {integrations: {tools: {enabled: true, tools_db_path: %s/labels.json}}}\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(yaml, sizeof yaml, forms[i], folder);
        write_text(path, "[1]");
        struct epoch first = epoch_of(yaml);
        write_text(path, "[2]");
        differ(first, epoch_of(yaml));
        write_text(path, "[1]");
        same(first, epoch_of(yaml));
    }
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_variable),
        cmocka_unit_test(test_value_in_a_file),
        cmocka_unit_test(test_files_that_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

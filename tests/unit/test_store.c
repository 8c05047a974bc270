/* Models that did not change survive a reload as the same object; those that nobody takes again are closed.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "infer/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODEL SR_SOURCE_DIR "/models/domain-linear/model.safetensors"

static struct sr_linear *take(struct sr_models *models, const char *path)
{
    struct sr_linear *model = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_models_linear(models, path, &model, &err), SR_OK);
    return model;
}

static void unchanged_models_are_kept(void **state)
{
    (void)state;
    struct sr_models *models = NULL;
    assert_int_equal(sr_models_new(&models, NULL), SR_OK);
    sr_models_begin(models);
    struct sr_linear *embedded = take(models, ""), *file = take(models, MODEL);
    assert_ptr_not_equal(embedded, file);
    assert_string_equal(sr_linear_sha256(embedded), sr_linear_sha256(file));
    sr_models_sweep(models);
    sr_models_begin(models);
    struct sr_linear *again = take(models, "");
    assert_ptr_equal(again, embedded);
    sr_models_sweep(models);
    sr_linear_unref(again);
    sr_linear_unref(embedded);
    assert_int_equal(sr_linear_n_labels(file), 14); /* dropped by the store, still ours */
    sr_linear_unref(file);
    sr_models_free(models);
}

static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        assert_int_equal(fwrite(buffer, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void a_replaced_file_is_opened_again(void **state)
{
    (void)state;
    char folder[] = "/tmp/store-XXXXXX", path[64], fresh[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    snprintf(fresh, sizeof fresh, "%s/fresh", folder);
    struct sr_models *models = NULL;
    assert_int_equal(sr_models_new(&models, NULL), SR_OK);
    copy_file(MODEL, path);
    struct sr_linear *first = take(models, path);
    copy_file(MODEL, fresh);
    assert_int_equal(rename(fresh, path), 0);
    struct sr_linear *second = take(models, path);
    assert_ptr_not_equal(first, second);
    struct sr_err err = {0};
    struct sr_linear *none = NULL;
    assert_int_equal(sr_models_linear(models, "/nowhere/model", &none, &err), SR_ENOENT);
    assert_true(err.message[0]);
    sr_linear_unref(first);
    sr_linear_unref(second);
    sr_models_free(models);
    unlink(path);
    rmdir(folder);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    for (size_t nth = 1;; nth++) {
        struct sr_models *models = NULL;
        struct sr_linear *model = NULL;
        sr_mem_fail_at(nth);
        int rc = sr_models_new(&models, NULL);
        if (!rc)
            rc = sr_models_linear(models, "", &model, NULL);
        sr_mem_fail_at(0);
        sr_linear_unref(model);
        sr_models_free(models);
        if (!rc)
            break;
        assert_true(nth < 100);
    }
}

static void tokenizers_too(void **state)
{
    (void)state;
    static const char path[] = SR_SOURCE_DIR "/tests/golden/tokenizers/bert-uncased.json";
    struct sr_models *models = NULL;
    struct sr_tokenizer *first = NULL, *again = NULL, *alone = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_models_new(&models, NULL), SR_OK);
    sr_models_begin(models);
    assert_int_equal(sr_models_tokenizer(models, path, &first, &err), SR_OK);
    sr_models_sweep(models);
    sr_models_begin(models);
    assert_int_equal(sr_models_tokenizer(models, path, &again, &err), SR_OK);
    assert_ptr_equal(first, again);
    assert_int_equal(sr_models_tokenizer(NULL, path, &alone, &err), SR_OK);
    assert_ptr_not_equal(first, alone);
    assert_int_equal(sr_models_tokenizer(models, SR_SOURCE_DIR "/README.md", &alone, &err), SR_EPARSE);
    sr_models_sweep(models);
    sr_tokenizer_unref(alone);
    sr_tokenizer_unref(again);
    sr_tokenizer_unref(first);
    sr_models_free(models);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokenizers_too),
        cmocka_unit_test(unchanged_models_are_kept),
        cmocka_unit_test(a_replaced_file_is_opened_again),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

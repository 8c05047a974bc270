/* Models that did not change survive a reload as the same object; those that no configuration uses again are
 * closed.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "infer/classifier/neural.h"
#include "infer/model_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL SR_SOURCE_DIR "/models/domain-linear/model.safetensors"

static struct sr_linear *take(struct sr_model_store *models, const char *path)
{
    struct sr_linear *model = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_model_store_linear(models, path, &model, &err), SR_OK);
    return model;
}

static void unchanged_models_are_kept(void **state)
{
    (void)state;
    struct sr_model_store *models = NULL;
    assert_int_equal(sr_model_store_new(&models, NULL), SR_OK);
    sr_model_store_begin(models);
    struct sr_linear *embedded = take(models, ""), *file = take(models, MODEL);
    assert_ptr_not_equal(embedded, file);
    assert_string_equal(sr_linear_sha256(embedded), sr_linear_sha256(file));
    sr_model_store_sweep(models);
    sr_model_store_begin(models);
    struct sr_linear *again = take(models, "");
    assert_ptr_equal(again, embedded);
    sr_model_store_sweep(models);
    sr_linear_unref(again);
    sr_linear_unref(embedded);
    assert_int_equal(sr_linear_n_labels(file), 14); /* dropped by the store, still ours */
    sr_linear_unref(file);
    sr_model_store_free(models);
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
    struct sr_model_store *models = NULL;
    assert_int_equal(sr_model_store_new(&models, NULL), SR_OK);
    copy_file(MODEL, path);
    struct sr_linear *first = take(models, path);
    copy_file(MODEL, fresh);
    assert_int_equal(rename(fresh, path), 0);
    struct sr_linear *second = take(models, path);
    assert_ptr_not_equal(first, second);
    struct sr_err err = {0};
    struct sr_linear *none = NULL;
    assert_int_equal(sr_model_store_linear(models, "/nowhere/model", &none, &err), SR_ENOENT);
    assert_true(err.message[0]);
    sr_linear_unref(first);
    sr_linear_unref(second);
    sr_model_store_free(models);
    unlink(path);
    rmdir(folder);
}

#define SMALL SR_SOURCE_DIR "/tests/golden/encoder/small/bert-sequence"

static struct sr_encoder *take_encoder(struct sr_model_store *models, const char *folder,
                                       enum sr_precision precision)
{
    struct sr_encoder_options options = {.precision = precision, .task = "domain"};
    struct sr_encoder *encoder = NULL;
    struct sr_err err = {0};
    if (sr_model_store_encoder(models, folder, &options, &encoder, &err))
        fail_msg("%s", err.message);
    return encoder;
}

static const char *const model_files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                          "category_mapping.json", NULL};

static void copy_files(const char *source, const char *const files[], const char *folder)
{
    char from[512], to[128];
    for (size_t i = 0; files[i]; i++) {
        snprintf(from, sizeof from, "%s/%s", source, files[i]);
        snprintf(to, sizeof to, "%s/%s", folder, files[i]);
        copy_file(from, to);
    }
}

static void drop_files(const char *folder, const char *const files[])
{
    char path[128];
    for (size_t i = 0; files[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* A file with the same bytes, put in the place of one. */
static void replace_file(const char *path)
{
    char fresh[128];
    snprintf(fresh, sizeof fresh, "%s.fresh", path);
    copy_file(path, fresh);
    assert_int_equal(rename(fresh, path), 0);
}

static void encoders_neurals_and_the_engine(void **state)
{
    (void)state;
    char folder[] = "/tmp/store-XXXXXX", path[64];
    struct sr_model_store *models = NULL;
    struct sr_infer *infer = NULL, *again = NULL;
    struct sr_infer_options options = sr_infer_defaults();
    struct sr_neural *neural = NULL, *same = NULL;
    struct sr_neural_options how = sr_neural_defaults();
    assert_non_null(mkdtemp(folder));
    copy_files(SMALL, model_files, folder);
    assert_int_equal(sr_model_store_new(&models, NULL), SR_OK);
    sr_model_store_begin(models);
    struct sr_encoder *first = take_encoder(models, folder, SR_PRECISION_FP32);
    struct sr_encoder *int8 = take_encoder(models, folder, SR_PRECISION_INT8);
    assert_ptr_not_equal(first, int8);
    options.threads = 1;
    assert_int_equal(sr_model_store_infer(models, &options, &infer, NULL), SR_OK);
    assert_int_equal(sr_model_store_neural(models, first, infer, &how, &neural, NULL), SR_OK);
    assert_int_equal(sr_model_store_neural(models, first, infer, &how, &same, NULL), SR_OK);
    assert_ptr_equal(neural, same);
    sr_model_store_sweep(models);
    /* A reload: the folder is the same, the engine's options are not. */
    sr_model_store_begin(models);
    struct sr_encoder *kept = take_encoder(models, folder, SR_PRECISION_FP32);
    assert_ptr_equal(kept, first);
    options.threads = 0;
    options.cpus = "no list";
    assert_int_equal(sr_model_store_infer(models, &options, &again, NULL), SR_EINVAL);
    options.cpus = NULL;
    options.threads = 2;
    assert_int_equal(sr_model_store_infer(models, &options, &again, NULL), SR_OK);
    assert_ptr_equal(infer, again);
    assert_int_equal(sr_infer_stats(infer).threads, 1);
    sr_model_store_sweep(models);
    assert_int_equal(sr_infer_stats(infer).threads, 2);
    /* A file of the folder is another. */
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    replace_file(path);
    struct sr_encoder *other = take_encoder(models, folder, SR_PRECISION_FP32);
    assert_ptr_not_equal(other, first);
    sr_neural_unref(neural);
    sr_neural_unref(same);
    sr_encoder_unref(first);
    sr_encoder_unref(int8);
    sr_encoder_unref(kept);
    sr_encoder_unref(other);
    sr_model_store_free(models);
    drop_files(folder, model_files);
}

#define ADAPTED SR_SOURCE_DIR "/tests/golden/encoder/small/bert-patterns"

/* An adapter whose files stay as they are is another model on another base; so is one whose folders have
 * changed within. */
static void the_base_of_an_adapter(void **state)
{
    (void)state;
    static const char *const base_files[] = {"config.json", "model.safetensors", "tokenizer.json", NULL};
    static const char *const files[] = {"adapter_config.json", "adapter_model.safetensors",
                                        "category_mapping.json", NULL};
    char root[] = "/tmp/store-XXXXXX", base[64], folder[64], inner[80], path[96];
    struct sr_model_store *models = NULL;
    assert_non_null(mkdtemp(root));
    snprintf(base, sizeof base, "%s/base", root);
    snprintf(folder, sizeof folder, "%s/adapter", root);
    snprintf(inner, sizeof inner, "%s/1_Extra", base);
    assert_true(mkdir(base, 0700) == 0 && mkdir(folder, 0700) == 0 && mkdir(inner, 0700) == 0);
    copy_files(ADAPTED, base_files, base);
    copy_files(ADAPTED "/adapter-suffix", files, folder);
    snprintf(path, sizeof path, "%s/notes", inner);
    copy_file(SMALL "/config.json", path);

    assert_int_equal(sr_model_store_new(&models, NULL), SR_OK);
    struct sr_encoder *first = take_encoder(models, folder, SR_PRECISION_FP32);
    struct sr_encoder *again = take_encoder(models, folder, SR_PRECISION_FP32);
    assert_ptr_equal(first, again);
    replace_file(path);
    struct sr_encoder *within = take_encoder(models, folder, SR_PRECISION_FP32);
    assert_ptr_not_equal(within, first);
    unlink(path);
    rmdir(inner);
    snprintf(path, sizeof path, "%s/model.safetensors", base);
    replace_file(path);
    struct sr_encoder *other = take_encoder(models, folder, SR_PRECISION_FP32);
    assert_ptr_not_equal(other, first);
    assert_ptr_not_equal(other, within);
    sr_encoder_unref(first);
    sr_encoder_unref(again);
    sr_encoder_unref(within);
    sr_encoder_unref(other);
    sr_model_store_free(models);
    drop_files(base, base_files);
    drop_files(folder, files);
    rmdir(root);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    for (size_t nth = 1;; nth++) {
        struct sr_model_store *models = NULL;
        struct sr_linear *model = NULL;
        sr_mem_fail_at(nth);
        int rc = sr_model_store_new(&models, NULL);
        if (!rc)
            rc = sr_model_store_linear(models, "", &model, NULL);
        sr_mem_fail_at(0);
        sr_linear_unref(model);
        sr_model_store_free(models);
        if (!rc)
            break;
        assert_true(nth < 100);
    }
}

static struct sr_infer *take_infer(struct sr_model_store *models, int threads)
{
    struct sr_infer *infer = NULL;
    struct sr_infer_options options = sr_infer_defaults();
    options.threads = threads;
    assert_int_equal(sr_model_store_infer(models, &options, &infer, NULL), SR_OK);
    return infer;
}

/* What a reload that failed wanted of the engine is forgotten. */
static void a_cancelled_reload(void **state)
{
    (void)state;
    struct sr_model_store *models = NULL;
    assert_int_equal(sr_model_store_new(&models, NULL), SR_OK);
    sr_model_store_begin(models);
    struct sr_infer *infer = take_infer(models, 1);
    sr_model_store_cancel(models); /* the engine is there, and nobody has used it */
    take_infer(models, 2);
    assert_int_equal(sr_infer_stats(infer).threads, 2);
    sr_model_store_begin(models);
    take_infer(models, 3);
    take_infer(models, 2); /* by the router in force */
    assert_int_equal(sr_infer_stats(infer).threads, 2);
    sr_model_store_cancel(models);
    sr_model_store_begin(models);
    sr_model_store_sweep(models);
    assert_int_equal(sr_infer_stats(infer).threads, 2);
    sr_model_store_begin(models);
    take_infer(models, 3);
    sr_model_store_sweep(models);
    assert_int_equal(sr_infer_stats(infer).threads, 3);
    take_infer(models, 2); /* by the router before */
    assert_int_equal(sr_infer_stats(infer).threads, 3);
    sr_model_store_free(models);
}

static void tokenizers_too(void **state)
{
    (void)state;
    static const char path[] = SR_SOURCE_DIR "/tests/golden/tokenizers/bert-uncased.json";
    struct sr_model_store *models = NULL;
    struct sr_tokenizer *first = NULL, *again = NULL, *alone = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_model_store_new(&models, NULL), SR_OK);
    sr_model_store_begin(models);
    assert_int_equal(sr_model_store_tokenizer(models, path, &first, &err), SR_OK);
    sr_model_store_sweep(models);
    sr_model_store_begin(models);
    assert_int_equal(sr_model_store_tokenizer(models, path, &again, &err), SR_OK);
    assert_ptr_equal(first, again);
    assert_int_equal(sr_model_store_tokenizer(NULL, path, &alone, &err), SR_OK);
    assert_ptr_not_equal(first, alone);
    assert_int_equal(sr_model_store_tokenizer(models, SR_SOURCE_DIR "/README.md", &alone, &err), SR_EPARSE);
    sr_model_store_sweep(models);
    sr_tokenizer_unref(alone);
    sr_tokenizer_unref(again);
    sr_tokenizer_unref(first);
    sr_model_store_free(models);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_reload),
        cmocka_unit_test(tokenizers_too),
        cmocka_unit_test(unchanged_models_are_kept),
        cmocka_unit_test(a_replaced_file_is_opened_again),
        cmocka_unit_test(encoders_neurals_and_the_engine),
        cmocka_unit_test(the_base_of_an_adapter),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

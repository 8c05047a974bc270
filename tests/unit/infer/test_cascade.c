/*
 * The cascade of a linear and a neural tier: which tier answers, results, refusals, labels.
 *
 * The neural classifier is this file's own: it has the symbols of infer/classifier/neural.h that the cascade
 * uses and answers what a test tells it.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "infer/classifier/cascade.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the neural classifier ---- */

struct sr_neural_result {
    int refs;
    float probabilities[3];
};

struct sr_neural {
    int refs;
};

static struct {
    struct sr_neural neural;
    struct sr_head_info head;
    int asked, answer; /* SR_OK or an error */
    uint64_t salt;
    struct sr_neural_result result;
} fake;

struct sr_neural *sr_neural_ref(struct sr_neural *neural)
{
    neural->refs++;
    return neural;
}

void sr_neural_unref(struct sr_neural *neural)
{
    neural->refs--;
}

const struct sr_head_info *sr_neural_head(const struct sr_neural *neural, const char *task)
{
    (void)neural;
    return strcmp(task, fake.head.name) == 0 ? &fake.head : NULL;
}

int sr_neural_read_wait(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
                        enum sr_infer_priority priority, struct sr_neural_result **out)
{
    assert_ptr_equal(neural, &fake.neural);
    assert_int_equal(priority, SR_INFER_INTERACTIVE);
    assert_true(text.n > 0);
    fake.asked++;
    fake.salt = salt;
    *out = NULL;
    if (fake.answer == SR_OK) {
        fake.result.refs++;
        *out = &fake.result;
    }
    return fake.answer;
}

void sr_neural_result_unref(struct sr_neural_result *result)
{
    if (result)
        result->refs--;
}

const float *sr_neural_text(const struct sr_neural_result *result, const struct sr_head_info *head)
{
    assert_ptr_equal(head, &fake.head);
    return result->probabilities;
}

struct sr_neural_scope sr_neural_scope(const struct sr_neural_result *result)
{
    (void)result;
    return (struct sr_neural_scope){.bytes = 5, .read_bytes = 4};
}

/* ---- the linear tier ---- */

static const float *linear_says;

static int linear_answer(struct sr_classifier *self, struct sr_classifier_query *query)
{
    memcpy(query->probabilities, linear_says, self->n_labels * sizeof *linear_says);
    query->tier = "linear";
    query->read_bytes = query->text.n;
    return SR_OK;
}

static void linear_free(struct sr_classifier *self)
{
    (void)self;
}

static const struct sr_classifier_ops linear_ops = {
    .name = "linear", .answer = linear_answer, .free = linear_free};
static const char *const labels[] = {"law", "computer science", "math"};
static const char *const head_labels[] = {"Math", "law", "computer_science"};
static struct sr_classifier linear = {.ops = &linear_ops, .task = "domain", .labels = labels, .n_labels = 3};

/* ---- asking ---- */

static float probabilities[3];

static struct sr_classifier_query query_of(const char *text)
{
    return (struct sr_classifier_query){
        .text = sr_bytes_str(text), .salt = 7, .probabilities = probabilities};
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.head = (struct sr_head_info){
        .name = "domain", .kind = SR_HEAD_SEQUENCE, .labels = head_labels, .n_labels = 3, .temperature = 1};
    fake.result.probabilities[0] = 0.7F; /* math */
    fake.result.probabilities[1] = 0.2F; /* law */
    fake.result.probabilities[2] = 0.1F;
    sr_ref_init(&linear.ref);
    return 0;
}

static struct sr_classifier *cascade(struct sr_classifier *first, struct sr_fusion fusion)
{
    struct sr_cascade_options options = {
        .linear = first, .neural = &fake.neural, .task = "domain", .certain = 0.9F, .fusion = fusion};
    struct sr_classifier *made = NULL;
    struct sr_err err = {0};
    if (sr_cascade_new(&made, &options, &err))
        fail_msg("%s", err.message);
    assert_ptr_equal(sr_cascade_neural(made), &fake.neural);
    return made;
}

static void drop(struct sr_classifier *made)
{
    sr_classifier_unref(made);
    assert_int_equal(fake.neural.refs, 0);
    assert_int_equal(fake.result.refs, 0);
    assert_int_equal(atomic_load(&linear.ref.count), 1);
}

static void is(float a, float b, float c)
{
    assert_true(fabsf(probabilities[0] - a) < 1e-5F && fabsf(probabilities[1] - b) < 1e-5F &&
                fabsf(probabilities[2] - c) < 1e-5F);
}

static const struct sr_fusion alone = {.neural = 1, .temperature = 1};

static void test_sure_answers_ask_nobody(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_query query = query_of("a text");
    linear_says = (const float[]){0.95F, 0.03F, 0.02F};
    assert_int_equal(sr_classifier_answer(made, &query), SR_OK);
    assert_string_equal(query.tier, "linear");
    assert_int_equal(fake.asked, 0);
    is(0.95F, 0.03F, 0.02F);
    query = query_of("");
    linear_says = (const float[]){0.4F, 0.3F, 0.3F};
    assert_int_equal(sr_classifier_answer(made, &query), SR_OK);
    assert_int_equal(fake.asked, 0);
    drop(made);
}

static void test_unsure_answers_ask_the_neural(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_query query = query_of("a text");
    linear_says = (const float[]){0.4F, 0.3F, 0.3F};
    assert_int_equal(sr_classifier_answer(made, &query), SR_OK); /* it was remembered */
    assert_string_equal(query.tier, "neural");
    assert_int_equal(query.read_bytes, 4);
    assert_int_equal(fake.salt, 7);
    is(0.2F, 0.1F, 0.7F);
    drop(made);
}

static void test_mixture(void **state)
{
    (void)state;
    struct sr_classifier *made =
        cascade(&linear, (struct sr_fusion){.neural = 1, .linear = 1, .temperature = 0.5F});
    struct sr_classifier_query query = query_of("a text");
    linear_says = (const float[]){0.5F, 0.3F, 0.2F};
    assert_int_equal(sr_classifier_answer(made, &query), SR_OK);
    float a = 0.1F * 0.1F, b = 0.03F * 0.03F, c = 0.14F * 0.14F, sum = a + b + c;
    is(a / sum, b / sum, c / sum);
    drop(made);
}

static void test_the_linear_answer_stands(void **state)
{
    (void)state;
    static const int refusals[] = {SR_EBUSY, SR_ELIMIT, SR_ENOMEM, SR_ECLOSED};
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_query query;
    linear_says = (const float[]){0.4F, 0.35F, 0.25F};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        query = query_of("a text");
        fake.answer = refusals[i];
        assert_int_equal(sr_classifier_answer(made, &query), SR_OK);
        assert_string_equal(query.tier, "linear");
        is(0.4F, 0.35F, 0.25F);
    }
    drop(made);
}

/* The steps that signals take. */
static void test_steps(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_query query = query_of("a text");
    linear_says = (const float[]){0.95F, 0.03F, 0.02F};
    assert_int_equal(sr_cascade_linear(made, &query), SR_OK);
    linear_says = (const float[]){0.4F, 0.35F, 0.25F};
    assert_int_equal(sr_cascade_linear(made, &query), SR_AGAIN);
    assert_string_equal(query.tier, "linear");
    is(0.4F, 0.35F, 0.25F);
    sr_cascade_mix(made, &query, &fake.result);
    assert_string_equal(query.tier, "neural");
    is(0.2F, 0.1F, 0.7F);
    assert_int_equal(fake.asked, 0);
    drop(made);
    made = cascade(NULL, alone);
    assert_int_equal(sr_cascade_linear(made, &query), SR_AGAIN);
    assert_null(query.tier);
    sr_classifier_unref(made);
    assert_null(sr_cascade_neural(&linear));
}

static void test_the_neural_alone(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(NULL, (struct sr_fusion){0});
    struct sr_classifier_query query = query_of("a text");
    assert_string_equal(made->labels[0], "Math");
    assert_int_equal(sr_classifier_answer(made, &query), SR_OK);
    is(0.7F, 0.2F, 0.1F);
    query = query_of("a text");
    fake.answer = SR_EBUSY;
    assert_int_equal(sr_classifier_answer(made, &query), SR_EBUSY);
    sr_classifier_unref(made);
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    struct sr_cascade_options options = {.linear = &linear, .neural = &fake.neural, .task = "jailbreak"};
    struct sr_classifier *made = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_cascade_new(&made, &options, &err), SR_EMISMATCH);
    assert_non_null(strstr(err.message, "jailbreak"));
    options.task = "domain";
    fake.head.labels = (const char *const[]){"math", "law", "physics"};
    assert_int_equal(sr_cascade_new(&made, &options, &err), SR_EMISMATCH);
    assert_non_null(strstr(err.message, "computer science"));
    fake.head.n_labels = 2;
    assert_int_equal(sr_cascade_new(&made, &options, &err), SR_EMISMATCH);
    fake.head.n_labels = SR_CLASSIFIER_LABELS_MAX + 1;
    assert_int_equal(sr_cascade_new(&made, &options, &err), SR_ELIMIT);
    assert_int_equal(fake.neural.refs, 0);
    assert_int_equal(atomic_load(&linear.ref.count), 1);
}

static int read_text(const char *text, struct sr_fusion *fusion, struct sr_err *err)
{
    char folder[] = "/tmp/sr-fusion-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    int rc = sr_fusion_read(fusion, folder, "domain", err);
    unlink(path);
    rmdir(folder);
    return rc;
}

static void test_linear_limit(void **state)
{
    (void)state;
    const float neural[2] = {0.5F, 0.5F}, sure[2] = {1e-6F, 1 - 1e-6F}, unsure[2] = {0.4F, 0.6F};
    float free[2], held[2];
    struct sr_fusion fusion = {.neural = 1, .linear = 1, .temperature = 1};
    sr_fusion_mix(&fusion, neural, sure, 2, free);
    assert_true(free[1] > 0.99999F);
    fusion.linear_limit = 2;
    sr_fusion_mix(&fusion, neural, sure, 2, held);
    assert_float_equal(held[1], 1 / (1 + expf(-2)), 1e-5);
    sr_fusion_mix(&fusion, neural, unsure, 2, held);
    assert_float_equal(held[1], 0.6F, 1e-5);
    assert_float_equal(held[0] + held[1], 1, 1e-6);
}

static void test_fusion_file(void **state)
{
    (void)state;
    struct sr_fusion fusion;
    struct sr_err err = {0};
    assert_int_equal(sr_fusion_read(&fusion, "/nowhere", "domain", &err), SR_ENOENT);
    assert_int_equal(read_text("{\"heads\": {}}", &fusion, &err), SR_ENOENT);
    assert_true(fusion.neural == 1 && fusion.linear == 0 && fusion.temperature == 1);
    assert_int_equal(read_text("{\"fusion\": {\"domain\": {\"neural\": 0.5, \"linear\": 0.25, "
                               "\"temperature\": 2, \"shift\": -1, \"linear_limit\": 4}}}",
                               &fusion, &err),
                     SR_OK);
    assert_true(fusion.neural == 0.5F && fusion.linear == 0.25F && fusion.temperature == 2 &&
                fusion.shift == -1 && fusion.linear_limit == 4);
    static const char *const bad[] = {"{", "{\"fusion\": {\"domain\": {\"neural\": \"x\"}}}",
                                      "{\"fusion\": {\"domain\": {\"temperature\": 0}}}",
                                      "{\"fusion\": {\"domain\": {\"neural\": 0, \"linear\": 0}}}",
                                      "{\"fusion\": {\"domain\": {\"linear\": 1e9}}}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(read_text(bad[i], &fusion, &err), SR_EPARSE);
        assert_non_null(strstr(err.message, "config.json"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sure_answers_ask_nobody, setup),
        cmocka_unit_test_setup(test_unsure_answers_ask_the_neural, setup),
        cmocka_unit_test_setup(test_mixture, setup),
        cmocka_unit_test_setup(test_the_linear_answer_stands, setup),
        cmocka_unit_test_setup(test_steps, setup),
        cmocka_unit_test_setup(test_the_neural_alone, setup),
        cmocka_unit_test_setup(test_what_does_not_fit, setup),
        cmocka_unit_test(test_linear_limit),
        cmocka_unit_test_setup(test_fusion_file, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

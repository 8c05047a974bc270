/*
 * The cascade of a linear and a neural tier: who is asked, what the answer is, late ones, refusals, labels.
 *
 * The neural classifier is this file's own: it has the symbols of infer/classifier/neural.h that the cascade
 * uses and answers what a test tells it, at once or when the test says so.
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
    int asked, answer; /* SR_OK, SR_AGAIN or an error */
    uint64_t salt;
    struct sr_neural_result reading;
    struct sr_neural_wait *waiting;
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

int sr_neural_read(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
                   enum sr_infer_priority priority, struct sr_neural_wait *wait)
{
    assert_ptr_equal(neural, &fake.neural);
    assert_int_equal(priority, SR_INFER_INTERACTIVE);
    assert_true(text.n > 0);
    fake.asked++;
    fake.salt = salt;
    fake.waiting = wait;
    if (fake.answer == SR_OK) {
        fake.reading.refs++;
        wait->reading = &fake.reading;
    }
    return fake.answer;
}

void sr_neural_leave(struct sr_neural *neural, struct sr_neural_wait *wait)
{
    (void)neural;
    if (fake.waiting == wait) {
        fake.waiting = NULL;
        wait->done(wait, SR_ECANCELED);
    }
}

void sr_neural_result_unref(struct sr_neural_result *reading)
{
    if (reading)
        reading->refs--;
}

const float *sr_neural_text(const struct sr_neural_result *reading, const struct sr_head_info *head)
{
    assert_ptr_equal(head, &fake.head);
    return reading->probabilities;
}

struct sr_neural_scope sr_neural_scope(const struct sr_neural_result *reading)
{
    (void)reading;
    return (struct sr_neural_scope){.bytes = 5, .read_bytes = 4};
}

static void neural_answers(int status)
{
    struct sr_neural_wait *wait = fake.waiting;
    fake.waiting = NULL;
    if (status == SR_OK) {
        fake.reading.refs++;
        wait->reading = &fake.reading;
    }
    wait->done(wait, status);
}

/* ---- the linear tier ---- */

static const float *linear_says;

static int linear_start(struct sr_classifier *self, struct sr_classifier_job *job)
{
    memcpy(job->probabilities, linear_says, self->n_labels * sizeof *linear_says);
    job->tier = "linear";
    job->read_bytes = job->text.n;
    return SR_OK;
}

static void linear_free(struct sr_classifier *self)
{
    (void)self;
}

static const struct sr_classifier_ops linear_ops = {
    .name = "linear", .start = linear_start, .free = linear_free};
static const char *const labels[] = {"law", "computer science", "math"};
static const char *const head_labels[] = {"Math", "law", "computer_science"};
static struct sr_classifier linear = {.ops = &linear_ops, .task = "domain", .labels = labels, .n_labels = 3};

/* ---- asking ---- */

static int done, done_status;

static void job_done(struct sr_classifier_job *job, int status)
{
    (void)job;
    done++;
    done_status = status;
}

static float probabilities[3];

static struct sr_classifier_job job_of(const char *text)
{
    done = 0;
    return (struct sr_classifier_job){
        .text = sr_bytes_str(text), .salt = 7, .probabilities = probabilities, .done = job_done};
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.head = (struct sr_head_info){
        .name = "domain", .kind = SR_HEAD_SEQUENCE, .labels = head_labels, .n_labels = 3, .temperature = 1};
    fake.reading.probabilities[0] = 0.7F; /* math */
    fake.reading.probabilities[1] = 0.2F; /* law */
    fake.reading.probabilities[2] = 0.1F;
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
    assert_true(sr_classifier_is_late(made));
    return made;
}

static void drop(struct sr_classifier *made)
{
    sr_classifier_unref(made);
    assert_int_equal(fake.neural.refs, 0);
    assert_int_equal(fake.reading.refs, 0);
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
    struct sr_classifier_job job = job_of("a text");
    linear_says = (const float[]){0.95F, 0.03F, 0.02F};
    assert_int_equal(sr_classifier_start(made, &job), SR_OK);
    assert_string_equal(job.tier, "linear");
    assert_int_equal(fake.asked, 0);
    is(0.95F, 0.03F, 0.02F);
    sr_classifier_release(made, &job);
    job = job_of("");
    linear_says = (const float[]){0.4F, 0.3F, 0.3F};
    assert_int_equal(sr_classifier_start(made, &job), SR_OK);
    assert_int_equal(fake.asked, 0);
    drop(made);
}

static void test_unsure_answers_ask_the_neural(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_job job = job_of("a text");
    linear_says = (const float[]){0.4F, 0.3F, 0.3F};
    assert_int_equal(sr_classifier_start(made, &job), SR_OK); /* it was remembered */
    assert_string_equal(job.tier, "neural");
    assert_int_equal(job.read_bytes, 4);
    assert_int_equal(fake.salt, 7);
    is(0.2F, 0.1F, 0.7F);
    sr_classifier_release(made, &job);
    fake.answer = SR_AGAIN;
    job = job_of("a text");
    assert_int_equal(sr_classifier_start(made, &job), SR_AGAIN);
    assert_int_equal(done, 0);
    neural_answers(SR_OK);
    assert_int_equal(done, 1);
    assert_int_equal(done_status, SR_OK);
    assert_string_equal(job.tier, "neural");
    is(0.2F, 0.1F, 0.7F);
    sr_classifier_cancel(made, &job); /* too late, and allowed */
    assert_int_equal(done, 1);
    sr_classifier_release(made, &job);
    drop(made);
}

static void test_mixture(void **state)
{
    (void)state;
    struct sr_classifier *made =
        cascade(&linear, (struct sr_fusion){.neural = 1, .linear = 1, .temperature = 0.5F});
    struct sr_classifier_job job = job_of("a text");
    linear_says = (const float[]){0.5F, 0.3F, 0.2F};
    assert_int_equal(sr_classifier_start(made, &job), SR_OK);
    float a = 0.1F * 0.1F, b = 0.03F * 0.03F, c = 0.14F * 0.14F, sum = a + b + c;
    is(a / sum, b / sum, c / sum);
    sr_classifier_release(made, &job);
    drop(made);
}

static void test_the_linear_answer_stands(void **state)
{
    (void)state;
    static const int refusals[] = {SR_EBUSY, SR_ELIMIT, SR_ENOMEM, SR_ECLOSED};
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_job job;
    linear_says = (const float[]){0.4F, 0.35F, 0.25F};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        job = job_of("a text");
        fake.answer = refusals[i];
        assert_int_equal(sr_classifier_start(made, &job), SR_OK);
        assert_string_equal(job.tier, "linear");
        is(0.4F, 0.35F, 0.25F);
        sr_classifier_release(made, &job);
    }
    job = job_of("a text");
    fake.answer = SR_AGAIN;
    assert_int_equal(sr_classifier_start(made, &job), SR_AGAIN);
    neural_answers(SR_ENOMEM);
    assert_int_equal(done_status, SR_OK);
    assert_string_equal(job.tier, "linear");
    sr_classifier_release(made, &job);
    job = job_of("a text");
    assert_int_equal(sr_classifier_start(made, &job), SR_AGAIN);
    sr_classifier_cancel(made, &job);
    assert_int_equal(done, 1);
    assert_int_equal(done_status, SR_ECANCELED);
    sr_classifier_release(made, &job);
    drop(made);
}

/* The deadline has passed: what the linear tier said is the answer, and without one there is none. */
static void test_settled(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(&linear, alone);
    struct sr_classifier_job job = job_of("a text");
    linear_says = (const float[]){0.4F, 0.35F, 0.25F};
    fake.answer = SR_AGAIN;
    assert_int_equal(sr_classifier_start(made, &job), SR_AGAIN);
    sr_classifier_settle(made, &job);
    assert_int_equal(done, 1);
    assert_int_equal(done_status, SR_OK);
    assert_string_equal(job.tier, "linear");
    is(0.4F, 0.35F, 0.25F);
    sr_classifier_settle(made, &job); /* once more: nothing happens */
    assert_int_equal(done, 1);
    sr_classifier_release(made, &job);
    drop(made);
    made = cascade(NULL, alone);
    job = job_of("a text");
    assert_int_equal(sr_classifier_start(made, &job), SR_AGAIN);
    sr_classifier_settle(made, &job);
    assert_int_equal(done_status, SR_ETIMEOUT);
    sr_classifier_release(made, &job);
    sr_classifier_unref(made);
}

static void test_the_neural_alone(void **state)
{
    (void)state;
    struct sr_classifier *made = cascade(NULL, (struct sr_fusion){0});
    struct sr_classifier_job job = job_of("a text");
    assert_string_equal(made->labels[0], "Math");
    assert_int_equal(sr_classifier_start(made, &job), SR_OK);
    is(0.7F, 0.2F, 0.1F);
    sr_classifier_release(made, &job);
    job = job_of("a text");
    fake.answer = SR_EBUSY;
    assert_int_equal(sr_classifier_start(made, &job), SR_EBUSY);
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
        cmocka_unit_test_setup(test_settled, setup),
        cmocka_unit_test_setup(test_the_neural_alone, setup),
        cmocka_unit_test_setup(test_what_does_not_fit, setup),
        cmocka_unit_test(test_linear_limit),
        cmocka_unit_test_setup(test_fusion_file, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* From made outcomes to a predictor: it finds what is there and no more, the same each time, and its file
 * says the same as it does. */
#include "../cmocka_all.h"

#include "base/mem.h"
#include "select/fit/curve.h"
#include "select/fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define D 8
#define N 600

static uint64_t seed = 7;

static double draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(seed >> 40) / (double)(1 << 24);
}

struct made {
    struct sr_outcomes outcomes;
    float *vectors;
};

/* `strong` is right on 90 % of the texts, `weak` where the first number of the vector is positive, and by
 * chance where `noise` says so. */
static void make(struct made *m, double noise)
{
    char line[256];
    seed = 7;
    sr_outcomes_init(&m->outcomes);
    m->vectors = calloc(N * D, sizeof *m->vectors);
    for (int i = 0; i < N; i++) {
        float *v = m->vectors + (size_t)i * D;
        double length = 0;
        for (int k = 0; k < D; k++) {
            v[k] = (float)(2 * draw() - 1);
            length += (double)(v[k] * v[k]);
        }
        for (int k = 0; k < D; k++)
            v[k] /= (float)sqrt(length);
        bool weak = draw() < noise ? draw() < 0.5 : v[0] > 0, strong = draw() < 0.9;
        snprintf(line, sizeof line,
                 "{\"text\":\"question %d\",\"correct\":{\"weak\":%d,\"strong\":%s},\"cost\":{\"weak\":1,"
                 "\"strong\":10}}",
                 i, weak, strong ? "true" : "false");
        assert_int_equal(sr_outcomes_add(&m->outcomes, sr_bytes_str(line), NULL), SR_OK);
    }
    assert_int_equal(m->outcomes.n_texts, N);
    assert_int_equal(m->outcomes.n, 2 * N);
}

static void made_dispose(struct made *m)
{
    sr_outcomes_dispose(&m->outcomes);
    free(m->vectors);
}

static void fit(const struct made *m, struct sr_fitted *out)
{
    struct sr_fit_inputs in = {&m->outcomes, m->vectors, D, "enc", 1};
    struct sr_err err = {0};
    int rc = sr_fit(out, &in, NULL, &err);
    if (rc)
        fail_msg("%s", err.message);
}

static void curve_of(const struct made *m, const float *predicted, struct sr_selection_curve *curve)
{
    float *scores = calloc(2 * N, sizeof *scores);
    double costs[SR_OUTCOMES_MODELS];
    sr_outcomes_scores(&m->outcomes, scores);
    sr_outcomes_costs(&m->outcomes, costs);
    struct sr_curve_inputs in = {N, 2, predicted, scores, costs, 1};
    assert_int_equal(sr_selection_curve(curve, &in, NULL), SR_OK);
    free(scores);
}

static void test_it_finds_what_is_there(void **state)
{
    struct made m;
    struct sr_fitted fitted;
    struct sr_selection_curve *curve = malloc(sizeof *curve);
    (void)state;
    make(&m, 0);
    fit(&m, &fitted);
    curve_of(&m, fitted.left_out, curve);
    assert_true(fitted.losses[0] < 0.15); /* of 0.25 for a constant */
    assert_true(fitted.losses[1] < fitted.base[1] * 1.1);
    assert_true(curve->two && curve->apgr > 0.7 && curve->apgr_low > 0.65);
    assert_int_equal(curve->strong, 1);
    assert_true(curve->aiq_coin < curve->aiq_router && curve->aiq_router <= curve->aiq_oracle + 1e-9);
    assert_true(fabs(curve->low - 0.1) < 1e-9 && fabs(curve->high - 1) < 1e-9);
    free(curve);
    sr_fitted_dispose(&fitted);
    made_dispose(&m);
}

static void test_it_finds_nothing_in_noise(void **state)
{
    struct made m;
    struct sr_fitted fitted;
    struct sr_selection_curve *curve = malloc(sizeof *curve);
    (void)state;
    make(&m, 1);
    fit(&m, &fitted);
    curve_of(&m, fitted.left_out, curve);
    assert_true(curve->apgr > 0.4 && curve->apgr < 0.6);
    free(curve);
    sr_fitted_dispose(&fitted);
    made_dispose(&m);
}

static void test_probabilities_are_calibrated(void **state)
{
    struct made m;
    struct sr_fitted fitted;
    (void)state;
    make(&m, 0.3);
    fit(&m, &fitted);
    double said = 0, was = 0, n = 0;
    float *scores = calloc(2 * N, sizeof *scores);
    sr_outcomes_scores(&m.outcomes, scores);
    for (size_t i = 0; i < N; i++) {
        if (fitted.left_out[2 * i] < 0.6F)
            continue;
        said += (double)fitted.left_out[2 * i];
        was += (double)scores[2 * i];
        n++;
    }
    assert_true(n > 100 && fabs(said - was) / n < 0.08);
    free(scores);
    sr_fitted_dispose(&fitted);
    made_dispose(&m);
}

static void test_the_file_says_the_same(void **state)
{
    struct made m;
    struct sr_fitted fitted, again;
    struct sr_predictor read;
    struct sr_buf text, other;
    struct sr_err err = {0};
    float features[SR_FEATURES];
    (void)state;
    make(&m, 0.1);
    fit(&m, &fitted);
    fit(&m, &again);
    sr_buf_init(&text, SR_PREDICTOR_FILE_MAX);
    sr_buf_init(&other, SR_PREDICTOR_FILE_MAX);
    assert_int_equal(sr_predictor_write(&fitted.predictor, &text), SR_OK);
    assert_int_equal(sr_predictor_write(&again.predictor, &other), SR_OK);
    assert_int_equal(text.len, other.len);
    assert_memory_equal(text.data, other.data, text.len);
    if (sr_predictor_parse(&read, sr_buf_view(&text), &err))
        fail_msg("%s", err.message);
    assert_int_equal(read.n, 2);
    assert_null(sr_predictor_find(&read, "other"));
    for (size_t i = 0; i < 20; i++) {
        struct sr_bytes asked = m.outcomes.texts[i];
        sr_predictor_features(&fitted.predictor, asked, features);
        double here = sr_predictor_probability(&fitted.predictor, &fitted.predictor.models[0],
                                               m.vectors + i * D, features);
        sr_predictor_features(&read, asked, features);
        double there = sr_predictor_probability(&read, &read.models[0], m.vectors + i * D, features);
        assert_true(fabs(here - there) < 1e-4);
    }
    sr_predictor_dispose(&read);
    sr_buf_dispose(&text);
    sr_buf_dispose(&other);
    sr_fitted_dispose(&fitted);
    sr_fitted_dispose(&again);
    made_dispose(&m);
}

static void test_a_budget_finds_its_weight(void **state)
{
    struct made m;
    struct sr_fitted fitted;
    struct sr_selection_curve *curve = malloc(sizeof *curve);
    (void)state;
    make(&m, 0);
    fit(&m, &fitted);
    curve_of(&m, fitted.left_out, curve);
    sr_curve_points(curve, &fitted.predictor);
    assert_true(fitted.predictor.n_points > 4);
    double before = 0;
    for (int share = 10; share > 1; share--) { /* less money, more weight on the cost */
        double weight = sr_predictor_weight_of(&fitted.predictor, share / 10.0);
        assert_true(weight >= before);
        before = weight;
    }
    free(curve);
    sr_fitted_dispose(&fitted);
    made_dispose(&m);
}

static void test_lines(void **state)
{
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "{\"text\":\"a\"}",
                                      "{\"text\":\"a\",\"score\":1}",
                                      "{\"text\":\"a\",\"model\":\"m\",\"score\":1.5}",
                                      "{\"text\":\"a\",\"model\":\"m\",\"score\":\"1\"}",
                                      "{\"text\":\"a\",\"model\":\"\",\"score\":1}",
                                      "{\"text\":\"a\",\"model\":\"m\",\"score\":1,\"cost\":-1}",
                                      "{\"text\":1,\"model\":\"m\",\"score\":1}"};
    struct sr_outcomes o;
    (void)state;
    sr_outcomes_init(&o);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sr_err err = {0};
        assert_int_equal(sr_outcomes_add(&o, sr_bytes_str(bad[i]), &err), SR_EPARSE);
        assert_true(err.message[0]);
    }
    assert_int_equal(o.n, 0);
    static const char *const good[] = {"{\"text\":\"a\",\"model\":\"m\",\"correct\":true,\"cost\":2}",
                                       "{\"text\":\"a\",\"model\":\"n\",\"score\":0.25,\"cost\":null}",
                                       "{\"text\":\"b\",\"correct\":{\"n\":0}}"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(sr_outcomes_add(&o, sr_bytes_str(good[i]), NULL), SR_OK);
    float scores[4];
    double costs[SR_OUTCOMES_MODELS];
    sr_outcomes_scores(&o, scores);
    sr_outcomes_costs(&o, costs);
    assert_true(scores[0] == 1 && scores[1] == 0.25F && isnan(scores[2]) && scores[3] == 0);
    assert_true(costs[0] == 2 && costs[1] == 1);
    sr_outcomes_dispose(&o);
}

static void test_too_little(void **state)
{
    struct sr_outcomes o;
    struct sr_fitted fitted;
    struct sr_err err = {0};
    float vectors[40 * D] = {0};
    char line[128];
    (void)state;
    sr_outcomes_init(&o);
    for (int i = 0; i < 10; i++) {
        snprintf(line, sizeof line, "{\"text\":\"%d\",\"model\":\"m\",\"score\":%d}", i, i % 2);
        assert_int_equal(sr_outcomes_add(&o, sr_bytes_str(line), NULL), SR_OK);
    }
    struct sr_fit_inputs in = {&o, vectors, D, "enc", 1};
    assert_int_equal(sr_fit(&fitted, &in, NULL, &err), SR_EINVAL);
    for (int i = 10; i < 30; i++) {
        snprintf(line, sizeof line, "{\"text\":\"%d\",\"model\":\"n\",\"score\":1}", i);
        assert_int_equal(sr_outcomes_add(&o, sr_bytes_str(line), NULL), SR_OK);
        snprintf(line, sizeof line, "{\"text\":\"%d\",\"model\":\"m\",\"score\":%d}", i, i % 2);
        assert_int_equal(sr_outcomes_add(&o, sr_bytes_str(line), NULL), SR_OK);
    }
    assert_int_equal(sr_fit(&fitted, &in, NULL, &err), SR_EINVAL);
    assert_non_null(strstr(err.message, "the same"));
    sr_outcomes_dispose(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_finds_what_is_there),
        cmocka_unit_test(test_it_finds_nothing_in_noise),
        cmocka_unit_test(test_probabilities_are_calibrated),
        cmocka_unit_test(test_the_file_says_the_same),
        cmocka_unit_test(test_a_budget_finds_its_weight),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

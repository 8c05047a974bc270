/* How the risks of windows become a text's risk: agreement, a single high risk, edges. */
#include "signal/guard/risk.h"

#include "tests/unit/cmocka_all.h"

#include <math.h>

#define SPREAD SR_RISK_SPREAD_LINEAR

static float gathered(const float *p, size_t n)
{
    struct sr_risk risk = {.spread = SPREAD};
    for (size_t i = 0; i < n; i++)
        sr_risk_add(&risk, p[i]);
    return sr_risk_gathered(&risk);
}

static double log_odds(float p)
{
    return log((double)p / (1 - (double)p));
}

static void one_window_answers_for_itself(void **state)
{
    (void)state;
    for (int i = 1; i < 100; i++) {
        float p = (float)i / 100;
        assert_true(fabsf(gathered(&p, 1) - p) < 1e-5F);
    }
    assert_true(gathered(NULL, 0) <= 0);
}

static void windows_that_agree_answer_as_each_does(void **state)
{
    (void)state;
    float p[40];
    for (size_t i = 0; i < 40; i++)
        p[i] = 0.83F;
    assert_true(fabsf(gathered(p, 40) - 0.83F) < 1e-5F);
}

static void one_that_stands_out_is_paid_for_by_the_logarithm_of_their_number(void **state)
{
    (void)state;
    float p[64];
    for (size_t n = 2; n <= 64; n *= 2) {
        for (size_t i = 0; i < n; i++)
            p[i] = 1e-6F;
        p[n / 2] = 0.99F;
        double less = log_odds(0.99F) - log_odds(gathered(p, n));
        assert_true(less > 0);
        assert_true(less <= SPREAD * log((double)n) + 1e-3);
    }
}

static void more_risk_in_any_window_is_never_less_in_all(void **state)
{
    (void)state;
    float p[8] = {0.1F, 0.2F, 0.3F, 0.05F, 0.6F, 0.01F, 0.4F, 0.5F};
    for (size_t i = 0; i < 8; i++) {
        float before = gathered(p, 8);
        p[i] = fminf(1, p[i] + 0.35F);
        assert_true(gathered(p, 8) >= before);
    }
}

static void certainty_stays_a_number(void **state)
{
    (void)state;
    float p[3] = {0, 1, 0.5F};
    float all = gathered(p, 3);
    assert_true(all > 0.99F && all <= 1);
    p[1] = 0;
    all = gathered(p, 3);
    assert_true(all > 0 && all < 0.5F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_window_answers_for_itself),
        cmocka_unit_test(windows_that_agree_answer_as_each_does),
        cmocka_unit_test(one_that_stands_out_is_paid_for_by_the_logarithm_of_their_number),
        cmocka_unit_test(more_risk_in_any_window_is_never_less_in_all),
        cmocka_unit_test(certainty_stays_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which conversations keep their model: each rule, the price of a switch, and the table of conversations. */
#include "../cmocka_all.h"

#include "select/protect.h"

#include <math.h>

static const struct sr_config_protection defaults = {
    .enabled = true, .idle_timeout_s = 300, .min_turns = 1, .switch_margin = 0.05, .stability_weight = 1};

static struct sr_hold hold_of(uint32_t turns)
{
    return (struct sr_hold){.decision = 7, .arm = 1, .turns = turns, .bytes = 100, .ended_ms = 1000};
}

static struct sr_protect_ask ask_of(const struct sr_hold *hold)
{
    return (struct sr_protect_ask){
        .config = &defaults, .hold = hold, .decision = 7, .now_ms = 2000, .bytes = 100};
}

static void test_what_goes_on(void **state)
{
    struct sr_protect_verdict v;
    struct sr_hold hold = hold_of(1);
    struct sr_protect_ask ask = ask_of(&hold);
    struct sr_config_protection never = defaults;
    (void)state;
    assert_true(sr_protect_continues(&ask, &v));
    ask.now_ms = 1000 + 300 * 1000;
    assert_true(sr_protect_continues(&ask, &v));
    ask.now_ms++;
    assert_false(sr_protect_continues(&ask, &v));
    assert_string_equal(v.reason, "idle");
    never.idle_timeout_s = 0;
    ask.config = &never;
    assert_true(sr_protect_continues(&ask, &v));
    ask.decision = 8;
    assert_false(sr_protect_continues(&ask, &v));
    assert_string_equal(v.reason, "decision_changed");
    ask.hold = NULL;
    assert_false(sr_protect_continues(&ask, &v));
    assert_string_equal(v.reason, "first_turn");
}

static const char *decided(const struct sr_protect_ask *ask, double best, double held, bool same, bool holds)
{
    struct sr_protect_verdict v;
    sr_protect_decide(ask, best, held, same, &v);
    assert_int_equal(v.holds, holds);
    return v.reason;
}

static void test_rules_in_their_order(void **state)
{
    struct sr_hold hold = hold_of(0);
    struct sr_protect_ask ask = ask_of(&hold);
    (void)state;
    assert_string_equal(decided(&ask, 1, 1, true, false), "same_model");
    assert_string_equal(decided(&ask, 1, 0, false, true), "min_turns");
    ask.tool_loop = true;
    assert_string_equal(decided(&ask, 1, 0, false, true), "tool_loop");
    assert_string_equal(decided(&ask, 1, -HUGE_VAL, false, false), "not_eligible");
    hold.failures = SR_PROTECT_FAILURES;
    assert_string_equal(decided(&ask, 1, 0, false, false), "failures");
}

/* The smallest gain that is worth a switch. */
static double price(const struct sr_protect_ask *ask, double best)
{
    struct sr_protect_verdict v;
    double gain = 0;
    for (; gain < 10; gain += 0.001) {
        sr_protect_decide(ask, best, best - gain, false, &v);
        if (!v.holds)
            break;
    }
    return gain;
}

static void test_the_price_of_a_switch(void **state)
{
    struct sr_hold hold = hold_of(1);
    struct sr_protect_ask ask = ask_of(&hold);
    (void)state;
    assert_true(fabs(price(&ask, 1) - 0.30) < 0.002); /* margin, handoff, all of the prompt was read */
    ask.bytes = 200;
    assert_true(fabs(price(&ask, 1) - 0.20) < 0.002);
    ask.bytes = 0;
    assert_true(fabs(price(&ask, 1) - 0.10) < 0.002);
    hold.switches = 2;
    assert_true(fabs(price(&ask, 1) - 0.18) < 0.002);
    hold.switches = 1000;
    assert_true(fabs(price(&ask, 1) - 0.30) < 0.002);
    assert_true(fabs(price(&ask, -4) - 1.20) < 0.002); /* scores of another scale */
}

static void note(struct sr_holds *holds, uint64_t key, uint64_t arm, bool failed, int64_t at)
{
    sr_holds_note(
        holds, key,
        &(struct sr_hold_turn){.decision = 7, .arm = arm, .bytes = 5, .failed = failed, .ended_ms = at});
}

static void test_turns_are_noted(void **state)
{
    struct sr_holds *holds;
    struct sr_hold hold;
    (void)state;
    assert_int_equal(sr_holds_new(&holds), SR_OK);
    assert_false(sr_holds_get(holds, 3, &hold));
    for (int64_t i = 0; i < 4; i++)
        note(holds, 3, 1, i == 3, i);
    assert_true(sr_holds_get(holds, 3, &hold));
    assert_true(hold.turns == 3 && hold.failures == 1 && hold.switches == 0 && hold.ended_ms == 3);
    note(holds, 3, 2, false, 9);
    assert_true(sr_holds_get(holds, 3, &hold));
    assert_true(hold.turns == 1 && hold.failures == 0 && hold.switches == 1 && hold.arm == 2);
    sr_holds_note(holds, 3, &(struct sr_hold_turn){.decision = 8, .arm = 2});
    assert_true(sr_holds_get(holds, 3, &hold));
    assert_true(hold.decision == 8 && hold.turns == 1 && hold.switches == 0);
    sr_holds_free(holds);
    sr_holds_free(NULL);
}

static void test_the_one_that_rested_longest_gives_way(void **state)
{
    struct sr_holds *holds;
    struct sr_hold hold;
    size_t kept = 0;
    (void)state;
    assert_int_equal(sr_holds_new(&holds), SR_OK);
    for (uint64_t key = 1; key <= 2 * SR_HOLDS_MAX; key++)
        note(holds, key, 1, false, (int64_t)key);
    for (uint64_t key = 1; key <= 2 * SR_HOLDS_MAX; key++) {
        bool known = sr_holds_get(holds, key, &hold);
        kept += known;
        assert_int_equal(known, key > SR_HOLDS_MAX);
    }
    assert_int_equal(kept, SR_HOLDS_MAX);
    sr_holds_free(holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_goes_on),
        cmocka_unit_test(test_rules_in_their_order),
        cmocka_unit_test(test_the_price_of_a_switch),
        cmocka_unit_test(test_turns_are_noted),
        cmocka_unit_test(test_the_one_that_rested_longest_gives_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

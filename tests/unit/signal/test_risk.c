/* How the windows of both tiers become a unit's risk: what is added elsewhere does not lower that of a short
 * unit, and that of a long one by no more than its length takes. */
#include "signal/guard/jailbreak.h"
#include "signal/guard/risk.h"

#include "tests/unit/cmocka_all.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST 24

static const struct sr_fusion fusion = {
    .neural = 0.8F, .linear = 0.3F, .temperature = 1, .shift = 0.2F, .linear_limit = 3};

/* A unit as both tiers read it; `is_long`: its passages count. */
struct unit {
    struct sr_risk_window linear[2 * MOST], neural[2 * MOST], passages[8 * MOST], alone[8 * MOST];
    struct sr_risk_range whole[2];
    size_t n_linear, n_neural, n_whole, n_passages, n_alone;
    bool is_long;
    uint32_t end;
};

static float risk_of(const struct unit *unit)
{
    struct unit copy = *unit; /* its windows are sorted */
    struct sr_risk_sides sides = {.linear = copy.linear,
                                  .n_linear = copy.n_linear,
                                  .neural = copy.neural,
                                  .n_neural = copy.n_neural,
                                  .whole = copy.whole,
                                  .n_whole = copy.n_whole,
                                  .passages = copy.passages,
                                  .n_passages = copy.n_passages,
                                  .alone = copy.alone,
                                  .n_alone = copy.n_alone,
                                  .stretches = copy.is_long ? sr_risk_stretches(copy.end) : 0};
    return sr_risk_of(&sides, &fusion).risk;
}

static float some_risk(unsigned *seed)
{
    float p = (float)(rand_r(seed) % 1000) / 1000;
    return rand_r(seed) % 3 ? p * p * p : p;
}

/* Windows as the tiers make them: of one length, overlapping, with views anywhere. */
static void add_text(struct unit *unit, uint32_t windows, bool neural, unsigned *seed)
{
    uint32_t from = unit->end, end = from + windows * 1024 + 512;
    for (uint32_t i = 0; i < windows; i++) {
        uint32_t start = from + i * 1024;
        unit->linear[unit->n_linear++] = (struct sr_risk_window){start, start + 1536, some_risk(seed), 1, 0};
    }
    if (windows && rand_r(seed) % 2) {
        uint32_t start = from + (uint32_t)rand_r(seed) % (end - from);
        unit->linear[unit->n_linear++] = (struct sr_risk_window){
            start, start + (uint32_t)rand_r(seed) % (end - start) + 1, some_risk(seed), 1, 4};
    }
    for (uint32_t at = from; unit->is_long && at < end; at += 400)
        unit->passages[unit->n_passages++] = (struct sr_risk_window){at, at + 390, some_risk(seed), 1, 0};
    for (uint32_t at = from; unit->is_long && at < end; at += 400 * (1 + (uint32_t)rand_r(seed) % 4))
        unit->alone[unit->n_alone++] = (struct sr_risk_window){at, at + 390, some_risk(seed), 1, 0};
    for (uint32_t at = from; neural && at < end; at += 900)
        unit->neural[unit->n_neural++] = (struct sr_risk_window){at, at + 1000, some_risk(seed), 0, 0};
    if (neural && rand_r(seed) % 2)
        unit->whole[unit->n_whole++] = (struct sr_risk_range){from, end};
    unit->end = end;
}

static void added_text_never_lowers_the_risk(void **state)
{
    unsigned seed = 3;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct unit unit = {.n_linear = 0};
        add_text(&unit, 1 + (uint32_t)rand_r(&seed) % 6, rand_r(&seed) % 4 != 0, &seed);
        float alone = risk_of(&unit);
        add_text(&unit, 1 + (uint32_t)rand_r(&seed) % 8, rand_r(&seed) % 3 != 0, &seed);
        assert_true(risk_of(&unit) >= alone);
    }
}

/* The same with what is added in front: the first text's windows only move. */
static void text_in_front_never_lowers_the_risk(void **state)
{
    unsigned seed = 5;
    (void)state;
    for (int round = 0; round < 5000; round++) {
        unsigned again = (unsigned)rand_r(&seed);
        uint32_t windows = 1 + again % 6;
        struct unit alone = {.n_linear = 0}, behind = {.n_linear = 0};
        unsigned other = (unsigned)rand_r(&seed);
        add_text(&alone, windows, true, &(unsigned){again});
        add_text(&behind, 1 + other % 5, true, &other);
        add_text(&behind, windows, true, &(unsigned){again});
        assert_true(risk_of(&behind) >= risk_of(&alone));
    }
}

static void more_risk_in_any_window_is_never_less_in_all(void **state)
{
    unsigned seed = 9;
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct unit unit = {.n_linear = 0};
        add_text(&unit, 1 + (uint32_t)rand_r(&seed) % 6, true, &seed);
        float before = risk_of(&unit);
        struct sr_risk_window *raised = rand_r(&seed) % 2
                                            ? &unit.linear[(size_t)rand_r(&seed) % unit.n_linear]
                                            : &unit.neural[(size_t)rand_r(&seed) % unit.n_neural];
        raised->risk = fminf(1, raised->risk + 0.3F);
        assert_true(risk_of(&unit) >= before - 1e-6F);
    }
}

static float odds(float risk)
{
    return logf(risk) - log1pf(-risk);
}

/* What is added to a long unit takes no more than its length does, which is never more than
 * SR_RISK_LONG_MOST, and than a passage that is read alone does. */
static void added_text_costs_a_long_unit_little(void **state)
{
    unsigned seed = 13;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct unit unit = {.is_long = true};
        add_text(&unit, 3 + (uint32_t)rand_r(&seed) % 4, rand_r(&seed) % 4 != 0, &seed);
        float alone = odds(risk_of(&unit)), before = sr_risk_long_shift(sr_risk_stretches(unit.end));
        add_text(&unit, 1 + (uint32_t)rand_r(&seed) % 8, rand_r(&seed) % 3 != 0, &seed);
        float after = sr_risk_long_shift(sr_risk_stretches(unit.end));
        assert_true(odds(risk_of(&unit)) >= alone - (after - before) - SR_RISK_ALONE_MOST - 1e-3F);
    }
}

/* A window of the neural classifier and the passage in it that has the highest risk count together. */
static void a_long_unit_mixes_windows_with_passages(void **state)
{
    struct unit unit = {.is_long = true, .end = 4096};
    (void)state;
    unit.neural[unit.n_neural++] = (struct sr_risk_window){0, 1000, 0.9F, 0, 0};
    unit.passages[unit.n_passages++] = (struct sr_risk_window){1100, 1200, 0.99F, 1, 0};
    unit.passages[unit.n_passages++] = (struct sr_risk_window){10, 300, 0.2F, 1, 0};
    unit.passages[unit.n_passages++] = (struct sr_risk_window){300, 600, 0.6F, 1, 0};
    unit.linear[unit.n_linear++] = (struct sr_risk_window){0, 1536, SR_RISK_MAX, 1, 0};
    unit.whole[unit.n_whole++] = (struct sr_risk_range){0, 4096};
    float rest = 1 - SR_RISK_LONG_NEURAL, shift = sr_risk_long_shift(4);
    float want = SR_RISK_LONG_NEURAL * odds(0.9F) + rest * odds(0.6F) - shift;
    assert_true(fabsf(odds(risk_of(&unit)) - want) < 1e-3F);
    unit.passages[1].risk = SR_RISK_MAX; /* no more than the limit */
    want = SR_RISK_LONG_NEURAL * odds(0.9F) + rest * SR_RISK_LONG_LIMIT - shift;
    assert_true(fabsf(odds(risk_of(&unit)) - want) < 1e-3F);
    unit.n_whole = 0; /* the neural classifier has not read all of it */
    assert_true(risk_of(&unit) >= SR_RISK_MAX);
}

/* Of the passages that were read alone in a window the highest counts, with the window; elsewhere none does.
 */
static void what_was_read_alone_counts_in_its_window(void **state)
{
    struct unit unit = {.is_long = true, .end = 4096};
    float shift = sr_risk_long_shift(4), rest = 1 - SR_RISK_ALONE;
    (void)state;
    unit.neural[unit.n_neural++] = (struct sr_risk_window){0, 1000, 0.4F, 0, 0};
    unit.neural[unit.n_neural++] = (struct sr_risk_window){900, 1900, 0.3F, 0, 0};
    unit.alone[unit.n_alone++] = (struct sr_risk_window){2000, 2100, 0.99F, 1, 0};
    assert_true(fabsf(odds(risk_of(&unit)) - (odds(0.4F) - shift)) < 1e-3F);
    unit.alone[unit.n_alone++] = (struct sr_risk_window){100, 200, 0.2F, 1, 0};
    unit.alone[unit.n_alone++] = (struct sr_risk_window){300, 400, 0.95F, 1, 0};
    float want = SR_RISK_ALONE * odds(0.95F) + rest * odds(0.4F) - shift;
    assert_true(fabsf(odds(risk_of(&unit)) - want) < 1e-3F);
    unit.alone[1].risk = unit.alone[2].risk = 0.001F; /* it takes no more off than the limit */
    assert_true(fabsf(odds(risk_of(&unit)) - (odds(0.4F) - SR_RISK_ALONE_MOST - shift)) < 1e-3F);
    unit.is_long = false; /* a short unit has none */
    assert_true(fabsf(risk_of(&unit) - 0.4F) < 1e-5F);
}

static void the_bar_rises_with_the_length(void **state)
{
    float last = 0;
    (void)state;
    assert_int_equal(sr_risk_stretches(0), 0);
    assert_int_equal(sr_risk_stretches(SR_RISK_STRETCH), 1);
    assert_int_equal(sr_risk_stretches(SR_RISK_STRETCH + 1), 2);
    assert_true(sr_risk_long_shift(SR_RISK_LONG_FROM - 1) == 0);
    for (size_t n = SR_RISK_LONG_FROM; n < 100000; n = n * 5 / 4) {
        float shift = sr_risk_long_shift(n);
        assert_true(shift >= last && shift > 0 && shift <= SR_RISK_LONG_MOST);
        last = shift;
    }
    assert_true(last >= SR_RISK_LONG_MOST);
}

/* A part of a text that the neural classifier has not read keeps what the linear tier says of it. */
static void what_was_not_read_is_not_lowered(void **state)
{
    struct unit unit = {.linear = {{0, 1536, 0.9F, 1, 0}}, .n_linear = 1};
    (void)state;
    assert_true(fabsf(risk_of(&unit) - 0.9F) < 1e-6F);
    unit.neural[unit.n_neural++] = (struct sr_risk_window){0, 1000, 0.01F, 0, 0};
    assert_true(fabsf(risk_of(&unit) - 0.9F) < 1e-6F);
    unit.whole[unit.n_whole++] = (struct sr_risk_range){0, 1536};
    assert_true(risk_of(&unit) < 0.5F);
}

static void edges(void **state)
{
    struct unit unit = {.n_linear = 0};
    (void)state;
    assert_true(risk_of(&unit) <= 0);
    unit.neural[unit.n_neural++] =
        (struct sr_risk_window){.start = 5, .end = 9, .risk = 0.75F, .disguise = 2};
    assert_true(fabsf(risk_of(&unit) - 0.75F) < 1e-6F); /* no linear tier */
    unit.linear[unit.n_linear++] = (struct sr_risk_window){0, 9, 1, 1, 0};
    unit.neural[0].risk = 0;
    assert_true(risk_of(&unit) <= 1 && risk_of(&unit) >= 0);
}

/* The calibration of a role: one shift of the log odds, which keeps the order of risks and their ends. */
static void lowered(void **state)
{
    (void)state;
    assert_true(sr_risk_lowered(0, 4) == 0);
    assert_true(sr_risk_lowered(0.5F, 0) == 0.5F);
    assert_true(fabsf(sr_risk_lowered(0.5F, logf(3)) - 0.25F) < 1e-6F);
    assert_true(sr_risk_lowered(SR_RISK_MAX, 4) < SR_RISK_MAX);
    float last = 0;
    for (int i = 1; i <= 1000; i++) {
        float risk = sr_risk_lowered((float)i / 1000 * SR_RISK_MAX, SR_RISK_SYSTEM_LINEAR);
        assert_true(risk > last && risk <= (float)i / 1000);
        last = risk;
    }
}

/* What the neural classifier of other scripts has read has a calibration of its own in the system role,
 * whichever tier has the higher risk. */
static void the_reader_is_known(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sr_risk_window linear = {.start = 0, .end = 9, .risk = i ? 0.9F : 0.1F};
        struct sr_risk_window neural = {.start = 0, .end = 9, .risk = 0.5F, .other = true};
        struct sr_risk_sides sides = {
            .linear = &linear, .n_linear = 1, .neural = &neural, .n_neural = 1, .other = &fusion};
        sides.whole = &(struct sr_risk_range){0, 9};
        sides.n_whole = 1;
        assert_true(sr_risk_of(&sides, &fusion).other);
        neural.other = false;
        assert_false(sr_risk_of(&sides, &fusion).other);
    }
    struct sr_jailbreak_unit unit = {.mixed = true, .system = true, .worst = {.risk = 0.9F, .other = true}};
    assert_true(sr_jailbreak_unit_risk(&unit) == sr_risk_lowered(0.9F, SR_RISK_SYSTEM_OTHER));
    unit.worst.other = false;
    assert_true(sr_jailbreak_unit_risk(&unit) == sr_risk_lowered(0.9F, SR_RISK_SYSTEM_BOTH));
    unit.mixed = false;
    assert_true(sr_jailbreak_unit_risk(&unit) == sr_risk_lowered(0.9F, SR_RISK_SYSTEM_LINEAR));
    unit.system = false;
    assert_true(sr_jailbreak_unit_risk(&unit) == 0.9F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_text_never_lowers_the_risk),
        cmocka_unit_test(text_in_front_never_lowers_the_risk),
        cmocka_unit_test(more_risk_in_any_window_is_never_less_in_all),
        cmocka_unit_test(added_text_costs_a_long_unit_little),
        cmocka_unit_test(a_long_unit_mixes_windows_with_passages),
        cmocka_unit_test(what_was_read_alone_counts_in_its_window),
        cmocka_unit_test(the_bar_rises_with_the_length),
        cmocka_unit_test(what_was_not_read_is_not_lowered),
        cmocka_unit_test(edges),
        cmocka_unit_test(lowered),
        cmocka_unit_test(the_reader_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Counting by group. The sources are part of the program, so the test takes them in. */
#include "tests/unit/cmocka_all.h"

#include "src/cli/classify/report.c"
#include "src/cli/eval/tally.c"
#include "src/cli/measure.c"

#include <stdio.h>

static int add(struct sr_tally *tally, const char *file, const char *lang, size_t tokens, bool hit)
{
    struct sr_tally_row row = {.tokens = tokens, .rates = {{hit, 1}}};
    row.values[SR_TALLY_FILE] = sr_bytes_str(file);
    if (lang)
        row.values[SR_TALLY_LANG] = sr_bytes_str(lang);
    row.values[SR_TALLY_TIER] = SR_LIT("linear");
    return sr_tally_add(tally, &row);
}

static void groups_by_hand(void **state)
{
    (void)state;
    struct sr_tally tally = {.rates = {"recall", NULL}, .titles = {"recall", NULL}};
    struct sr_report report;
    size_t files;
    assert_int_equal(add(&tally, "a", "de", 5, true), SR_OK);
    assert_int_equal(add(&tally, "a", NULL, 31, false), SR_OK);
    assert_int_equal(add(&tally, "b", "de", 40000, true), SR_OK);
    assert_float_equal((float)sr_tally_mean(&tally, 0, &files), 0.75F, 1e-6F);
    assert_int_equal(files, 2);
    assert_float_equal((float)sr_tally_mean(&tally, 1, &files), 0.0F, 1e-6F);
    assert_int_equal(files, 0);
    sr_report_init(&report);
    sr_tally_put_json(&tally, &report);
    assert_int_equal(report.json.rc, SR_OK);
    assert_string_equal(
        report.text.data,
        "\"tiers\":{\"linear\":1.000000},\"by\":{\"file\":{"
        "\"a\":{\"rows\":2,\"recall\":0.500000,\"recall_interval\":[0.0945,0.9055],\"recall_of\":2},"
        "\"b\":{\"rows\":1,\"recall\":1.000000,\"recall_interval\":[0.2065,1.0000],\"recall_of\":1}},"
        "\"lang\":{"
        "\"de\":{\"rows\":2,\"recall\":1.000000,\"recall_interval\":[0.3424,1.0000],\"recall_of\":2}},"
        "\"tokens\":{"
        "\"0-31\":{\"rows\":2,\"recall\":0.500000,\"recall_interval\":[0.0945,0.9055],\"recall_of\":2},"
        "\"32768-\":{\"rows\":1,\"recall\":1.000000,\"recall_interval\":[0.2065,1.0000],\"recall_of\":1}},"
        "\"tier\":{"
        "\"linear\":{\"rows\":3,\"recall\":0.666667,\"recall_interval\":[0.2077,0.9385],\"recall_of\":3}}}");
    sr_report_dispose(&report);
    sr_tally_dispose(&tally);
}

static void too_many_values_are_counted_together(void **state)
{
    (void)state;
    struct sr_tally tally = {.rates = {"recall", NULL}, .titles = {"recall", NULL}};
    char name[SR_TALLY_VALUE_MAX * 2];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "file %d", i);
        assert_int_equal(add(&tally, name, NULL, 1, true), SR_OK);
    }
    const struct sr_tally_group *group = &tally.groups[SR_TALLY_FILE];
    assert_int_equal(group->n, SR_TALLY_VALUES_MAX);
    assert_string_equal(group->items[group->n - 1].value, "(others)");
    assert_int_equal(group->items[group->n - 1].rows, 1000 - (SR_TALLY_VALUES_MAX - 1));
    assert_int_equal(tally.rows, 1000);
    sr_tally_dispose(&tally);
}

static void long_values_are_cut_between_characters(void **state)
{
    (void)state;
    struct sr_tally tally = {.rates = {"recall", NULL}, .titles = {"recall", NULL}};
    char name[2 * SR_TALLY_VALUE_MAX + 1] = "x";
    for (int i = 0; i < SR_TALLY_VALUE_MAX - 1; i++)
        memcpy(name + 1 + 2 * i, "\xC3\xA9", 3);
    assert_int_equal(add(&tally, name, NULL, 1, true), SR_OK);
    assert_int_equal(add(&tally, name, NULL, 1, true), SR_OK);
    assert_int_equal(tally.groups[SR_TALLY_FILE].n, 1);
    assert_int_equal(strlen(tally.groups[SR_TALLY_FILE].items[0].value), SR_TALLY_VALUE_MAX - 1);
    sr_tally_dispose(&tally);
    memcpy(name, "\xC3\xA9", 2);
    assert_int_equal(add(&tally, name, NULL, 1, true), SR_OK);
    assert_true(strlen(tally.groups[SR_TALLY_FILE].items[0].value) < SR_TALLY_VALUE_MAX);
    sr_tally_dispose(&tally);
}

static void a_piece_that_is_too_long_is_an_error_that_stays(void **state)
{
    (void)state;
    struct sr_report report;
    char big[PIECE_MAX + 1];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    sr_report_init(&report);
    sr_json_text(&report.json, NULL, big);
    assert_int_equal(report.json.rc, SR_OK);
    assert_int_equal(report.text.len, PIECE_MAX + 2);
    sr_report_put(&report, "%s", big);
    sr_report_put(&report, "more");
    assert_int_equal(report.json.rc, SR_ELIMIT);
    assert_int_equal(report.text.len, PIECE_MAX + 2);
    sr_report_dispose(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_by_hand),
        cmocka_unit_test(too_many_values_are_counted_together),
        cmocka_unit_test(long_values_are_cut_between_characters),
        cmocka_unit_test(a_piece_that_is_too_long_is_an_error_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The command line's parser and the arithmetic of `eval`. Both are part of the program, not of a library, so
 * the test takes their sources in. */
#include "tests/unit/cmocka_all.h"

#include "src/cli/args.c"
#include "src/cli/measure.c"

static bool flag;
static const char *text, *tier;
static long number;

static const struct sr_option options[] = {
    {"json", SR_OPTION_FLAG, &flag, NULL, "one JSON document"},
    {"config,c", SR_OPTION_TEXT, &text, "FILE", "configuration"},
    {"port", SR_OPTION_NUMBER, &number, "N", "port"},
    {"tier", SR_OPTION_CHOICE, &tier, "linear|neural|both", "tier"},
};
static const struct sr_usage usage = {
    .name = "try", .synopsis = "[--json] TEXT", .summary = "Tries.", SR_OPTIONS(options)};

static struct sr_operands operands;
static struct sr_err err;

/* Words of one line, split at spaces. */
static int parse(const char *line)
{
    static char copy[256];
    static char *argv[32];
    int argc = 1;
    argv[0] = copy;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    flag = false;
    text = tier = NULL;
    number = -1;
    err = (struct sr_err){0};
    return sr_args_parse(&usage, argc, argv, &operands, &err);
}

static void every_way_to_write_an_option(void **state)
{
    (void)state;
    static const char *const ways[] = {"--config f", "--config=f", "-config f", "-config=f", "-c f", "-c=f"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_int_equal(parse(ways[i]), SR_OK);
        assert_string_equal(text, "f");
        assert_int_equal(operands.count, 0);
    }
    assert_int_equal(parse("a --json b --port 80 c"), SR_OK);
    assert_true(flag);
    assert_int_equal(number, 80);
    assert_int_equal(operands.count, 3);
    assert_string_equal(operands.items[0], "a");
    assert_string_equal(operands.items[2], "c");
    assert_int_equal(parse("-c one -c two"), SR_OK);
    assert_string_equal(text, "two");
    assert_int_equal(parse("--config="), SR_OK);
    assert_string_equal(text, "");
}

static void dashes_that_are_no_options(void **state)
{
    (void)state;
    assert_int_equal(parse("- -- --json -x"), SR_OK);
    assert_false(flag);
    assert_int_equal(operands.count, 3);
    assert_string_equal(operands.items[0], "-");
    assert_string_equal(operands.items[1], "--json");
    assert_int_equal(parse("--config -- x"), SR_OK); /* a value may be anything */
    assert_string_equal(text, "--");
}

static void wrong(const char *line, const char *message)
{
    assert_int_equal(parse(line), SR_EINVAL);
    assert_string_equal(err.message, message);
}

static void mistakes_say_what_to_do(void **state)
{
    (void)state;
    wrong("--confg x", "unknown option `--confg`, did you mean `--config`?");
    wrong("-zzzzzz", "unknown option `-zzzzzz`; write `--` before text that begins with a dash");
    wrong("--port", "`--port` wants a value: --port N");
    wrong("--port 80x", "`--port` wants a number, not `80x`");
    wrong("--port=99999999999", "`--port` wants a number, not `99999999999`");
    wrong("--port -1", "`--port` wants a number, not `-1`");
    wrong("--json=yes", "`--json` takes no value");
    wrong("--tier=both|neural", "`--tier` is one of linear|neural|both, not `both|neural`");
    wrong("--tier lin", "`--tier` is one of linear|neural|both, not `lin`");
    assert_int_equal(parse("--tier neural"), SR_OK);
    assert_string_equal(tier, "neural");
    assert_int_equal(parse("--json --help"), SR_ECANCELED);
    assert_int_equal(parse("-h"), SR_ECANCELED);
}

static void help_shows_every_option(void **state)
{
    (void)state;
    char *out = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&out, &n);
    assert_non_null(file);
    sr_args_help(&usage, file);
    fclose(file);
    assert_string_equal(out, "semroute try [--json] TEXT\n  Tries.\n\nOptions\n"
                             "  --json                          one JSON document\n"
                             "  --config, -c FILE               configuration\n"
                             "  --port N                        port\n"
                             "  --tier linear|neural|both       tier\n");
    free(out);
}

static void figures_by_hand(void **state)
{
    (void)state;
    struct sr_measure m = {.n_labels = 3}; /* the third label never occurs */
    assert_true(sr_measure_accuracy(&m) == 0 && sr_measure_macro_f1(&m) == 0);
    assert_true(sr_measure_calibration_error(&m) == 0);
    sr_measure_add(&m, 0, 0, 0.9);
    sr_measure_add(&m, 0, 1, 0.9);
    sr_measure_add(&m, 1, 1, 0.5);
    sr_measure_add(&m, 1, 1, 1.0);
    assert_float_equal((float)sr_measure_accuracy(&m), (float)(0.75), 1e-6F);
    assert_float_equal((float)sr_measure_precision(&m, 0), (float)(1), 1e-6F);
    assert_float_equal((float)sr_measure_recall(&m, 0), (float)(0.5), 1e-6F);
    assert_float_equal((float)sr_measure_precision(&m, 1), (float)(2.0 / 3), 1e-6F);
    assert_float_equal((float)sr_measure_f1(&m, 1), (float)(0.8), 1e-6F);
    assert_float_equal((float)sr_measure_macro_f1(&m), (float)((2.0 / 3 + 0.8) / 2), 1e-6F);
    /* bins: {0.9 right, 0.9 wrong}: |1 - 1.8|; {0.5 right}: |1 - 0.5|; {1.0 right}: 0 */
    assert_float_equal((float)sr_measure_calibration_error(&m), (float)((0.8 + 0.5) / 4), 1e-6F);
}

static void intervals_by_hand(void **state)
{
    (void)state;
    struct sr_interval nine = sr_interval_of(9, 10), none = sr_interval_of(0, 10),
                       all = sr_interval_of(10, 10);
    assert_float_equal((float)nine.low, 0.595850F, 1e-5F);
    assert_float_equal((float)nine.high, 0.982124F, 1e-5F);
    assert_true(none.low == 0 && all.high == 1);
    assert_float_equal((float)none.high, 0.277533F, 1e-5F);
    assert_float_equal((float)all.low, 0.722467F, 1e-5F);
    assert_true(sr_interval_of(0, 0).low == 0 && sr_interval_of(0, 0).high == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_an_option),
        cmocka_unit_test(dashes_that_are_no_options),
        cmocka_unit_test(mistakes_say_what_to_do),
        cmocka_unit_test(help_shows_every_option),
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(intervals_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

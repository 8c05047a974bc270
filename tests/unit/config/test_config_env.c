/* config: variables of the environment in values; the small value grammars. */
#include "config/bind/value.h"
#include "tests/unit/config_check.h"

static void test_values(void **state)
{
    (void)state;
    setenv("SR_T_PORT", "1234", 1);
    setenv("SR_T_TEXT", "a: b # c\nd", 1);
    setenv("SR_T_EMPTY", "", 1);
    unsetenv("SR_T_NONE");
    const struct sr_config *c = config_good(CONFIG_MODELS "listeners:\n"
                                                          "- port: ${SR_T_PORT}\n"
                                                          "  name: '${SR_T_TEXT}'\n"
                                                          "- port: ${SR_T_NONE:-77}\n"
                                                          "  name: x${SR_T_EMPTY:-y}z${SR_T_PORT}\n"
                                                          "- port: 1\n"
                                                          "  name: $${HOME} $x ${SR_T_NONE:-}\n"
                                                          "- port: 2\n"
                                                          "  name: x${SR_T_EMPTY}\n");
    assert_int_equal(c->n_listeners, 4);
    assert_int_equal(c->listeners[0].port, 1234);
    assert_string_equal(c->listeners[0].name, "a: b # c\nd");
    assert_int_equal(c->listeners[1].port, 77);
    assert_string_equal(c->listeners[1].name, "xyz1234");
    assert_string_equal(c->listeners[2].name, "${HOME} $x ");
    assert_string_equal(c->listeners[3].name, "x");
    sr_config_unref(c);
}

static void test_mistakes(void **state)
{
    (void)state;
    unsetenv("SR_T_NONE");
    config_error("version: v0.3\nlisteners:\n- port: ${SR_T_NONE}\n", 3, 9,
                 "`${SR_T_NONE}`: this environment variable is not set; ${NAME:-default} gives a default");
    config_error("version: v0.3\nlisteners:\n- port: 1\n  name: a ${MY-VAR} b\n", 4, 9,
                 "`${MY-VAR}`: not a variable");
    config_error("version: v0.3\nlisteners:\n- port: 1\n  name: ${}\n", 4, 9, "`${}`: not a variable");
    config_error("version: v0.3\nlisteners:\n- port: 1\n  name: ${OPEN\n", 4, 9,
                 "the closing brace is missing");
    setenv("SR_T_TEXT", "word", 1);
    config_error("version: v0.3\nlisteners:\n- port: ${SR_T_TEXT}\n", 3, 9,
                 "expected a whole number, found `word`");
}

/* One problem only: what follows from an unset variable is not reported again. */
static void test_no_follow_up(void **state)
{
    (void)state;
    const struct sr_config *c;
    struct sr_problems problems = {0};
    unsetenv("SR_T_NONE");
    assert_int_equal(sr_config_load_text(&c, SR_LIT(CONFIG_MODELS "listeners:\n- port: ${SR_T_NONE}\n"), "x",
                                         (struct sr_load_options){0}, &problems),
                     SR_EINVAL);
    assert_int_equal(problems.count, 1);
    sr_problems_dispose(&problems);
}

static void test_durations(void **state)
{
    (void)state;
    uint64_t v = 9;
    assert_true(sr_value_duration(SR_LIT("0"), &v) && v == 0);
    assert_true(sr_value_duration(SR_LIT("500ms"), &v) && v == 500);
    assert_true(sr_value_duration(SR_LIT("1.5s"), &v) && v == 1500);
    assert_true(sr_value_duration(SR_LIT("1h2m3s4ms"), &v) && v == 3723004);
    const char *bad[] = {"", "s", "5", "1d", "-1s", "1s ", "1..2s", "99999999h", "1s5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sr_value_duration(sr_bytes_str(bad[i]), &v));
}

static void test_sizes(void **state)
{
    (void)state;
    uint64_t v = 9;
    assert_true(sr_value_size(SR_LIT("17"), &v) && v == 17);
    assert_true(sr_value_size(SR_LIT("2KiB"), &v) && v == 2048);
    assert_true(sr_value_size(SR_LIT("2K"), &v) && v == 2048);
    assert_true(sr_value_size(SR_LIT("2kB"), &v) && v == 2000);
    assert_true(sr_value_size(SR_LIT("1.5GiB"), &v) && v == 1610612736);
    assert_true(sr_value_tokens(SR_LIT("1.5M"), &v) && v == 1500000);
    assert_true(sr_value_tokens(SR_LIT("4k"), &v) && v == 4000);
    const char *bad[] = {"", "K", "1T", "-1", "1 K", "0x10", "1e3", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(sr_value_size(sr_bytes_str(bad[i]), &v));
        assert_false(sr_value_tokens(sr_bytes_str(bad[i]), &v));
    }
}

static void test_urls(void **state)
{
    (void)state;
    struct sr_value_endpoint e;
    assert_true(sr_value_url(SR_LIT("http://a"), &e) && e.port == 80 && e.path.n == 0);
    assert_true(sr_value_url(SR_LIT("https://a.b-c:444/x/y//"), &e) && e.port == 444);
    assert_true(sr_bytes_eq(e.path, SR_LIT("/x/y")) && sr_bytes_eq(e.host, SR_LIT("a.b-c")));
    assert_true(sr_value_url(SR_LIT("https://[::1]/"), &e) && e.port == 443 &&
                sr_bytes_eq(e.host, SR_LIT("::1")));
    assert_true(sr_value_endpoint(SR_LIT("[fe80::1%eth0]:1"), &e) &&
                sr_bytes_eq(e.host, SR_LIT("fe80::1%eth0")));
    const char *bad[] = {
        "",          "http:",     "http://:80",    "http://a:",   "http://a:x",  "http://a:80x",
        "http://[]", "http://[a", "http://[::1]x", "http://a/\n", "http://a/ b", "https://a b",
        "HTTP://a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sr_value_url(sr_bytes_str(bad[i]), &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),       cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_follow_up), cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

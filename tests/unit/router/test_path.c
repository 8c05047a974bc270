/* The normal form of a request's path. */
#include "tests/unit/cmocka_all.h"

#include "router/request/path.h"

static struct sr_arena arena;

static struct sr_request_path read_path(const char *target, size_t n)
{
    struct sr_request_path path;
    assert_int_equal(sr_request_path_read(&path, sr_bytes_of(target, n), &arena), SR_OK);
    assert_true(sr_bytes_eq(path.path, sr_bytes_of(path.target.p, path.path.n)));
    assert_int_equal(path.path.n + path.query.n, path.target.n);
    return path;
}

static void is(struct sr_bytes got, const char *want)
{
    if (!sr_bytes_eq(got, sr_bytes_str(want)))
        fail_msg("got %.*s, want %s", (int)got.n, got.p, want);
}

static void test_one_spelling(void **state)
{
    (void)state;
    static const char *const chat[] = {
        "/v1/chat/completions",
        "/v1/chat/completion%73",
        "/%76%31/%63hat/completions",
        "//v1/chat/completions",
        "/v1//chat///completions",
        "/V1/Chat/COMPLETIONS",
        "/v1/./chat/completions",
        "/x/../v1/chat/completions",
        "/v1/x/%2e%2E/chat/completions",
        "/v1/%2e/chat/.%2e/chat/completions/.",
        "/v1/chat/completions/",
        "/v1/chat/completions//",
        "/v1/chat/completions;a=b",
        "/v1;a=b;c/chat;/completions",
        "/x/..;a=b/v1/chat/completions",
        "/v1/models/../chat/completions",
        "/v1/models/a%2fb/../../chat/completions",
        "/v1/MODELS/%2E./Chat/completions",
        "http://other.example/v1/chat/completions",
        "HTTPS://u:p@h:1/v1/chat/completions",
    };
    for (size_t i = 0; i < sizeof chat / sizeof chat[0]; i++) {
        struct sr_request_path path = read_path(chat[i], strlen(chat[i]));
        assert_null(path.flaw);
        is(path.target, "/v1/chat/completions");
    }
}

static void test_other_forms(void **state)
{
    (void)state;
    static const struct {
        const char *target, *path, *query;
    } cases[] = {
        {"/", "/", ""},
        {"//", "/", ""},
        {"/a/..", "/", ""},
        {"/a/b/..", "/a", ""},
        {"http://h", "/", ""},
        {"http://h?x=/../%2f", "/", "?x=/../%2f"},
        {"/A?B=%73;c//../?d", "/a", "?B=%73;c//../?d"},
        {"/v1/chat/completions?", "/v1/chat/completions", "?"},
        {"/v1/chat/completions?/v1/models", "/v1/chat/completions", "?/v1/models"},
        {"/...", "/...", ""},
        {"/V1/Models/Org%2fA;b", "/v1/models/Org%2fA;b", ""},
        {"/v1/models//Org/B/", "/v1/models/Org/B", ""},
        {"/v1/models/", "/v1/models", ""},
        {"/v1/modelsx/A%41", "/v1/modelsx/aa", ""},
        {"/v1/models/..%2f", "/v1/models/..%2f", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_request_path path = read_path(cases[i].target, strlen(cases[i].target));
        assert_null(path.flaw);
        is(path.path, cases[i].path);
        is(path.query, cases[i].query);
    }
}

static void test_no_normal_form(void **state)
{
    (void)state;
    static const struct {
        const char *target, *why;
    } cases[] = {
        {"", "not a path"},
        {"*", "not a path"},
        {"v1/chat/completions", "not a path"},
        {"ftp://h/v1/chat/completions", "not a path"},
        {"?a", "not a path"},
        {"/v1/chat%2fcompletions", "escaped slash"},
        {"/v1/chat%2Fcompletions", "escaped slash"},
        {"/v1/chat/completions%00", "control character"},
        {"/v1/chat/completions%0a", "control character"},
        {"/v1/chat/completions%7F", "control character"},
        {"/v1/chat\\completions", "backslash"},
        {"/v1/chat%5ccompletions", "backslash"},
        {"/v1/models/a\\..\\..\\chat", "backslash"},
        {"/v1/models/%00", "control character"},
        {"/v1/models/%zz", "broken escape"},
        {"/v1/chat/completion%2573", "escaped twice"},
        {"/v1/chat/completions%", "broken escape"},
        {"/v1/chat/completions%7", "broken escape"},
        {"/v1/chat/completions%g3", "broken escape"},
        {"/v1/chat/completions%3f", "no path of this server"},
        {"/v1/chat/completions%23", "no path of this server"},
        {"/v1/chat/completions%3b", "no path of this server"},
        {"/v1/chat/completions#a", "no path of this server"},
        {"/v1/chat/completions%20", "no path of this server"},
        {"/v1/chat/completion\xc5\xbf", "no path of this server"},
        {"/v1/chat/completion%c5%bf", "no path of this server"},
        {"/..", "leaves its root"},
        {"/v1/../../v1/chat/completions", "leaves its root"},
        {"/v1/chat/completions?a b", "query"},
        {"/v1/chat/completions?#", "query"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_request_path path = read_path(cases[i].target, strlen(cases[i].target));
        if (!path.flaw || !strstr(path.flaw, cases[i].why))
            fail_msg("%s: %s", cases[i].target, path.flaw ? path.flaw : "accepted");
        is(path.target, cases[i].target);
    }
    assert_non_null(read_path("/v1/chat/completions\0", 21).flaw);
    assert_non_null(read_path("/v1/chat/completions?\0", 22).flaw);
}

static int clear(void **state)
{
    (void)state;
    sr_arena_dispose(&arena);
    return 0;
}

static int fill(void **state)
{
    (void)state;
    sr_arena_init(&arena, 1 << 20);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_spelling),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_no_normal_form),
    };
    return cmocka_run_group_tests(tests, fill, clear);
}

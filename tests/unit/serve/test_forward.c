/* serve/forward: which headers are forwarded, their precedence, and the path after a base path. */
#include "serve/forward.h"

#include "tests/unit/cmocka_all.h"

#define HEADER(name, value)                                                                                  \
    {                                                                                                        \
        {name, sizeof name - 1},                                                                             \
        {                                                                                                    \
            value, sizeof value - 1                                                                          \
        }                                                                                                    \
    }

static struct sr_header CLIENT[] = {
    HEADER("host", "me"),
    HEADER("authorization", "Bearer mine"),
    HEADER("x-keep", "1"),
    HEADER("content-length", "7"),
    HEADER("x-forwarded-for", "10.0.0.1"),
    HEADER("connection", "close, x-hop"),
    HEADER("x-hop", "1"),
    HEADER("x-forwarded-for", "10.0.0.2"),
    HEADER("x-strip", "1"),
    HEADER("expect", "100-continue"),
};

static const struct sr_http_head HEAD = {.headers = CLIENT, .header_count = sizeof CLIENT / sizeof CLIENT[0]};

static const struct sr_header SET[] = {HEADER("x-selected-model", "m"), HEADER("authorization", "none")};
static const struct sr_header OWN[] = {HEADER("authorization", "Bearer theirs"), HEADER("x-org", "a"),
                                       HEADER("x-org", "b")};
static const struct sr_bytes REMOVE[] = {{"x-strip", 7}, {"authorization", 13}};

static const struct sr_verdict VERDICT = {.target = {"/v1/chat/completions", 20},
                                          .set_headers = SET,
                                          .n_set_headers = 2,
                                          .remove_headers = REMOVE,
                                          .n_remove_headers = 2};
static const struct sr_target TARGET = {.base_path = "/base", .headers = OWN, .n_headers = 3};

static void header_is(const struct sr_header *header, const char *name, const char *value)
{
    assert_int_equal(header->name.n, strlen(name));
    assert_memory_equal(header->name.p, name, header->name.n);
    assert_int_equal(header->value.n, strlen(value));
    assert_memory_equal(header->value.p, value, header->value.n);
}

static void test_here(void **state)
{
    (void)state;
    struct sr_arena arena;
    struct sr_forward f;
    struct sr_header out[16];
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_forward_init(&f, &VERDICT, &TARGET, SR_FORWARD_HERE, 1, &arena), SR_OK);
    assert_false(sr_forward_sets(&f, SR_LIT("x-forwarded-for")));
    sr_forward_set(&f, SR_LIT("x-forwarded-for"), sr_forward_client(&HEAD, "[::1]:99", &arena));
    struct sr_header_edits edits = {
        .set = f.set, .n_set = f.n_set, .remove = f.remove, .n_remove = f.n_remove};
    size_t n = sr_forward_merge(out, &HEAD, &edits);
    assert_int_equal(n, 5);
    header_is(&out[0], "x-keep", "1");
    header_is(&out[1], "x-selected-model", "m");
    header_is(&out[2], "authorization", "Bearer theirs");
    header_is(&out[3], "x-org", "b");
    header_is(&out[4], "x-forwarded-for", "10.0.0.1, 10.0.0.2, ::1");
    sr_arena_dispose(&arena);
}

/* A proxy is told only what changes, and a name that is set is not removed. */
static void test_proxy(void **state)
{
    (void)state;
    struct sr_arena arena;
    struct sr_forward f;
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_forward_init(&f, &VERDICT, NULL, SR_FORWARD_PROXY, 1, &arena), SR_OK);
    assert_int_equal(f.n_set, 2);
    assert_int_equal(f.n_remove, 1);
    sr_forward_set(&f, SR_LIT("x-strip"), SR_LIT("2"));
    assert_int_equal(f.n_set, 3);
    assert_int_equal(f.n_remove, 0);
    sr_arena_dispose(&arena);
}

static void test_path(void **state)
{
    (void)state;
    struct sr_arena arena;
    struct sr_target plain = {.base_path = ""};
    sr_arena_init(&arena, 1 << 20);
    struct sr_bytes path = sr_forward_path(&VERDICT, &TARGET, &arena);
    assert_int_equal(path.n, 25);
    assert_memory_equal(path.p, "/base/v1/chat/completions", 25);
    assert_ptr_equal(sr_forward_path(&VERDICT, &plain, &arena).p, VERDICT.target.p);
    struct sr_target dated = {.base_path = "/d", .unversioned = true, .query = "api-version=1"};
    path = sr_forward_path(&VERDICT, &dated, &arena);
    assert_true(sr_bytes_eq(path, SR_LIT("/d/chat/completions?api-version=1")));
    struct sr_verdict asked = {.target = SR_LIT("/v1/models?x=1")};
    assert_true(sr_bytes_eq(sr_forward_path(&asked, &dated, &arena), SR_LIT("/d/models?x=1&api-version=1")));
    asked.target = SR_LIT("/v1x");
    assert_true(sr_bytes_eq(sr_forward_path(&asked, &dated, &arena), SR_LIT("/d/v1x?api-version=1")));
    assert_ptr_equal(sr_forward_path(&VERDICT, NULL, &arena).p, VERDICT.target.p);
    sr_arena_dispose(&arena);
}

static void test_client(void **state)
{
    (void)state;
    struct sr_arena arena;
    struct sr_http_head none = {.header_count = 0};
    sr_arena_init(&arena, 1 << 20);
    struct sr_bytes address = sr_forward_client(&none, "192.0.2.1:5000", &arena);
    assert_int_equal(address.n, 9);
    assert_memory_equal(address.p, "192.0.2.1", 9);
    sr_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_here),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

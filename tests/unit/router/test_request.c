/* Reads requests from their spans: texts and their sizes, compared with a separate decoder. */
#include "dialect/registry.h"
#include "router/request/endpoint.h"
#include "router/request/request.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

struct read {
    struct sr_arena arena;
    struct sr_paths *paths;
    struct sr_request request;
};

static void read_body(struct read *r, const struct sr_dialect_ops *dialect, const char *body)
{
    struct sr_scan *scan;
    sr_arena_init(&r->arena, 1 << 24);
    assert_int_equal(sr_paths_new_complete(&r->paths, dialect->request.specs, dialect->request.n, NULL),
                     SR_OK);
    assert_int_equal(sr_scan_new(&scan, r->paths, sr_scan_limits_defaults(), &r->arena), SR_OK);
    assert_int_equal(sr_scan_feed(scan, body, strlen(body), NULL), SR_OK);
    assert_int_equal(sr_scan_finish(scan, NULL), SR_OK);
    r->request = (struct sr_request){.dialect = dialect, .body = sr_bytes_str(body)};
    r->request.spans = sr_scan_spans(scan, &r->request.n_spans);
    sr_request_index(&r->request);
}

static void dispose(struct read *r)
{
    sr_arena_dispose(&r->arena);
    sr_paths_unref(r->paths);
}

static void check_text(const struct sr_dialect_ops *dialect, const char *body, const char *text,
                       uint64_t total)
{
    struct read r;
    uint64_t got_total;
    read_body(&r, dialect, body);
    struct sr_bytes got = sr_request_text(&r.request, &r.arena, &got_total);
    assert_int_equal(got.n, strlen(text));
    assert_memory_equal(got.p, text, got.n);
    assert_int_equal(got_total, total);
    dispose(&r);
}

static void test_chat(void **state)
{
    (void)state;
    check_text(&sr_dialect_chat, "{\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}", "one", 3);
    check_text(&sr_dialect_chat,
               "{\"messages\":[{\"role\":\"system\",\"content\":\"sys\"},{\"role\":\"user\",\"content\":[{"
               "\"text\":\"a\"},"
               "{\"text\":\"\"},{\"image\":\"x\"},{\"text\":\"b\\n\"}]},{\"role\":\"tool\",\"content\":"
               "\"result\"}]}",
               "a b\n", 12);
    check_text(&sr_dialect_chat,
               "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"assistant\",\"content\":[{"
               "\"text\":\"t\"}]},"
               "{\"role\":\"tool\",\"content\":\"no\"}]}",
               "s t", 4);
    check_text(&sr_dialect_chat, "{\"messages\":[]}", "", 0);
    check_text(&sr_dialect_chat, "{}", "", 0);
    /* Of a repeated member the last counts. */
    check_text(&sr_dialect_chat,
               "{\"messages\":[{\"role\":\"user\",\"content\":\"old\"}],\"messages\":[{\"role\":\"user\","
               "\"content\":\"x\","
               "\"content\":\"new\"}]}",
               "new", 4);
}

static void test_completions(void **state)
{
    (void)state;
    check_text(&sr_dialect_completions, "{\"prompt\":\"p\"}", "p", 1);
    check_text(&sr_dialect_completions, "{\"prompt\":[\"p\",\"q\"]}", "p q", 2);
    check_text(&sr_dialect_completions, "{\"prompt\":[1,2,3]}", "", 0);
}

/* The size that is worked out without decoding is the size of the decoded text. */
static void test_decoded_size(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "plain",     "\\n\\t\\\"\\\\\\/", "\\u0041", "\\u007f",        "\\u0080",
        "\\u07ff",   "\\u0800",           "\\uffff", "\\ud83d\\ude00", "a\\u00e9b\\u20acc\\uD834\\uDD1Ed",
        "\\\\u0041", "\\u0000x",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char body[200];
        struct read r;
        uint64_t total;
        snprintf(body, sizeof body, "{\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}", texts[i]);
        read_body(&r, &sr_dialect_chat, body);
        struct sr_bytes text = sr_request_text(&r.request, &r.arena, &total);
        assert_int_equal(text.n, total);
        dispose(&r);
    }
}

static void test_endpoints(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path;
        enum sr_endpoint endpoint;
    } cases[] = {
        {"POST", "/v1/chat/completions", SR_ENDPOINT_ROUTE},
        {"GET", "/v1/models", SR_ENDPOINT_MODELS},
        {"GET", "/v1/models/a/b", SR_ENDPOINT_MODEL},
        {"DELETE", "/v1/models/a", SR_ENDPOINT_WRONG_METHOD},
        {"POST", "/v1/audio/speech", SR_ENDPOINT_ROUTE},
        {"POST", "/v1", SR_ENDPOINT_NOT_FOUND},
        {"get", "/v1/models", SR_ENDPOINT_WRONG_METHOD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sr_dialect_ops *dialect;
        struct sr_bytes rest;
        assert_int_equal(
            sr_endpoint_find(sr_bytes_str(cases[i].method), sr_bytes_str(cases[i].path), &dialect, &rest),
            cases[i].endpoint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_decoded_size),
        cmocka_unit_test(test_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

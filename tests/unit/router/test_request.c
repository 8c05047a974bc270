/* Reads requests from their spans: texts and their sizes, compared with a separate decoder. */
#include "config/endpoints.h"
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
    static const char *more[] = {"default", "/v1/own/thing"};
    static const char *few[] = {"/v1/completions"};
    struct sr_config plain = {0}, wide = {0}, narrow = {0};
    wide.global.access.endpoints = (struct sr_strings){more, 2};
    narrow.global.access.endpoints = (struct sr_strings){few, 1};
    const struct {
        const struct sr_config *config;
        const char *method, *path;
        enum sr_endpoint endpoint;
    } cases[] = {
        {&plain, "POST", "/v1/chat/completions", SR_ENDPOINT_ROUTE},
        {&plain, "POST", "/v1/chat/completions/", SR_ENDPOINT_NOT_FOUND},
        {&plain, "GET", "/v1/models", SR_ENDPOINT_MODELS},
        {&plain, "GET", "/v1/models/a/b", SR_ENDPOINT_MODEL},
        {&plain, "DELETE", "/v1/models/a", SR_ENDPOINT_WRONG_METHOD},
        {&plain, "POST", "/v1/audio/speech", SR_ENDPOINT_ROUTE},
        {&plain, "GET", "/v1/audio/speech", SR_ENDPOINT_WRONG_METHOD},
        {&plain, "POST", "/rerank", SR_ENDPOINT_ROUTE},
        {&plain, "POST", "/v1/responses", SR_ENDPOINT_ROUTE},
        {&plain, "POST", "/v1", SR_ENDPOINT_NOT_FOUND},
        {&plain, "get", "/v1/models", SR_ENDPOINT_WRONG_METHOD},
        {&plain, "POST", "/v1/load_lora_adapter", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "/v1/unload_lora_adapter", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "/reset_prefix_cache", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "/sleep", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "/collective_rpc", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "/invocations", SR_ENDPOINT_NOT_FOUND},
        {&plain, "GET", "/metrics", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "/v1/own/thing", SR_ENDPOINT_NOT_FOUND},
        {&plain, "POST", "default", SR_ENDPOINT_NOT_FOUND},
        {&wide, "POST", "/v1/own/thing", SR_ENDPOINT_ROUTE},
        {&wide, "POST", "/v1/chat/completions", SR_ENDPOINT_ROUTE},
        {&wide, "POST", "default", SR_ENDPOINT_NOT_FOUND},
        {&narrow, "POST", "/v1/completions", SR_ENDPOINT_ROUTE},
        {&narrow, "POST", "/v1/chat/completions", SR_ENDPOINT_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sr_dialect_ops *dialect;
        struct sr_bytes rest;
        assert_int_equal(sr_endpoint_find(cases[i].config, sr_bytes_str(cases[i].method),
                                          sr_bytes_str(cases[i].path), &dialect, &rest),
                         cases[i].endpoint);
    }
}

static void test_slips_of_base_urls(void **state)
{
    (void)state;
    static const char *few[] = {"/v1/completions", "/v1/own/thing"};
    struct sr_config plain = {0}, narrow = {0};
    narrow.global.access.endpoints = (struct sr_strings){few, 2};
    const struct {
        const struct sr_config *config;
        const char *path;
        enum sr_endpoint_slip slip;
    } cases[] = {
        {&plain, "/chat/completions", SR_SLIP_NO_VERSION},
        {&plain, "/messages", SR_SLIP_NO_VERSION},
        {&plain, "/models", SR_SLIP_NO_VERSION},
        {&plain, "/v1/v1/messages", SR_SLIP_TWO_VERSIONS},
        {&plain, "/v1/v1/models", SR_SLIP_TWO_VERSIONS},
        {&plain, "/v1/v1/v1/messages", SR_SLIP_NONE},
        {&plain, "/own/thing", SR_SLIP_NONE},
        {&plain, "/sleep", SR_SLIP_NONE},
        {&plain, "/v1", SR_SLIP_NONE},
        {&plain, "", SR_SLIP_NONE},
        {&narrow, "/own/thing", SR_SLIP_NO_VERSION},
        {&narrow, "/chat/completions", SR_SLIP_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(sr_endpoint_slip(cases[i].config, sr_bytes_str(cases[i].path)), cases[i].slip);
}

/* Each dialect's endpoint is forwarded where the configuration does not say otherwise. */
static void test_dialects_are_endpoints(void **state)
{
    (void)state;
    struct sr_config config = {0};
    const struct sr_dialect_ops *dialect;
    for (size_t i = 0; (dialect = sr_dialect_number(i)); i++) {
        if (dialect->path && !sr_config_forwards(&config, sr_bytes_str(dialect->path)))
            fail_msg("%s is not forwarded", dialect->path);
        for (const char *const *more = dialect->more; more && *more; more++)
            if (!sr_config_forwards(&config, sr_bytes_str(*more)))
                fail_msg("%s is not forwarded", *more);
    }
    static const char *const invalid[] = {"",    "v1/x",    "/v1/X", "/v1/x/", "//x", "/v1/./x",
                                          "/..", "/v1/%61", "/x;a",  "/x?",    "/"};
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        assert_false(sr_endpoint_is_valid(sr_bytes_str(invalid[i])));
    assert_true(sr_endpoint_is_valid(SR_LIT("/v1/own_thing-2.0/a:b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_decoded_size),
        cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_slips_of_base_urls),
        cmocka_unit_test(test_dialects_are_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

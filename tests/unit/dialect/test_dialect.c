/* Dialects: their tables, their endpoints, and what they write. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "tests/unit/cmocka_all.h"

static void check(int rc, struct sr_buf *out, const char *wanted)
{
    assert_int_equal(rc, SR_OK);
    assert_int_equal(sr_buf_append(out, "", 1), SR_OK);
    assert_string_equal(out->data, wanted);
    sr_buf_clear(out);
}

static void test_registry(void **state)
{
    (void)state;
    assert_ptr_equal(sr_dialect_at(SR_LIT("/v1/chat/completions")), &sr_dialect_chat);
    assert_ptr_equal(sr_dialect_at(SR_LIT("/v1/completions")), &sr_dialect_completions);
    assert_ptr_equal(sr_dialect_at(SR_LIT("/v1/embeddings")), &sr_dialect_embeddings);
    assert_ptr_equal(sr_dialect_at(SR_LIT("/v1/messages")), &sr_dialect_messages);
    assert_ptr_equal(sr_dialect_at(SR_LIT("/v1/responses")), &sr_dialect_responses);
    assert_ptr_equal(sr_dialect_at(SR_LIT("/v2/rerank")), &sr_dialect_rerank);
    assert_ptr_equal(sr_dialect_at(SR_LIT("/pooling")), &sr_dialect_classify);
    assert_null(sr_dialect_at(SR_LIT("/v1/responses/")));
    assert_null(sr_dialect_at(SR_LIT("")));
}

static void test_tables(void **state)
{
    (void)state;
    struct sr_dialect_paths *paths;
    struct sr_err err = {0};
    assert_int_equal(sr_dialect_paths_new(&paths, &err), SR_OK);
    const struct sr_dialect_ops *d;
    for (size_t i = 0; (d = sr_dialect_number(i)); i++) {
        assert_non_null(sr_dialect_request_paths(paths, d));
        assert_non_null(sr_dialect_answer_paths(paths, d)->all);
        assert_non_null(sr_dialect_answer_paths(paths, d)->counts);
        assert_true(d->name && d->done && d->error && d->error_event && d->completion &&
                    d->completion_stream && d->stream_end);
        for (size_t k = 0; k < d->request.n; k++)
            assert_true(
                d->request.specs[k].id <= SR_AT_SOURCE && d->request.specs[k].tag <= SR_CLASS_STORED &&
                (d->request.specs[k].tag == SR_CLASS_CARRIED) == (d->request.specs[k].id == SR_AT_MODEL));
        for (size_t k = 0; k < d->answer.n; k++)
            assert_true(d->answer.specs[k].id <= SR_ANSWER_PREVIOUS);
    }
    sr_dialect_paths_free(paths);
    sr_dialect_paths_free(NULL);
}

/* The class of a member comes with its span; what no path names is judged. */
static void test_classes(void **state)
{
    (void)state;
    static const char body[] =
        "{\"model\":\"m\",\"user\":\"u\",\"new\":\"x\",\"messages\":[{\"role\":\"user\","
        "\"content\":\"hi\"}]}";
    struct sr_dialect_paths *paths;
    struct sr_scan *scan;
    struct sr_arena arena;
    size_t n, seen = 0;
    assert_int_equal(sr_dialect_paths_new(&paths, NULL), SR_OK);
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_scan_new(&scan, sr_dialect_request_paths(paths, &sr_dialect_chat),
                                 sr_scan_limits_defaults(), &arena),
                     SR_OK);
    assert_int_equal(sr_scan_feed(scan, body, sizeof body - 1, NULL), SR_OK);
    const struct sr_span *spans = sr_scan_spans(scan, &n);
    for (size_t i = 0; i < n; i++) {
        unsigned wanted = spans[i].id == SR_AT_MODEL  ? SR_CLASS_CARRIED
                          : spans[i].id == SR_AT_ROLE ? SR_CLASS_INERT
                          : spans[i].id == SR_AT_USER ? SR_CLASS_ID
                                                      : SR_CLASS_JUDGED;
        assert_int_equal(spans[i].tag, wanted);
        assert_false(spans[i].flags & SR_SPAN_OPEN);
        seen++;
    }
    assert_int_equal(seen, 7);
    sr_arena_dispose(&arena);
    sr_dialect_paths_free(paths);
}

static void test_errors(void **state)
{
    (void)state;
    struct sr_dialect_error error = {.message = SR_LIT("no \"x\""), .type = "t", .code = "c"};
    struct sr_buf out;
    sr_buf_init(&out, 4096);
    check(sr_dialect_chat.error(&error, &out), &out,
          "{\"error\":{\"message\":\"no \\\"x\\\"\",\"type\":\"t\",\"param\":null,\"code\":\"c\"}}");
    error.code = NULL;
    error.param = "p";
    check(
        sr_dialect_chat.error_event(&error, &out), &out,
        "data: {\"error\":{\"message\":\"no \\\"x\\\"\",\"type\":\"t\",\"param\":\"p\",\"code\":null}}\n\n");
#define TYPED(type)                                                                                          \
    "{\"type\":\"error\",\"error\":{\"type\":\"" type                                                        \
    "\",\"message\":\"no \\\"x\\\"\",\"param\":\"p\",\"code\":null}}"
    check(sr_dialect_messages.error(&error, &out), &out, TYPED("t"));
    error.status = 429;
    check(sr_dialect_messages.error_event(&error, &out), &out,
          "event: error\ndata: " TYPED("rate_limit_error") "\n\n");
    check(sr_dialect_responses.error_event(&error, &out), &out,
          "event: error\ndata: {\"type\":\"error\",\"sequence_number\":0,\"code\":\"t\",\"message\":\"no "
          "\\\"x\\\"\",\"param\":\"p\"}\n\n");
    error = (struct sr_dialect_error){.message = SR_LIT("out of memory"), .type = "server_error"};
    assert_int_equal(sr_openai_error(&error, &out), SR_OK);
    assert_true(sr_bytes_eq(sr_buf_view(&out), sr_openai_out_of_memory));
    sr_buf_dispose(&out);
}

#define HEAD(id, object)                                                                                     \
    "{\"id\":\"" id "-fast-7\",\"object\":\"" object "\",\"created\":7,\"model\":\"router\""
#define USAGE "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}"

static void test_completions(void **state)
{
    (void)state;
    struct sr_completion c = {SR_LIT("a b"), "fast", "router", "stop", 7, true};
    struct sr_buf out;
    sr_buf_init(&out, 1 << 16);
    check(
        sr_dialect_chat.completion(&c, &out), &out,
        HEAD("chatcmpl", "chat.completion") ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                                            "\"content\":\"a b\"},\"logprobs\":null,\"finish_reason\":"
                                            "\"stop\"}]," USAGE "}");
    check(sr_dialect_other.completion(&c, &out), &out,
          HEAD("cmpl", "text_completion") ",\"choices\":[{\"index\":0,\"text\":\"a b\",\"logprobs\":null,"
                                          "\"finish_reason\":\"stop\"}]," USAGE "}");
#define CHUNK "data: " HEAD("chatcmpl", "chat.completion.chunk") ",\"choices\":["
#define REST  ",\"logprobs\":null,\"finish_reason\":"
    check(sr_dialect_chat.completion_stream(&c, &out), &out,
          CHUNK "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a \"}" REST "null}]}\n\n" CHUNK
                "{\"index\":0,\"delta\":{\"content\":\"b\"}" REST "null}]}\n\n" CHUNK
                "{\"index\":0,\"delta\":{}" REST "\"stop\"}]}\n\n" CHUNK "]," USAGE "}\n\ndata: [DONE]\n\n");
    c.message = SR_LIT("");
    c.usage = false;
#define TEXT "data: " HEAD("cmpl", "text_completion") ",\"choices\":[{\"index\":0,\"text\":\"\"" REST
    check(sr_dialect_completions.completion_stream(&c, &out), &out,
          TEXT "null}]}\n\n" TEXT "\"stop\"}]}\n\ndata: [DONE]\n\n");
    sr_buf_dispose(&out);
}

static void test_stream_end(void **state)
{
    (void)state;
    struct sr_stream_end end = {.id = "\"i\"", .model = "", .created = "9", .open = 5, .code = "blocked"};
    struct sr_buf out;
    sr_buf_init(&out, 1 << 16);
#define CUT(choice)                                                                                          \
    "data: {\"id\":\"i\",\"object\":\"chat.completion.chunk\",\"created\":9,\"model\":\"\",\"choices\":["    \
    "{\"index\":" choice ",\"delta\":{},\"logprobs\":null,\"finish_reason\":\"content_filter\"}]}\n\n"
    check(sr_dialect_chat.stream_end(&end, &out), &out, CUT("0") CUT("2") "data: [DONE]\n\n");
    check(
        sr_dialect_other.stream_end(&end, &out), &out,
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"content_filter\",\"code\":\"blocked\","
        "\"message\":\"The rest of the answer was blocked.\"}}\n\n");
    sr_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry),    cmocka_unit_test(test_tables),
        cmocka_unit_test(test_classes),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_completions), cmocka_unit_test(test_stream_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

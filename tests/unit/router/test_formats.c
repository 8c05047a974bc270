/* A caller of the library chooses among targets that speak different APIs: the verdict is that for the chosen
 * one. */
#include "router/exchange/exchange.h"
#include "tests/unit/exchange_util.h"

static const char yaml[] =
    "version: v0.3\n"
    "providers:\n"
    "  defaults: {default_model: m}\n"
    "  models:\n"
    "    - name: m\n"
    "      provider_model_id: served\n"
    "      backend_refs:\n"
    "        - {name: a, endpoint: '127.0.0.1:9001', chat_path: /own}\n"
    "        - {name: b, endpoint: '127.0.0.1:9002', api_format: anthropic}\n"
    "        - {name: c, endpoint: '127.0.0.1:9003', api_format: responses}\n"
    "    - {name: one, backend_refs: [{name: d, endpoint: '127.0.0.1:9004', api_format: anthropic}]}\n"
    "global: {semroute: {allow_anonymous: true}}\n";

#define CHAT(model) "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
#define SERVED      "{\"model\":\"served\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

static int open_all(void **state)
{
    *state = open_yaml(yaml);
    return 0;
}

static int close_all(void **state)
{
    sr_runtime_close(*state);
    return 0;
}

static void is_for(const struct sr_verdict *v, const char *path, const char *part, const char *not_part)
{
    assert_non_null(v);
    assert_int_equal(v->action, SR_ACTION_FORWARD);
    assert_int_equal(v->n_targets, 3);
    assert_true(sr_bytes_eq(v->target, sr_bytes_str(path)));
    char *body = joined(v->body, v->n_body);
    assert_int_equal(strlen(body), v->body_size);
    assert_non_null(strstr(body, part));
    assert_null(strstr(body, not_part));
    free(body);
}

static void test_each_target(void **state)
{
    sr_exchange *x = ask(*state, CHAT("m"));
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_null(sr_verdict_target(v, 0)->api);
    assert_string_equal(sr_verdict_target(v, 1)->api, "messages");
    assert_string_equal(sr_verdict_target(v, 2)->api, "responses");
    is_for(v, "/own", SERVED, "max_tokens");
    for (int round = 0; round < 3; round++) {
        v = sr_exchange_verdict_for(x, 1);
        is_for(v, "/v1/messages", "\"max_tokens\":", "\"input\"");
        assert_string_equal(header_in(v->set_headers, v->n_set_headers, "anthropic-version"), "2023-06-01");
        is_for(sr_exchange_verdict_for(x, 1), "/v1/messages", "\"max_tokens\":", "\"input\"");
        v = sr_exchange_verdict_for(x, 2);
        is_for(v, "/v1/responses", "\"input\":", "\"messages\"");
        assert_null(header_in(v->set_headers, v->n_set_headers, "anthropic-version"));
        is_for(sr_exchange_verdict_for(x, 0), "/own", SERVED, "max_tokens");
    }
    assert_null(sr_exchange_verdict_for(x, 3));
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Where all targets speak one API, the verdict has it from the beginning. */
static void test_one_api(void **state)
{
    sr_exchange *x = ask(*state, CHAT("one"));
    struct sr_verdict before = *sr_exchange_verdict(x);
    assert_true(sr_bytes_eq(before.target, SR_LIT("/v1/messages")));
    const struct sr_verdict *v = sr_exchange_verdict_for(x, 0);
    assert_ptr_equal(v->body, before.body);
    assert_ptr_equal(v->target.p, before.target.p);
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* A request that the chosen target's API cannot say is refused; there is no verdict to forward any more. */
static void test_what_cannot_be_said(void **state)
{
    static const char body[] = "{\"model\":\"m\",\"input\":\"x\",\"prompt\":{\"id\":\"p\"}}";
    struct sr_request_head head = head_of("POST", "/v1/responses");
    sr_exchange *x = sr_exchange_new(*state, &head, NULL);
    assert_int_equal(sr_exchange_body(x, body, sizeof body - 1, true), SR_STEP_VERDICT);
    assert_int_equal(sr_exchange_verdict_for(x, 2)->action, SR_ACTION_FORWARD);
    const struct sr_verdict *v = sr_exchange_verdict_for(x, 1);
    assert_int_equal(v->action, SR_ACTION_REPLY);
    assert_int_equal(v->status, 400);
    assert_null(sr_exchange_verdict_for(x, 0));
    sr_exchange_end(x, SR_END_COMPLETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_target),
        cmocka_unit_test(test_one_api),
        cmocka_unit_test(test_what_cannot_be_said),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

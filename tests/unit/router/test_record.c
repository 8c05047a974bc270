/* Reports of a record that no exchange wrote: lines, words and sums come from it alone. */
#include "observe/exposition.h"
#include "router/record.h"
#include "router/report/access_log.h"
#include "router/report/audit.h"
#include "router/report/measure.h"
#include "router/runtime.h"
#include "tests/unit/exchange_util.h"

// clang-format off
static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n"
    TEST_KEYWORD("word")
    "  decisions:\n"
    "    - {name: first, priority: 10, rules: {type: keyword, name: word}, modelRefs: [{model: small}]}\n";
// clang-format on

static struct sr_record routed(void)
{
    struct sr_record r;
    sr_record_init(&r);
    r.door = SR_DOOR_GATEWAY;
    r.dialect = "chat";
    r.id = SR_LIT("id-1");
    r.method = SR_LIT("POST");
    r.path = SR_LIT("/v1/chat/completions");
    r.bytes_in = 90;
    r.automatic = true;
    r.has_verdict = r.forwarded = true;
    r.action = SR_ACTION_FORWARD;
    r.outcome = SR_OUTCOME_ROUTED;
    r.model = 0;
    r.model_name = "small";
    r.decision.decision = 0;
    r.decision_name = "first";
    r.confidence = 1;
    r.answer_status = 200;
    r.usage = (struct sr_usage){.seen = true, .prompt = 3, .completion = 2};
    return r;
}

static struct sr_router *router_of(void **state)
{
    return sr_runtime_router(*state);
}

static void check_has(const struct sr_buf *line, const char *text)
{
    if (!strstr(line->data, text))
        fail_msg("%s is not in %s", text, line->data);
}

static void test_access_log(void **state)
{
    struct sr_router *router = router_of(state);
    struct sr_record r = routed();
    struct sr_buf line;
    sr_buf_init(&line, SR_ACCESS_LOG_MAX);
    assert_int_equal(sr_access_log_line(&r, router, &line), SR_OK);
    check_has(&line, "\"request_id\":\"id-1\",\"door\":\"gateway\",\"method\":\"POST\"");
    check_has(&line, "\"requested_model\":\"auto\",\"outcome\":\"routed\",\"model\":\"small\"");
    check_has(&line, "\"status\":200,\"bytes_in\":90,\"bytes_out\":0,\"prompt_tokens\":3");
    check_has(&line, "\"cost\":7");
    assert_null(strstr(line.data, "\"error\""));
    sr_buf_dispose(&line);
    sr_router_unref(router);
}

static void test_audit(void **state)
{
    struct sr_router *router = router_of(state);
    struct sr_record r = routed();
    struct sr_buf line;
    assert_false(sr_audit_wants(&r));
    r.guard.action = SR_GUARD_BLOCK;
    r.guard.denied = true;
    r.guard.types = 1u << SR_ENTITY_EMAIL_ADDRESS;
    r.action = SR_ACTION_REPLY;
    r.status = 403;
    assert_true(sr_audit_wants(&r));
    sr_buf_init(&line, SR_AUDIT_MAX);
    assert_int_equal(sr_audit_request(&r, router->config, &line), SR_OK);
    check_has(&line, "\"event\":\"security_block\",\"action\":\"block\"");
    check_has(&line, "\"decision\":\"pii_policy\",\"model\":\"small\",\"pii_types\":[\"EMAIL_ADDRESS\"]");
    check_has(&line, "\"status\":403}");
    sr_buf_dispose(&line);
    sr_router_unref(router);
}

static void test_words(void **state)
{
    struct sr_record r;
    struct sr_signal_result result = {.scanned_bytes = 1, .all_bytes = 4};
    (void)state;
    sr_record_init(&r);
    assert_string_equal(sr_record_outcome(&r), "canceled"); /* it ended before its verdict */
    r.has_verdict = true;
    r.outcome = SR_OUTCOME_BLOCKED;
    assert_string_equal(sr_record_outcome(&r), "blocked");
    r.end = SR_END_UPSTREAM_LOST;
    assert_string_equal(sr_record_outcome(&r), "failed");
    assert_string_equal(sr_guard_action_name(r.guard.action), "");
    assert_true(sr_record_coverage(NULL) < 0);
    assert_true(sr_record_coverage(&result) == 0.25);
    result.status = SR_ETIMEOUT;
    assert_true(sr_record_coverage(&result) == 0);
}

static void test_cost(void **state)
{
    struct sr_router *router = router_of(state);
    struct sr_record r = routed();
    assert_true(sr_record_cost(&r, router->config) == 7); /* 3 tokens at 1, 2 tokens at 2 */
    r.usage.seen = false;
    assert_true(sr_record_cost(&r, router->config) == 0);
    r = routed();
    r.model = -1;
    assert_true(sr_record_cost(&r, router->config) == 0);
    sr_router_unref(router);
}

static void test_measure(void **state)
{
    struct sr_router *router = router_of(state);
    struct sr_record r = routed();
    struct sr_metrics *metrics;
    struct sr_buf text;
    assert_int_equal(sr_metrics_new(&metrics), SR_OK);
    sr_measure_verdict(&r, router, metrics);
    sr_measure_end(&r, router, metrics);
    sr_buf_init(&text, 1 << 20);
    assert_int_equal(sr_expose_metrics(metrics, SR_EXPOSITION_TEXT, &text), SR_OK);
    check_has(&text, "llm_model_requests_total{model=\"small\"} 1");
    check_has(&text, "outcome=\"routed\"} 1");
    sr_buf_dispose(&text);
    sr_metrics_free(metrics);
    sr_measure_verdict(&r, router, NULL); /* metrics are switched off */
    sr_measure_end(&r, router, NULL);
    sr_router_unref(router);
}

static int setup(void **state)
{
    *state = open_yaml(yaml);
    return 0;
}

static int teardown(void **state)
{
    sr_runtime_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access_log), cmocka_unit_test(test_audit),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_cost),       cmocka_unit_test(test_measure),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

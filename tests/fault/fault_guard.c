/*
 * Fails the Nth allocation of a guarded exchange, for every N: private data never goes out unnoticed. It is
 * redacted, or the client gets a 503, or the request is labelled degraded because the guard could not read
 * it.
 */
#include "base/mem.h"
#include "tests/unit/exchange_util.h"

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals: {pii: [{name: private}], jailbreak: [{name: attack}]}\n"
    "  decisions:\n"
    "    - {name: stop, priority: 9, rules: {type: jailbreak, name: attack, on_error: match},\n"
    "       plugins: [{type: guard, configuration: {action: block}}]}\n"
    "    - {name: hide, rules: {type: pii, name: private},\n"
    "       plugins: [{type: guard, configuration: {action: redact, restore: true}}]}\n";

static const char body[] =
    "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
    "\"text\":"
    "\"a b\\u0040 zoe@example.com \"},{\"type\":\"text\",\"text\":\"and ann@example.com\"}]}]}";
static const char stream[] =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"to [EMAIL_ADD\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"RESS_1] now\"}}]}\n\n"
    "data: [DONE]\n\n";

static void drop_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    (void)line;
    (void)n;
}

static void send_answer(sr_exchange *x, size_t failing)
{
    struct sr_header header = {SR_LIT("content-type"), SR_LIT("text/event-stream")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    char got[4 * sizeof stream] = "";
    size_t n = 0;
    sr_exchange_answer_head(x, 200, &header, 1, &edits);
    for (size_t at = 0; at < sizeof stream - 1; at += 20) {
        const struct sr_bytes *slices;
        size_t take = sizeof stream - 1 - at < 20 ? sizeof stream - 1 - at : 20, count;
        sr_exchange_answer_body(x, stream + at, take, at + take == sizeof stream - 1, &slices, &count);
        for (size_t i = 0; i < count; i++) {
            assert_true(n + slices[i].n < sizeof got);
            memcpy(got + n, slices[i].p, slices[i].n);
            n += slices[i].n;
        }
    }
    assert_non_null(strstr(got, "data: [DONE]\n\n"));
    if (failing == 0)
        assert_non_null(strstr(got, "zoe@example.com"));
}

static size_t live(sr_runtime *runtime, size_t failing)
{
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_mem_fail_at(failing);
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    const struct sr_verdict *v = NULL;
    if (x) {
        sr_exchange_body(x, body, sizeof body - 1, true);
        v = sr_exchange_verdict(x);
        assert_non_null(v);
    }
    if (v && v->action == SR_ACTION_FORWARD) {
        for (size_t i = 0; i < v->n_body && v->outcome != SR_OUTCOME_DEGRADED; i++)
            assert_false(sr_bytes_contains(v->body[i], SR_LIT("example.com")));
        send_answer(x, failing);
    } else if (v) {
        assert_true(v->status == 503 || v->status == 403);
    }
    if (x)
        sr_exchange_end(x, SR_END_COMPLETE);
    size_t count = sr_mem_count();
    sr_mem_fail_at(0);
    return count;
}

static void test_every_failure(void **state)
{
    struct sr_runtime_options options = {.struct_size = sizeof options, .workers = -1, .log_line = drop_line};
    sr_runtime *runtime = open_yaml_with(yaml, &options);
    (void)state;
    live(runtime, 0); /* what is made once */
    size_t n = live(runtime, 0);
    assert_true(n > 20);
    for (size_t i = 1; i <= n + 1; i++)
        live(runtime, i);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Signals that answer late: those that a request needs are in progress at the same time, only what was asked
 * for counts, and no work outlives the request. The queue is too short for prefetching (a quarter of
 * it), so that a signal is late on every machine.
 */
#include "router/exchange/exchange.h"

#include "tests/unit/exchange_util.h"
#include "tests/unit/hand_loop.h"
#include "tests/unit/held_engine.h"

#define MODEL     SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"
#define BIT(type) (UINT32_C(1) << (type))

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD(
        "deep") "    pii: [{name: private, pii_types_allowed: [PERSON, GPE, AGE]}]\n"
                "    embeddings: [{name: near, threshold: 0.0, candidates: [the weather is fine]}]\n"
                "  decisions:\n"
                "    - {name: guarded, priority: 900, rules: {type: pii, name: private},\n"
                "       plugins: [{type: guard, configuration: {action: block}}]}\n"
                "    - {name: deep, priority: 50, rules: {type: keyword, name: deep}, modelRefs: [{model: "
                "plain}]}\n"
                "    - {name: near, priority: 5, rules: {type: embedding, name: near}, modelRefs: [{model: "
                "thinker}]}\n"
                "global:\n"
                "  model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL "'}}}\n"
                "  semroute: {inference: {neural: '" MODEL
                "/bundle', ask_below: 1, neural_precision: fp32, queue_jobs: 3}}\n";

/* The same without a guard, and with a policy of a model. */
static const char policy[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD(
        "deep") "  decisions:\n"
                "    - {name: deep, priority: 50, rules: {type: "
                "keyword, name: deep}, modelRefs: [{model: plain}]}\n"
                "global:\n"
                "  model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL "'}}}\n"
                "  semroute: {models: {plain: {pii_policy: {allow_by_default: false}}}, inference: "
                "{neural: '" MODEL "/bundle', ask_below: 1, neural_precision: fp32, queue_jobs: 3}}\n";

static void on_ready(void *ctx, sr_exchange *x)
{
    struct loop *loop = ctx;
    (void)x;
    loop->ready++;
}

static sr_exchange *start(sr_runtime *runtime, struct loop *loop, const char *text)
{
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = loop_post, .ready = on_ready, .ctx = loop};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    char body[512];
    snprintf(body, sizeof body, "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}",
             text);
    sr_exchange *x = sr_exchange_new(runtime, &head, &env);
    (void)feed(x, body, strlen(body), 0, NULL);
    return x;
}

/* A request whose guard still reads when its body is complete; where the neural classifier was faster,
 * another one. */
static sr_exchange *start_late(sr_runtime *runtime, struct loop *loop, const char *text)
{
    char numbered[128];
    for (int i = 0; i < 1000; i++) {
        snprintf(numbered, sizeof numbered, "%s, %d", text, i);
        sr_exchange *x = start(runtime, loop, numbered);
        if (x->routing.wanted == BIT(SR_SIGNAL_PII) && !x->routing.results[SR_SIGNAL_PII])
            return x;
        sr_exchange_end(x, SR_END_CLIENT_GONE);
    }
    fail_msg("the neural classifier was always faster");
    return NULL;
}

static void finish(struct loop *loop)
{
    while (!loop->ready)
        loop_turn(loop);
    assert_int_equal(loop->ready, 1);
    loop->ready = 0;
}

static void test_together(void **state)
{
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    sr_runtime *runtime = open_yaml(yaml);
    (void)state;
    sr_exchange *x = start_late(runtime, &loop, "how is the weather");
    assert_int_equal(x->routing.wanted, BIT(SR_SIGNAL_PII));
    assert_int_equal(x->routing.begun,
                     BIT(SR_SIGNAL_PII) | BIT(SR_SIGNAL_KEYWORD) | BIT(SR_SIGNAL_EMBEDDING));
    assert_null(x->routing.results[SR_SIGNAL_KEYWORD]);
    finish(&loop);
    assert_string_equal(sr_exchange_verdict(x)->decision, "near");
    assert_int_equal(x->routing.wanted, x->routing.begun);
    assert_int_equal(x->routing.results[SR_SIGNAL_EMBEDDING]->status, SR_OK);
    sr_exchange_end(x, SR_END_COMPLETE);

    /* A keyword settles it: the text is not compared to anything. */
    x = start_late(runtime, &loop, "how deep is the weather");
    assert_int_equal(x->routing.begun, BIT(SR_SIGNAL_PII) | BIT(SR_SIGNAL_KEYWORD));
    finish(&loop);
    assert_string_equal(sr_exchange_verdict(x)->decision, "deep");
    sr_exchange_end(x, SR_END_COMPLETE);

    /* The guard finds something: the rest does not count. */
    x = start_late(runtime, &loop, "write to zebra@example.com about the weather");
    assert_true(x->routing.begun >> SR_SIGNAL_EMBEDDING & 1);
    finish(&loop);
    check_reply(x, 403, "pii");
    assert_int_equal(x->routing.wanted, BIT(SR_SIGNAL_PII));
    assert_null(x->routing.results[SR_SIGNAL_EMBEDDING]);
    assert_null(x->routing.results[SR_SIGNAL_KEYWORD]);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

/* The client leaves, or the deadline passes, while both are in progress. */
static void test_given_up(void **state)
{
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    sr_runtime *runtime = open_yaml(yaml);
    char text[64];
    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "how is the weather of day %d", i);
        sr_exchange *x = start(runtime, &loop, text);
        if (i % 2) {
            sr_exchange_timeout(x);
            assert_non_null(sr_exchange_verdict(x));
            assert_non_null(
                x->routing.results[SR_SIGNAL_PII]); /* out of time, unless the neural classifier was faster */
        }
        sr_exchange_end(x, i % 2 ? SR_END_COMPLETE : SR_END_CLIENT_GONE);
    }
    pthread_mutex_lock(&loop.lock);
    int left = loop.n;
    pthread_mutex_unlock(&loop.lock);
    if (left)
        loop_turn(&loop);
    sr_runtime_close(runtime);
    assert_int_equal(loop.ready, 0);
}

/* The deadline passes while the neural classifier has read nothing: the recognisers have read everything, so
 * the guard answers, and what does not need the engine is known, too. */
static void test_guards_answer_in_time(void **state)
{
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    sr_runtime *runtime = open_yaml_with(yaml, &options);
    struct sr_infer *infer = NULL;
    struct sr_encoder *encoder = sr_runtime_encoder(runtime, &infer);
    struct held held;
    (void)state;
    hold(&held, infer, encoder);
    sr_exchange *x = start(runtime, &loop, "write to zebra@example.com about the harbour");
    assert_null(sr_exchange_verdict(x));
    sr_exchange_timeout(x);
    check_reply(x, 403, "pii");
    const struct sr_signal_result *result = x->routing.results[SR_SIGNAL_PII];
    assert_int_equal(result->status, SR_OK);
    assert_true(result->neural_late && result->scanned_bytes == result->all_bytes &&
                result->neural_bytes == 0);
    assert_int_equal(sr_infer_stats(infer).jobs, 0);
    sr_exchange_end(x, SR_END_COMPLETE);
    x = start(runtime, &loop, "how deep is the harbour");
    assert_null(sr_exchange_verdict(x));
    sr_exchange_timeout(x);
    assert_string_equal(sr_exchange_verdict(x)->decision, "deep");
    assert_int_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_ROUTED);
    sr_exchange_end(x, SR_END_COMPLETE);
    static char told[1 << 20];
    assert_true(sr_runtime_metrics(runtime, told, sizeof told) < sizeof told);
    assert_non_null(strstr(told, "\nsemroute_neural_late_total{signal=\"pii\"} 2\n"));
    assert_non_null(strstr(told, "\nsemroute_neural_unread_bytes_total{signal=\"pii\"} "));
    let_go(&held);
    if (loop.n)
        loop_turn(&loop);
    assert_int_equal(loop.ready, 0);
    sr_encoder_unref(encoder);
    sr_runtime_close(runtime);
}

/* The deadline passes and there is no memory to decide: the request is refused, not forwarded undecided. */
static void test_no_memory_at_the_deadline(void **state)
{
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    sr_runtime *runtime = open_yaml_with(policy, &options);
    struct sr_infer *infer = NULL;
    struct sr_encoder *encoder = sr_runtime_encoder(runtime, &infer);
    struct held held;
    (void)state;
    hold(&held, infer, encoder);
    sr_exchange *x = start(runtime, &loop, "how deep does zebra@example.com dive");
    assert_null(sr_exchange_verdict(x));
    x->arena.max = x->arena.total;
    while (sr_arena_alloc(&x->arena, 16))
        ;
    sr_exchange_timeout(x);
    int routed = x->routed, status = sr_exchange_verdict(x)->status;
    sr_exchange_end(x, SR_END_COMPLETE);
    let_go(&held);
    if (loop.n)
        loop_turn(&loop);
    sr_encoder_unref(encoder);
    sr_runtime_close(runtime);
    assert_int_equal(routed, SR_ENOMEM);
    assert_int_equal(status, 503);
    assert_int_equal(loop.ready, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_together), cmocka_unit_test(test_given_up),
                                       cmocka_unit_test(test_no_memory_at_the_deadline),
                                       cmocka_unit_test(test_guards_answer_in_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

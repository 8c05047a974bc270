/*
 * Answers that the neural classifier reads late: what is held meanwhile, what is reported afterwards, and
 * exchanges that end, or whose deadline passes, before.
 */
#include "router/exchange/exchange.h"

#include "tests/unit/exchange_util.h"
#include "tests/unit/hand_loop.h"
#include "tests/unit/held_engine.h"

#define MODEL SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"

#define DECISION(name, action, threshold)                                                                    \
    "    - {name: " name ", rules: {type: keyword, name: " name "}, modelRefs: [{model: plain}],\n"          \
    "       plugins: [{type: response_jailbreak, configuration: {action: " action ", threshold: " threshold  \
    "}}]}\n"

/* What the neural classifier's random head says of any text lies between the two thresholds. */
static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD("warns") TEST_KEYWORD("blocks") TEST_KEYWORD("passes")
        TEST_KEYWORD("counts") "  decisions:\n" DECISION("warns", "header", "1e-20")
            DECISION("blocks", "block", "1e-20") DECISION("passes", "block", "1.0")
                DECISION("counts", "none",
                         "1e-20") "global:\n"
                                  "  model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL
                                  "'}}, modules: {prompt_guard: {positive_labels: [jailbreak, label 0]}}}\n"
                                  "  semroute: {inference: {neural: '" MODEL
                                  "/bundle', ask_below: 1, neural_precision: fp32, queue_jobs: 3}}\n";

struct state {
    sr_runtime *runtime;
    struct sr_infer *infer;
    struct sr_encoder *encoder;
    struct loop loop;
    struct held held;
    int answers; /* times that an answer was said to be ready */
    int texts;   /* so far, all different: nothing is remembered */
};

static int setup(void **state)
{
    struct state *s = calloc(1, sizeof *s);
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    s->runtime = open_yaml_with(yaml, &options);
    s->encoder = sr_runtime_encoder(s->runtime, &s->infer);
    s->loop = (struct loop){.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct state *s = *state;
    sr_encoder_unref(s->encoder);
    sr_runtime_close(s->runtime);
    free(s);
    return 0;
}

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    loop_post(&((struct state *)ctx)->loop, task, arg);
}

static void on_ready(void *ctx, sr_exchange *x)
{
    (void)ctx;
    (void)x;
    fail_msg("the verdict was there at once");
}

static void on_answer(void *ctx, sr_exchange *x)
{
    (void)x;
    ((struct state *)ctx)->answers++;
}

/* A request that takes the decision of that name, its answer begun; from here on the neural classifier is
 * held. */
static sr_exchange *start(struct state *s, const char *word, const char *type)
{
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = post, .ready = on_ready, .answer_ready = on_answer, .ctx = s};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    struct sr_header header = {SR_LIT("content-type"), {type, strlen(type)}};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    char body[256];
    snprintf(body, sizeof body, "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}",
             word);
    sr_exchange *x = sr_exchange_new(s->runtime, &head, &env);
    (void)feed(x, body, strlen(body), 0, NULL);
    assert_non_null(sr_exchange_verdict(x));
    sr_exchange_answer_head(x, 200, &header, 1, &edits);
    hold(&s->held, s->infer, s->encoder);
    return x;
}

/* Lets the neural classifier read, and turns the loop until the exchange knows. */
static void read_on(struct state *s)
{
    let_go(&s->held);
    while (!s->answers)
        loop_turn(&s->loop);
    assert_int_equal(s->answers, 1);
    s->answers = 0;
}

static const char *whole(struct state *s)
{
    static char text[256];
    snprintf(text, sizeof text,
             "{\"choices\":[{\"message\":{\"content\":\"The harbour was quiet on day %d.\"}}]}", s->texts++);
    return text;
}

static const char *event(struct state *s)
{
    static char text[512];
    snprintf(text, sizeof text,
             "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The harbour was quiet on day %d, and "
             "on the "
             "days that followed it was as quiet.\"}}]}\n\n",
             s->texts++);
    return text;
}

static enum sr_answer_step give(sr_exchange *x, const char *text, bool last, char **got)
{
    const struct sr_bytes *slices;
    size_t n;
    enum sr_answer_step step = sr_exchange_answer_body(x, text, text ? strlen(text) : 0, last, &slices, &n);
    *got = joined(slices, n);
    return step;
}

static enum sr_answer_step take(sr_exchange *x, char **got)
{
    const struct sr_bytes *slices;
    size_t n;
    enum sr_answer_step step = sr_exchange_answer_next(x, &slices, &n);
    *got = joined(slices, n);
    return step;
}

#define JSON "application/json"
#define SSE  "text/event-stream"

static void check_got(char *got, const char *expected)
{
    assert_string_equal(got, expected);
    free(got);
}

static void test_whole(void **state)
{
    static const struct {
        const char *word;
        enum sr_answer_step step;
        bool warned;
    } cases[] = {{"warns", SR_ANSWER_GO, true},
                 {"blocks", SR_ANSWER_REPLACE, true},
                 {"passes", SR_ANSWER_GO, false},
                 {"counts", SR_ANSWER_GO, false}};
    struct state *s = *state;
    for (size_t i = 0; i < 4; i++) {
        const struct sr_header *headers;
        size_t n;
        char *got;
        sr_exchange *x = start(s, cases[i].word, JSON);
        const char *text = whole(s);
        assert_int_equal(give(x, text, true, &got), SR_ANSWER_WAIT);
        check_got(got, "");
        assert_true(sr_exchange_deadline_ns(x) > 0);
        read_on(s);
        assert_int_equal(take(x, &got), cases[i].step);
        check_got(got, cases[i].step == SR_ANSWER_GO ? text : "");
        assert_int_equal(sr_exchange_deadline_ns(x), 0);
        if (cases[i].step == SR_ANSWER_REPLACE)
            check_reply(x, 403, "response_jailbreak_blocked");
        sr_exchange_answer_headers(x, &headers, &n);
        assert_int_equal(header_in(headers, n, "x-vsr-response-warnings") != NULL, cases[i].warned);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

/* Events wait for the reading that covers them, others come meanwhile, and the end waits for all. */
static void test_stream_block(void **state)
{
    struct state *s = *state;
    char *got, first[512], second[512];
    sr_exchange *x = start(s, "passes", SSE);
    snprintf(first, sizeof first, "%s", event(s));
    assert_int_equal(give(x, first, false, &got), SR_ANSWER_GO);
    check_got(got, "");
    snprintf(second, sizeof second, "%s", event(s));
    assert_int_equal(give(x, second, false, &got), SR_ANSWER_GO);
    check_got(got, "");
    read_on(s);
    hold(&s->held, s->infer, s->encoder);
    assert_int_equal(take(x, &got), SR_ANSWER_GO); /* and the second one's reading begins */
    check_got(got, first);
    assert_int_equal(give(x, NULL, true, &got), SR_ANSWER_WAIT);
    check_got(got, "");
    read_on(s);
    assert_int_equal(take(x, &got), SR_ANSWER_GO);
    check_got(got, second);
    sr_exchange_end(x, SR_END_COMPLETE);

    x = start(s, "blocks", SSE);
    assert_int_equal(give(x, event(s), false, &got), SR_ANSWER_GO);
    check_got(got, "");
    read_on(s);
    assert_int_equal(take(x, &got), SR_ANSWER_END);
    assert_non_null(strstr(got, "\"finish_reason\":\"content_filter\""));
    free(got);
    assert_int_equal(give(x, event(s), true, &got), SR_ANSWER_END);
    check_got(got, "");
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_stream_header(void **state)
{
    static const char done[] = "data: [DONE]\n\n";
    struct state *s = *state;
    char *got;
    sr_exchange *x = start(s, "warns", SSE);
    const char *text = event(s);
    assert_int_equal(give(x, text, false, &got), SR_ANSWER_GO);
    check_got(got, text);
    assert_int_equal(give(x, done, false, &got), SR_ANSWER_GO);
    check_got(got, "");
    assert_int_equal(give(x, NULL, true, &got), SR_ANSWER_WAIT);
    check_got(got, "");
    read_on(s);
    assert_int_equal(take(x, &got), SR_ANSWER_GO);
    check_got(got, ": x-vsr-response-warnings: response_jailbreak\n\ndata: [DONE]\n\n");
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Out of time the answer goes on with what is known; a client that leaves takes the reading with it. */
static void test_given_up(void **state)
{
    struct state *s = *state;
    for (int i = 0; i < 4; i++) {
        char *got;
        bool stream = i & 1, leaves = i & 2;
        sr_exchange *x = start(s, "passes", stream ? SSE : JSON);
        const char *text = stream ? event(s) : whole(s);
        assert_int_equal(give(x, text, true, &got), SR_ANSWER_WAIT);
        check_got(got, "");
        if (!leaves) {
            sr_exchange_timeout(x);
            assert_int_equal(take(x, &got), SR_ANSWER_GO);
            check_got(got, text);
        }
        sr_exchange_end(x, leaves ? SR_END_CLIENT_GONE : SR_END_COMPLETE);
        let_go(&s->held);
        pthread_mutex_lock(&s->loop.lock);
        int left = s->loop.n;
        pthread_mutex_unlock(&s->loop.lock);
        if (left)
            loop_turn(&s->loop);
        assert_int_equal(s->answers, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_stream_block),
                                       cmocka_unit_test(test_stream_header), cmocka_unit_test(test_given_up)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

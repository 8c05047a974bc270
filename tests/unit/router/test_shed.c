/*
 * A full engine: a request whose guard it has no room for is refused with 503 and Retry-After, before it is
 * forwarded and whatever the other readers know. What no guard needs is not refused.
 */
#include "router/exchange.h"

#include "tests/unit/exchange_util.h"
#include "tests/unit/hand_loop.h"
#include "tests/unit/held_engine.h"

#define MODEL SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"
#define ROOM  4

#define SIGNALS                                                                                              \
    "routing:\n"                                                                                             \
    "  signals:\n"                                                                                           \
    "    keywords:\n" TEST_KEYWORD("deep") "    pii: [{name: private}]\n"                                    \
                                           "    jailbreak: [{name: attack}]\n"                               \
                                           "    embeddings: [{name: near, threshold: 0.0, candidates: [the " \
                                           "weather is fine]}]\n"                                            \
                                           "  decisions:\n"
#define NEAR                                                                                                 \
    "    - {name: near, priority: 5, rules: {type: embedding, name: near}, modelRefs: [{model: thinker}]}\n"
#define ENGINE                                                                                               \
    "global:\n"                                                                                              \
    "  model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL "'}}}\n"                          \
    "  semroute: {inference: {neural: '" MODEL                                                               \
    "/bundle', ask_below: 1, neural_precision: fp32, queue_jobs: 4}}\n"

static const char guarded[] = TEST_PROVIDERS SIGNALS
    "    - {name: attacks, priority: 900, rules: {type: jailbreak, name: attack},\n"
    "       plugins: [{type: guard, configuration: {action: block}}]}\n"
    "    - {name: private, priority: 800, rules: {type: pii, name: private, on_error: no_match},\n"
    "       plugins: [{type: guard, configuration: {action: redact}}]}\n" NEAR ENGINE;
static const char unguarded[] = TEST_PROVIDERS SIGNALS NEAR ENGINE;

static void on_ready(void *ctx, sr_exchange *x)
{
    struct loop *loop = ctx;
    (void)x;
    loop->ready++;
}

static sr_exchange *start(sr_runtime *runtime, struct loop *loop, const char *model, int number)
{
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = loop_post, .ready = on_ready, .ctx = loop};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    char body[512];
    snprintf(
        body, sizeof body,
        "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"how is the weather of day %d\"}]}",
        model, number);
    sr_exchange *x = sr_exchange_new(runtime, &head, &env);
    (void)feed(x, body, strlen(body), 0, NULL);
    return x;
}

static const char *header_of(const struct sr_verdict *verdict, const char *name)
{
    for (size_t i = 0; i < verdict->n_headers; i++)
        if (sr_bytes_eq(verdict->headers[i].name, sr_bytes_str(name)))
            return verdict->headers[i].value.p;
    return NULL;
}

/* Both lanes are held, and the queue is filled by jobs of this test. */
struct full {
    struct held held;
    struct sr_infer *infer;
    struct sr_encoder *encoder;
    struct sr_infer_job jobs[ROOM];
    float out[ROOM][HELD_LABELS_MAX];
    int32_t id;
    atomic_int done;
};

static void full_done(struct sr_infer_job *job, int status)
{
    struct full *full = job->owner;
    (void)status;
    atomic_fetch_add(&full->done, 1);
}

static void fill(struct full *full, sr_runtime *runtime)
{
    *full = (struct full){.id = 1};
    full->encoder = sr_runtime_encoder(runtime, &full->infer);
    hold(&full->held, full->infer, full->encoder);
    for (int i = 0; i < ROOM; i++) {
        full->jobs[i] = full->held.jobs[0];
        full->jobs[i].owner = full;
        full->jobs[i].done = full_done;
        for (size_t h = 0; h < SR_ENCODER_HEADS_MAX; h++)
            if (full->jobs[i].item.out[h])
                full->jobs[i].item.out[h] = full->out[i];
        assert_int_equal(sr_infer_submit(full->infer, &full->jobs[i]), SR_OK);
    }
}

static void drain(struct full *full)
{
    let_go(&full->held);
    while (atomic_load(&full->done) < ROOM)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    sr_encoder_unref(full->encoder);
}

static void test_guards_are_shed(void **state)
{
    static const char *const models[] = {"auto", "plain"};
    static char told[1 << 20];
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    sr_runtime *runtime = open_yaml_with(guarded, &options);
    struct full full;
    (void)state;
    fill(&full, runtime);
    for (int i = 0; i < 2; i++) {
        sr_exchange *x = start(runtime, &loop, models[i], i);
        while (!sr_exchange_verdict(x))
            loop_turn(&loop);
        const struct sr_verdict *verdict = sr_exchange_verdict(x);
        assert_int_equal(verdict->action, SR_ACTION_REPLY);
        assert_int_equal(verdict->outcome, SR_OUTCOME_SHED);
        assert_int_equal(verdict->status, 503);
        assert_non_null(strstr(verdict->reply.p, "\"code\":\"overloaded\""));
        assert_non_null(header_of(verdict, "retry-after"));
        assert_true(atoi(header_of(verdict, "retry-after")) >= 1);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    assert_true(sr_runtime_metrics(runtime, told, sizeof told) < sizeof told);
    assert_non_null(strstr(told, "outcome=\"shed\"} 2\n"));
    drain(&full);
    sr_exchange *x = start(runtime, &loop, "auto", 7); /* room again */
    while (!sr_exchange_verdict(x))
        loop_turn(&loop);
    assert_int_not_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_SHED);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void test_others_are_not(void **state)
{
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    sr_runtime *runtime = open_yaml_with(unguarded, &options);
    struct full full;
    (void)state;
    fill(&full, runtime);
    sr_exchange *x = start(runtime, &loop, "auto", 1);
    while (!sr_exchange_verdict(x))
        loop_turn(&loop);
    assert_int_equal(sr_exchange_verdict(x)->action, SR_ACTION_FORWARD);
    sr_exchange_end(x, SR_END_COMPLETE);
    drain(&full);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guards_are_shed),
                                       cmocka_unit_test(test_others_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

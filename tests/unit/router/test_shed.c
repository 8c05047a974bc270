/*
 * A full engine: a request whose guard it has no room for is refused with 503 and Retry-After, before it is
 * forwarded and whatever the other readers know. What no guard needs is not refused. A long text is refused
 * before it is read; who does not wait hears of it later; what can never be read is 413, or passes where the
 * operator left the guard open.
 */
#include "router/exchange/exchange.h"

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
#define LOADED                                                                                               \
    "global:\n"                                                                                              \
    "  model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL "'}},\n"                          \
    "                  modules: {prompt_guard: {positive_labels: [jailbreak, label 1]}}}\n"                  \
    "  semroute: {signal_deadline_ms: 1, signal_deadline_ms_per_kib: 0, signal_deadline_max_ms: 1, "         \
    "workers: 1, inference: {neural: '" MODEL "/bundle', ask_below: 1, neural_precision: fp32}}\n"
#define LINEAR                                                                                               \
    "global: {semroute: {signal_deadline_ms: 1, signal_deadline_ms_per_kib: 0, signal_deadline_max_ms: 1, "  \
    "workers: 1, inference: {ask_below: 0}}}\n"
#define BLOCK(more)                                                                                          \
    "    - {name: attacks, priority: 900, rules: {type: jailbreak, name: attack" more "},\n"                 \
    "       plugins: [{type: guard, configuration: {action: block}}]}\n"
#define ENGINE                                                                                               \
    "global:\n"                                                                                              \
    "  model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL "'}},\n"                          \
    "                  modules: {prompt_guard: {positive_labels: [jailbreak, label 1]}}}\n"                  \
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

/* A request with so many questions, of which no two requests with other numbers have one in common. */
static sr_exchange *ask_long(sr_runtime *runtime, struct loop *loop, const char *model, int number,
                             int questions, const char *peer)
{
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = loop_post, .ready = on_ready, .ctx = loop};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    struct sr_buf body;
    head.peer = sr_bytes_str(peer);
    sr_buf_init(&body, (size_t)8 << 20);
    assert_int_equal(
        sr_buf_printf(&body, "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"", model),
        SR_OK);
    for (int i = 0; i < questions; i++)
        assert_int_equal(sr_buf_printf(&body, "how is the weather of day %d in year %d? ", number, i), SR_OK);
    assert_int_equal(sr_buf_printf(&body, "\"}]}"), SR_OK);
    sr_exchange *x = sr_exchange_new(runtime, &head, &env);
    (void)feed(x, body.data, body.len, 0, NULL);
    sr_buf_dispose(&body);
    return x;
}

static sr_exchange *start(sr_runtime *runtime, struct loop *loop, const char *model, int number)
{
    char peer[32];
    snprintf(peer, sizeof peer, "10.0.0.%d:1", number);
    return ask_long(runtime, loop, model, number, 1, peer);
}

static const struct sr_verdict *await(sr_exchange *x, struct loop *loop)
{
    while (!sr_exchange_verdict(x))
        loop_turn(loop);
    return sr_exchange_verdict(x);
}

static const char *header_of(const struct sr_verdict *verdict, const char *name)
{
    for (size_t i = 0; i < verdict->n_headers; i++)
        if (sr_bytes_eq(verdict->headers[i].name, sr_bytes_str(name)))
            return verdict->headers[i].value.p;
    return NULL;
}

static void assert_reply(const struct sr_verdict *verdict, int status, const char *said)
{
    assert_int_equal(verdict->action, SR_ACTION_REPLY);
    assert_int_equal(verdict->status, status);
    if (!strstr(verdict->reply.p, said))
        fail_msg("%s", verdict->reply.p);
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

#define WAITING 256
#define LONG    2000 /* questions: more than a thread of the loop reads itself */

/* The lanes are held and have work for longer than the deadline. A long text is refused without a turn of the
 * loop, so no worker thread has read it; a client that comes back at once hears of it later, another one at
 * once. */
static void test_long_texts_are_refused_unread(void **state)
{
    static const char yaml[] = TEST_PROVIDERS SIGNALS BLOCK("") LOADED;
    static struct sr_infer_job jobs[WAITING];
    static float out[WAITING][HELD_LABELS_MAX];
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    sr_runtime *runtime = open_yaml_with(yaml, &options);
    struct full full = {.id = 1};
    int32_t ids[64] = {1};
    (void)state;
    full.encoder = sr_runtime_encoder(runtime, &full.infer);
    hold(&full.held, full.infer, full.encoder); /* both lanes have measured a batch */
    for (int i = 0; i < WAITING; i++) {
        jobs[i] = full.held.jobs[0];
        jobs[i].owner = &full;
        jobs[i].done = full_done;
        jobs[i].item.ids = ids;
        jobs[i].item.n_ids = 32;
        for (size_t h = 0; h < SR_ENCODER_HEADS_MAX; h++)
            if (jobs[i].item.out[h])
                jobs[i].item.out[h] = out[i];
    }
    for (int i = 0; i < WAITING; i += 64) /* 2,048 tokens: long texts */
        assert_int_equal(sr_infer_submit_all(full.infer, jobs + i, 64), SR_OK);
    sr_exchange *x = ask_long(runtime, &loop, "auto", 1, LONG, "10.0.0.1:1");
    assert_non_null(sr_exchange_verdict(x));
    assert_reply(sr_exchange_verdict(x), 503, "overloaded");
    sr_exchange_end(x, SR_END_COMPLETE);

    x = ask_long(runtime, &loop, "auto", 2, LONG, "10.0.0.1:2");
    assert_null(sr_exchange_verdict(x));
    assert_true(sr_exchange_deadline_ns(x) > 0);
    sr_exchange_timeout(x);
    assert_reply(sr_exchange_verdict(x), 503, "overloaded");
    assert_non_null(header_of(sr_exchange_verdict(x), "retry-after"));
    sr_exchange_end(x, SR_END_COMPLETE);

    x = ask_long(runtime, &loop, "auto", 3, LONG, "10.0.0.1:3");
    assert_null(sr_exchange_verdict(x));
    sr_exchange_end(x, SR_END_CLIENT_GONE);

    x = ask_long(runtime, &loop, "auto", 4, LONG, "10.0.0.2:1");
    assert_non_null(sr_exchange_verdict(x));
    sr_exchange_end(x, SR_END_COMPLETE);
    let_go(&full.held);
    while (atomic_load(&full.done) < WAITING)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    sr_encoder_unref(full.encoder);
    sr_runtime_close(runtime);
}

/* A text of more windows than the queue has places: 413 with the key, or forwarded where the guard is open;
 * also there the linear tier's findings count. */
static void test_what_never_fits(void **state)
{
    static const char closed[] = TEST_PROVIDERS SIGNALS BLOCK("") ENGINE;
    static const char open[] = TEST_PROVIDERS SIGNALS BLOCK(", on_error: no_match") ENGINE;
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
        sr_runtime *runtime = open_yaml_with(i ? open : closed, &options);
        sr_exchange *x = ask_long(runtime, &loop, "auto", 1, LONG, "10.0.0.1:1");
        const struct sr_verdict *verdict = await(x, &loop);
        if (i == 0) {
            assert_reply(verdict, 413, "request_too_large");
            assert_reply(verdict, 413, "global.semroute.inference.queue_jobs is 4");
            assert_int_equal(verdict->outcome, SR_OUTCOME_REFUSED);
            assert_null(header_of(verdict, "retry-after"));
        } else {
            assert_int_equal(verdict->action, SR_ACTION_FORWARD);
            assert_int_equal(verdict->outcome, SR_OUTCOME_DEGRADED);
        }
        sr_exchange_end(x, SR_END_COMPLETE);
        sr_runtime_close(runtime);
    }
}

/* A deadline that no thread of this machine meets for two megabytes: once a reading was measured, the next
 * text of that length is 413 with the key, unread. */
static void test_what_no_deadline_allows(void **state)
{
    static const char yaml[] = TEST_PROVIDERS SIGNALS BLOCK("") LINEAR;
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    sr_runtime *runtime = open_yaml(yaml);
    (void)state;
    sr_exchange *x = NULL;
    int number = 0;
    /* This loop has no timer: a text is read whole. The worker thread notes its measure after the answer. */
    for (x = ask_long(runtime, &loop, "auto", number, LONG, "10.0.0.1:1"); !sr_exchange_verdict(x);
         x = ask_long(runtime, &loop, "auto", ++number, 25 * LONG, "10.0.0.1:1")) {
        assert_true(number < 50);
        (void)await(x, &loop);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    assert_reply(sr_exchange_verdict(x), 413, "global.semroute.signal_deadline_max_ms, 1 ms");
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guards_are_shed), cmocka_unit_test(test_others_are_not),
        cmocka_unit_test(test_long_texts_are_refused_unread), cmocka_unit_test(test_what_never_fits),
        cmocka_unit_test(test_what_no_deadline_allows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Exchanges that wait for an identical one, when its leader ends without an answer while a waiter ends too.
 *
 * The leader hands over on its own thread. The test stands in sr_task_complete (tests/CMakeLists.txt): at
 * that moment the waiter has its flight, and is not told yet.
 */
#include "router/exchange/exchange.h"

#include "tests/unit/exchange_util.h"
#include "tests/unit/hand_loop.h"

static const char yaml[] =
    TEST_PROVIDERS "routing:\n"
                   "  decisions:\n"
                   "    - {name: kept, priority: 1, modelRefs: [{model: small}],\n"
                   "       plugins: [{type: response_cache, configuration: {scope: global, mode: exact}}]}\n"
                   "global: {semroute: {cache: {wait_ms: 600000}}}\n";

/* ---- the moment between ---- */

static void (*between)(void);

bool __real_sr_task_complete(struct sr_task *task, int status);
bool __wrap_sr_task_complete(struct sr_task *task, int status);

bool __wrap_sr_task_complete(struct sr_task *task, int status)
{
    void (*act)(void) = between;
    between = NULL;
    if (act)
        act();
    return __real_sr_task_complete(task, status);
}

/* ---- exchanges ---- */

static struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};

static void on_ready(void *ctx, sr_exchange *x)
{
    (void)x;
    ((struct loop *)ctx)->ready++;
}

static sr_exchange *start(sr_runtime *runtime)
{
    static const char body[] = "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"why\"}]}";
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = loop_post, .ready = on_ready, .ctx = &loop};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *x = sr_exchange_new(runtime, &head, &env);
    assert_non_null(x);
    (void)feed(x, body, strlen(body), 0, NULL);
    return x;
}

static bool waits(const sr_exchange *x)
{
    return !sr_exchange_verdict(x);
}

static void await_one(void)
{
    while (!loop.ready)
        loop_turn(&loop);
    assert_int_equal(loop.ready, 1);
    loop.ready = 0;
}

static sr_exchange *waiters[3];

static void *end_first(void *arg)
{
    (void)arg;
    sr_exchange_end(waiters[0], SR_END_CLIENT_GONE);
    return NULL;
}

/* On the thread of the waiter's loop. */
static void first_client_disconnects(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_first, NULL), 0);
    pthread_join(thread, NULL);
}

static void first_deadline_passes(void)
{
    (void)sr_exchange_timeout(waiters[0]);
}

static sr_exchange *lead_and_wait(sr_runtime *runtime)
{
    sr_exchange *leader = start(runtime);
    assert_false(waits(leader));
    for (size_t i = 0; i < 3; i++) {
        waiters[i] = start(runtime);
        assert_true(waits(waiters[i]));
    }
    return leader;
}

/* One of the others leads, and after it the last one. */
static void check_others(void)
{
    await_one();
    assert_false(waits(waiters[1]));
    assert_true(waits(waiters[2]));
    assert_non_null(waiters[1]->recall.flight);
    sr_exchange_end(waiters[1], SR_END_CLIENT_GONE);
    await_one();
    assert_non_null(waiters[2]->recall.flight);
    sr_exchange_end(waiters[2], SR_END_CLIENT_GONE);
}

/* ---- tests ---- */

static void test_a_client_disconnects_while_it_is_to_lead(void **state)
{
    sr_runtime *runtime = open_yaml(yaml);
    (void)state;
    sr_exchange *leader = lead_and_wait(runtime);
    between = first_client_disconnects;
    sr_exchange_end(leader, SR_END_CLIENT_GONE);
    assert_null(between);
    check_others();
    sr_runtime_close(runtime);
}

static void test_a_deadline_passes_while_it_is_to_lead(void **state)
{
    sr_runtime *runtime = open_yaml(yaml);
    (void)state;
    sr_exchange *leader = lead_and_wait(runtime);
    between = first_deadline_passes;
    sr_exchange_end(leader, SR_END_CLIENT_GONE);
    assert_null(between);
    assert_false(waits(waiters[0])); /* it goes alone */
    assert_null(waiters[0]->recall.flight);
    check_others();
    sr_exchange_end(waiters[0], SR_END_CLIENT_GONE);
    sr_runtime_close(runtime);
}

/* It leads, and is not told before its client disconnects: the next one leads. */
static void test_a_client_disconnects_before_it_is_told(void **state)
{
    sr_runtime *runtime = open_yaml(yaml);
    (void)state;
    sr_exchange *leader = lead_and_wait(runtime);
    sr_exchange_end(leader, SR_END_CLIENT_GONE);
    sr_exchange_end(waiters[0], SR_END_CLIENT_GONE);
    check_others();
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_disconnects_while_it_is_to_lead),
        cmocka_unit_test(test_a_deadline_passes_while_it_is_to_lead),
        cmocka_unit_test(test_a_client_disconnects_before_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The arithmetic of steps, on a clock that the test moves. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "mock/engine/engine.h"
#include "mock/engine/metrics.h"
#include "mock/engine/prompt.h"

#define MS       UINT64_C(1000000)
#define LONGEST  4096
#define SEQS_MAX 8

static struct sr_mock_engine *engine;
static struct sr_mock_sequence seqs[SEQS_MAX];

static void new_engine(size_t blocks, size_t running, size_t waiting, size_t step_tokens)
{
    struct sr_mock_engine_settings settings = sr_mock_engine_settings_defaults();
    settings.blocks = blocks;
    settings.max_running = running;
    settings.max_waiting = waiting;
    settings.step_tokens = step_tokens;
    assert_int_equal(sr_mock_engine_new(&engine, &settings, NULL), SR_OK);
}

static int dispose(void **state)
{
    (void)state;
    for (size_t i = 0; i < SEQS_MAX; i++)
        sr_mock_engine_remove(engine, &seqs[i]);
    memset(seqs, 0, sizeof seqs);
    sr_mock_engine_free(engine);
    engine = NULL;
    return 0;
}

/* `prompt` tokens that count from `first` on. */
static int submit(size_t at, size_t prompt, size_t wanted, uint32_t first, uint64_t now)
{
    uint32_t tokens[LONGEST];
    for (size_t i = 0; i < prompt; i++)
        tokens[i] = first + (uint32_t)i;
    seqs[at] = (struct sr_mock_sequence){.prompt = prompt, .wanted = wanted};
    return sr_mock_engine_submit(engine, &seqs[at], tokens, now);
}

static void test_one_request(void **state)
{
    (void)state;
    new_engine(1000, 256, 0, 2048);
    assert_int_equal(submit(0, 160, 3, 0, 5 * MS), SR_OK);
    assert_int_equal(sr_mock_engine_advance(engine, 5 * MS), 21 * MS); /* 160 tokens at 0.1 ms */
    assert_null(sr_mock_engine_take(engine));
    assert_int_equal(sr_mock_engine_advance(engine, 21 * MS), 21 * MS + 10100000);
    assert_ptr_equal(sr_mock_engine_take(engine), &seqs[0]);
    assert_int_equal(seqs[0].produced, 1);
    assert_int_equal(sr_mock_engine_advance(engine, 1000 * MS), SR_MOCK_NEVER);
    assert_true(seqs[0].finished);
    assert_int_equal(seqs[0].first, 21 * MS);
    assert_int_equal(seqs[0].last, 21 * MS + 2 * 10100000);
    assert_int_equal(seqs[0].cached, 0);
}

static void test_a_late_caller_gets_the_same_times(void **state)
{
    uint64_t first, last;
    (void)state;
    new_engine(1000, 256, 0, 2048);
    assert_int_equal(submit(0, 500, 20, 0, MS), SR_OK);
    for (uint64_t now = MS; now < 400 * MS; now += MS / 3)
        (void)sr_mock_engine_advance(engine, now);
    first = seqs[0].first, last = seqs[0].last;
    sr_mock_engine_remove(engine, &seqs[0]);
    sr_mock_engine_evict(engine);
    assert_int_equal(submit(1, 500, 20, 0, 1001 * MS), SR_OK);
    (void)sr_mock_engine_advance(engine, 1001 * MS);
    (void)sr_mock_engine_advance(engine, 9999 * MS);
    assert_int_equal(seqs[1].first - 1000 * MS, first);
    assert_int_equal(seqs[1].last - 1000 * MS, last);
}

static void test_a_cached_prefix_is_not_computed(void **state)
{
    (void)state;
    new_engine(1000, 256, 0, 2048);
    assert_int_equal(submit(0, 160, 1, 0, 0), SR_OK);
    (void)sr_mock_engine_advance(engine, 0);
    (void)sr_mock_engine_advance(engine, 100 * MS);
    assert_true(seqs[0].finished);
    /* All of it is cached, but the last token must be computed: the last block is not taken from the cache.
     */
    assert_int_equal(submit(1, 160, 1, 0, 200 * MS), SR_OK);
    assert_int_equal(sr_mock_engine_advance(engine, 200 * MS), 200 * MS + 1600000);
    assert_int_equal(seqs[1].cached, 144);
    (void)sr_mock_engine_advance(engine, 300 * MS);
    assert_int_equal(submit(2, 170, 1, 0, 300 * MS), SR_OK);
    assert_int_equal(sr_mock_engine_advance(engine, 300 * MS), 301 * MS);
    assert_int_equal(seqs[2].cached, 160);
    struct sr_mock_engine_stats stats;
    sr_mock_engine_stats(engine, &stats);
    assert_int_equal(stats.cache_queries, 490);
    assert_int_equal(stats.cache_hits, 304);
}

/* The answer of a turn is in the cache for the next turn. */
static void test_the_answer_is_cached(void **state)
{
    uint32_t next[64];
    (void)state;
    new_engine(100, 256, 0, 2048);
    assert_int_equal(submit(0, 16, 33, 0, 0), SR_OK);
    (void)sr_mock_engine_advance(engine, 0);
    (void)sr_mock_engine_advance(engine, 9999 * MS);
    assert_true(seqs[0].finished);
    memcpy(next, seqs[0].tokens, 48 * sizeof *next);
    memset(next + 48, 0, sizeof next - 48 * sizeof *next);
    seqs[1] = (struct sr_mock_sequence){.prompt = 64, .wanted = 1};
    assert_int_equal(sr_mock_engine_submit(engine, &seqs[1], next, 9999 * MS), SR_OK);
    (void)sr_mock_engine_advance(engine, 9999 * MS);
    assert_int_equal(seqs[1].cached, 48);
}

static void test_one_step_serves_all(void **state)
{
    (void)state;
    new_engine(1000, 256, 0, 2048);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(submit(i, 100, 2, (uint32_t)i * 1000, 0), SR_OK);
    uint64_t end = sr_mock_engine_advance(engine, 0);
    assert_int_equal(end, 40 * MS); /* four prompts in one step */
    assert_int_equal(sr_mock_engine_advance(engine, end), end + 10 * MS + 4 * MS / 10);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(seqs[i].first, end);
    /* A prompt that arrives inside the step waits for its end, and is computed beside the others' tokens. */
    assert_int_equal(submit(4, 50, 1, 90000, end + MS), SR_OK);
    end += 10 * MS + 4 * MS / 10;
    assert_int_equal(sr_mock_engine_advance(engine, end), end + 5 * MS);
    assert_int_equal(seqs[4].admitted, end);
}

static void test_long_prompts_are_cut_into_steps(void **state)
{
    (void)state;
    new_engine(1000, 256, 0, 100);
    assert_int_equal(submit(0, 250, 1, 0, 0), SR_OK);
    assert_int_equal(sr_mock_engine_advance(engine, 0), 10 * MS);
    assert_int_equal(sr_mock_engine_advance(engine, 10 * MS), 20 * MS);
    assert_int_equal(sr_mock_engine_advance(engine, 20 * MS), 25 * MS);
    (void)sr_mock_engine_advance(engine, 25 * MS);
    assert_int_equal(seqs[0].first, 25 * MS);
}

static void test_limits(void **state)
{
    (void)state;
    new_engine(4, 1, 1, 2048);
    assert_int_equal(submit(0, 65, 1, 0, 0), SR_ELIMIT); /* 4 blocks are 64 tokens */
    assert_int_equal(submit(0, 60, 5, 0, 0), SR_ELIMIT);
    assert_int_equal(submit(0, 0, 1, 0, 0), SR_EINVAL);
    assert_int_equal(submit(0, 60, 4, 0, 0), SR_OK);
    (void)sr_mock_engine_advance(engine, 0);
    assert_int_equal(submit(1, 60, 4, 5000, 0), SR_OK); /* waits: one runs */
    assert_int_equal(submit(2, 60, 4, 9000, 0), SR_AGAIN);
    (void)sr_mock_engine_advance(engine, 9999 * MS);
    assert_true(seqs[0].finished && seqs[1].finished);
    assert_true(seqs[1].admitted >= seqs[0].last);
}

/* Two sequences that do not fit together: one gives up its blocks, and both get the whole answer. */
static void test_preemption(void **state)
{
    struct sr_mock_engine_stats stats;
    (void)state;
    new_engine(8, 256, 0, 2048);
    assert_int_equal(submit(0, 48, 48, 0, 0), SR_OK);
    assert_int_equal(submit(1, 48, 48, 5000, 0), SR_OK);
    (void)sr_mock_engine_advance(engine, 0);
    (void)sr_mock_engine_advance(engine, 99999 * MS);
    assert_true(seqs[0].finished && seqs[1].finished);
    assert_int_equal(seqs[1].produced, 48);
    sr_mock_engine_stats(engine, &stats);
    assert_true(stats.preempted >= 1);
    assert_int_equal(stats.blocks_held, 0);
    assert_int_equal(stats.answer_tokens, 96);
}

static void test_a_client_that_leaves(void **state)
{
    struct sr_mock_engine_stats stats;
    (void)state;
    new_engine(100, 1, 0, 2048);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(submit(i, 100, 9, (uint32_t)i * 1000, 0), SR_OK);
    (void)sr_mock_engine_advance(engine, 0);
    (void)sr_mock_engine_advance(engine, 10 * MS);
    sr_mock_engine_remove(engine, &seqs[0]); /* runs, with news */
    sr_mock_engine_remove(engine, &seqs[1]); /* waits */
    assert_null(sr_mock_engine_take(engine));
    (void)sr_mock_engine_advance(engine, 9999 * MS);
    assert_true(seqs[2].finished);
    sr_mock_engine_stats(engine, &stats);
    assert_int_equal(stats.finished, 1);
    assert_int_equal(stats.blocks_held, 0);
}

static void test_slow(void **state)
{
    (void)state;
    new_engine(100, 256, 0, 2048);
    sr_mock_engine_slow(engine, 4);
    assert_int_equal(submit(0, 100, 1, 0, 0), SR_OK);
    assert_int_equal(sr_mock_engine_advance(engine, 0), 40 * MS);
}

static void test_metrics_have_vllms_names(void **state)
{
    static const char *const lines[] = {
        "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1\n",
        "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 1\n",
        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.07\n",
        "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 100\n",
        "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.01\",model_name=\"m\"} 1\n",
        "vllm:time_to_first_token_seconds_sum{engine=\"0\",model_name=\"m\"} 0.01\n",
    };
    struct sr_mock_engine_stats stats;
    struct sr_buf out;
    (void)state;
    new_engine(100, 1, 0, 2048);
    assert_int_equal(submit(0, 100, 9, 0, 0), SR_OK);
    assert_int_equal(submit(1, 100, 9, 1000, 0), SR_OK);
    (void)sr_mock_engine_advance(engine, 0);
    (void)sr_mock_engine_advance(engine, 10 * MS);
    sr_mock_engine_stats(engine, &stats);
    sr_buf_init(&out, 65536);
    assert_int_equal(sr_mock_metrics(&stats, "m", &out), SR_OK);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(out.data, lines[i]))
            fail_msg("no %s in %s", lines[i], out.data);
    sr_buf_dispose(&out);
}

/* ---- prompts ---- */

static int tokens_of(const char *body, struct sr_mock_tokens *tokens, struct sr_mock_prompt *prompt)
{
    struct sr_mock_prompts *prompts = NULL;
    struct sr_arena arena;
    struct sr_err err = {0};
    sr_mock_tokens_init(tokens, 1000);
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_mock_prompts_new(&prompts, &err), SR_OK);
    int rc = sr_mock_prompt_read(prompts, sr_bytes_str(body), &arena, tokens, prompt, &err);
    sr_mock_prompts_free(prompts);
    sr_arena_dispose(&arena);
    return rc;
}

static void test_chat_template(void **state)
{
    struct sr_mock_tokens a, b;
    struct sr_mock_prompt prompt;
    (void)state;
    assert_int_equal(
        tokens_of("{\"messages\":[{\"content\":\"ab cd\",\"role\":\"user\"},{\"role\":\"assistant\","
                  "\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}],\"max_tokens\":7,"
                  "\"ignore_eos\":true,\"tools\":[1]}",
                  &a, &prompt),
        SR_OK);
    assert_int_equal(prompt.max_tokens, 7);
    assert_true(prompt.ignore_eos);
    const uint32_t *t = a.ids;
    assert_int_equal(a.n, 5 + 4 + 3 + 1);
    assert_int_equal(t[0], SR_MOCK_MARK_TOOLS);
    assert_int_equal(t[1], '[');
    assert_int_equal(t[4], SR_MOCK_MARK_END);
    assert_int_equal(t[5], SR_MOCK_MARK_USER);
    assert_true(t[6] >= SR_MOCK_TOKEN_FIRST && t[7] >= SR_MOCK_TOKEN_FIRST);
    assert_int_equal(t[8], SR_MOCK_MARK_END);
    assert_int_equal(t[9], SR_MOCK_MARK_ASSISTANT);
    assert_int_equal(t[10], 'x');
    assert_int_equal(t[12], SR_MOCK_MARK_ASSISTANT);
    /* Escapes are decoded first. */
    assert_int_equal(tokens_of("{\"prompt\":\"ab cd\"}", &b, &prompt), SR_OK);
    assert_int_equal(b.n, 2);
    assert_memory_equal(b.ids, t + 6, 2 * sizeof *t);
    sr_mock_tokens_dispose(&b);
    assert_int_equal(tokens_of("{\"prompt\":\"\\u0061b\\u0020cd\"}", &b, &prompt), SR_OK);
    assert_memory_equal(b.ids, t + 6, 2 * sizeof *t);
    sr_mock_tokens_dispose(&b);
    sr_mock_tokens_dispose(&a);
}

/* What follows changes no token but the last. */
static void test_tokens_of_a_prefix(void **state)
{
    static const char text[] = "The 14 engines' caches,  of\n\ntoken_blocks \xc3\xa4 are (re)used: yes.";
    struct sr_mock_tokens all, part;
    (void)state;
    sr_mock_tokens_init(&all, 1000);
    assert_int_equal(sr_mock_tokens_text(&all, sr_bytes_str(text)), SR_OK);
    for (size_t n = 1; n < sizeof text - 1; n++) {
        sr_mock_tokens_init(&part, 1000);
        assert_int_equal(sr_mock_tokens_text(&part, sr_bytes_of(text, n)), SR_OK);
        assert_true(part.n <= all.n);
        assert_memory_equal(part.ids, all.ids, (part.n - 1) * sizeof *all.ids);
        sr_mock_tokens_dispose(&part);
    }
    sr_mock_tokens_init(&part, 3);
    assert_int_equal(sr_mock_tokens_text(&part, sr_bytes_str(text)), SR_ELIMIT);
    sr_mock_tokens_dispose(&part);
    sr_mock_tokens_dispose(&all);
}

static void test_wrong_prompts(void **state)
{
    static const struct {
        const char *body;
        int rc;
    } cases[] = {
        {"{\"model\":\"m\"}", SR_EINVAL}, {"{\"prompt\":\"\"}", SR_EINVAL},
        {"{\"messages\":", SR_EPARSE},    {"[]", SR_EINVAL},
        {"{\"prompt\":[5,6]}", SR_OK},    {"{\"prompt\":{}}", SR_EINVAL},
        {"{\"messages\":7}", SR_EINVAL},  {"{\"messages\":[{}]}", SR_OK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_mock_tokens tokens;
        struct sr_mock_prompt prompt;
        assert_int_equal(tokens_of(cases[i].body, &tokens, &prompt), cases[i].rc);
        sr_mock_tokens_dispose(&tokens);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_request, dispose),
        cmocka_unit_test_teardown(test_a_late_caller_gets_the_same_times, dispose),
        cmocka_unit_test_teardown(test_a_cached_prefix_is_not_computed, dispose),
        cmocka_unit_test_teardown(test_the_answer_is_cached, dispose),
        cmocka_unit_test_teardown(test_one_step_serves_all, dispose),
        cmocka_unit_test_teardown(test_long_prompts_are_cut_into_steps, dispose),
        cmocka_unit_test_teardown(test_limits, dispose),
        cmocka_unit_test_teardown(test_preemption, dispose),
        cmocka_unit_test_teardown(test_a_client_that_leaves, dispose),
        cmocka_unit_test_teardown(test_slow, dispose),
        cmocka_unit_test_teardown(test_metrics_have_vllms_names, dispose),
        cmocka_unit_test(test_chat_template),
        cmocka_unit_test(test_tokens_of_a_prefix),
        cmocka_unit_test(test_wrong_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

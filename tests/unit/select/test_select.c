/* The algorithms on candidates made by hand: which one wins, what is left out, and what falls back. */
#include "../cmocka_all.h"

#include "base/mem.h"
#include "select/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct bench {
    struct sr_pool *pool;
    struct sr_arena arena;
    struct sr_config_algorithm config;
    struct sr_select_candidate candidates[4];
    size_t n;
    struct sr_select_ask ask;
    struct sr_ranking ranking;
};

static const char *const names[] = {"a", "b", "c", "d"};

static void bench_open(struct bench *b, const char *type, size_t n)
{
    *b = (struct bench){.n = n};
    assert_int_equal(sr_pool_new(&b->pool), SR_OK);
    sr_arena_init(&b->arena, 1 << 20);
    b->config.type = type;
    b->config.multi_factor.weights.quality = b->config.multi_factor.weights.latency = 1;
    b->config.multi_factor.weights.cost = b->config.multi_factor.weights.load = 1;
    b->config.multi_factor.latency_percentile = 95;
    b->config.bandit = (struct sr_config_bandit){
        .enabled = true, .cost_weight = 0.1, .latency_weight = 0.1, .latency_scale_ms = 1000, .memory = 100};
    for (size_t i = 0; i < n; i++)
        b->candidates[i] = (struct sr_select_candidate){.model = names[i],
                                                        .quality = NAN,
                                                        .cost = NAN,
                                                        .tally = sr_pool_tally_get(b->pool, names[i]),
                                                        .arm = sr_arm_key("d", names[i], "")};
}

static void bench_close(struct bench *b)
{
    sr_arms_free(b->ask.arms);
    sr_arena_dispose(&b->arena);
    sr_pool_free(b->pool);
}

/* The best candidate; -1: the algorithm has no say. */
static int winner(struct bench *b)
{
    struct sr_selector selector;
    struct sr_select_setup setup = {&b->config, "all-MiniLM-L6-v2"};
    struct sr_err err = {0};
    assert_int_equal(sr_selector_open(&selector, &setup, &err), SR_OK);
    assert_int_equal(sr_selector_rank(&selector, &b->ask, b->candidates, b->n, &b->arena, &b->ranking),
                     SR_OK);
    sr_selector_close(&selector);
    int best = b->ranking.scores ? 0 : -1;
    for (size_t i = 1; b->ranking.scores && i < b->n; i++)
        if (b->ranking.scores[i] > b->ranking.scores[best])
            best = (int)i;
    return best;
}

static void weights(struct bench *b, double quality, double latency, double cost, double load)
{
    b->config.multi_factor.weights.quality = quality;
    b->config.multi_factor.weights.latency = latency;
    b->config.multi_factor.weights.cost = cost;
    b->config.multi_factor.weights.load = load;
}

static void test_factors(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, "multi_factor", 3);
    const double quality[] = {0.5, 0.9, 0.8}, cost[] = {1, 10, 3};
    for (size_t i = 0; i < 3; i++) {
        b.candidates[i].quality = quality[i];
        b.candidates[i].cost = cost[i];
        b.candidates[i].load = (double)i;
    }
    weights(&b, 1, 0, 0, 0);
    assert_int_equal(winner(&b), 1);
    weights(&b, 0, 0, 1, 0);
    assert_int_equal(winner(&b), 0);
    weights(&b, 0.5, 0, 0.5, 0); /* a 0.5, b 0.5, c 0.375 + 0.389 */
    assert_int_equal(winner(&b), 2);
    assert_true(fabs(b.ranking.scores[2] - (0.75 + 7.0 / 9) / 2) < 1e-9);
    weights(&b, 0, 0, 0, 1);
    assert_int_equal(winner(&b), 0);
    b.candidates[0].load = 9;
    assert_int_equal(winner(&b), 1);
    weights(&b, 0, 0, 0, 0); /* all the same */
    b.candidates[0].quality = NAN;
    assert_true(winner(&b) >= 0);
    bench_close(&b);
}

static void test_times_compare_in_one_kind(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, "multi_factor", 2);
    weights(&b, 0, 1, 0, 0);
    assert_int_equal(winner(&b), 0); /* nothing is known */
    sr_pool_tally_note(b.candidates[0].tally, SR_TALLY_TTFT, 100);
    sr_pool_tally_note(b.candidates[1].tally, SR_TALLY_TTFT, 50);
    assert_int_equal(winner(&b), 1);
    sr_pool_tally_note(b.candidates[1].tally, SR_TALLY_TPOT, 900); /* only one of them streams */
    assert_int_equal(winner(&b), 1);
    sr_pool_tally_note(b.candidates[0].tally, SR_TALLY_TPOT, 20);
    assert_int_equal(winner(&b), 0);
    bench_close(&b);
}

static void test_limits(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, "multi_factor", 3);
    weights(&b, 1, 0, 0, 0);
    for (size_t i = 0; i < 3; i++) {
        b.candidates[i].quality = 0.7 + 0.1 * (double)i;
        b.candidates[i].cost = 1 + 4 * (double)i;
    }
    b.config.multi_factor.slo.max_cost_per_1m = 5;
    assert_int_equal(winner(&b), 1); /* at the limit is within */
    assert_string_equal(b.ranking.items[2].excluded, "max_cost_per_1m");
    b.config.multi_factor.slo.max_inflight = 2;
    b.candidates[1].load = 3;
    assert_int_equal(winner(&b), 0);
    sr_pool_tally_note(b.candidates[0].tally, SR_TALLY_TTFT, 500);
    b.config.multi_factor.slo.max_ttft_ms = 400;
    b.candidates[0].cost = 2;
    assert_int_equal(winner(&b), 0); /* none is left: the cheapest */
    b.candidates[1].cost = 1;
    assert_int_equal(winner(&b), 1);
    b.config.multi_factor.on_no_candidates = SR_NO_CANDIDATES_FIRST;
    assert_int_equal(winner(&b), 0);
    assert_false(b.ranking.refused);
    b.config.multi_factor.on_no_candidates = SR_NO_CANDIDATES_FAIL;
    (void)winner(&b);
    assert_true(b.ranking.refused);
    bench_close(&b);
}

static void test_latency(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, "latency_aware", 3);
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "no_percentile");
    b.config.latency_aware.ttft_percentile = 50;
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "no_statistics");
    for (int i = 0; i < 9; i++) {
        sr_pool_tally_note(b.candidates[1].tally, SR_TALLY_TTFT, 100);
        sr_pool_tally_note(b.candidates[2].tally, SR_TALLY_TTFT, i < 5 ? 80 : 900);
    }
    assert_int_equal(winner(&b), 2); /* by the median */
    assert_string_equal(b.ranking.items[0].excluded, "no times yet");
    b.config.latency_aware.ttft_percentile = 95;
    assert_int_equal(winner(&b), 1);
    b.config.latency_aware.tpot_percentile = 50; /* both count: the mean of the ratios */
    sr_pool_tally_note(b.candidates[1].tally, SR_TALLY_TPOT, 200);
    sr_pool_tally_note(b.candidates[2].tally, SR_TALLY_TPOT, 10);
    assert_int_equal(winner(&b), 2);
    assert_true(fabs(b.ranking.scores[1] + (20 + 1) / 2.0) < 1e-6);
    assert_true(fabs(b.ranking.scores[2] + (1 + 9) / 2.0) < 1e-6);
    bench_close(&b);
}

static void write_file(char path[64], const char *text)
{
    snprintf(path, 64, "/tmp/sr-select-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void test_neighbours(void **state)
{
    struct bench b;
    char path[64];
    const float near_a[] = {1, 0}, near_b[] = {0, 1}, other[] = {1, 0, 0};
    (void)state;
    bench_open(&b, "knn", 3);
    write_file(path, "{\"k\": 3, \"embeddings\": [[1,0],[0.9,0.1],[0.95,0],[0,1],[0.1,0.9]],"
                     "\"labels\": [\"a\",\"a\",\"b\",\"b\",\"x\"], \"qualities\": [0.3,0.3,0.95,0.9,1]}");
    b.config.knn.path = path;
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "no_vector");
    b.ask.vector = near_a;
    b.ask.dimensions = 2;
    assert_int_equal(winner(&b), 1); /* two poor votes against a good one */
    b.config.knn.k = 1;
    assert_int_equal(winner(&b), 0);
    b.ask.vector = near_b;
    assert_int_equal(winner(&b), 1);
    b.ask.vector = other;
    b.ask.dimensions = 3;
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "other_dimensions");
    b.ask.vector = near_a;
    b.ask.dimensions = 2;
    b.candidates[0].model = b.candidates[1].model = "z";
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "no_votes");
    unlink(path);
    bench_close(&b);
}

static void test_bad_files(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"embeddings\": []}",
        "{\"embeddings\": [[]], \"labels\": []}",
        "{\"embeddings\": [[1],[1,2]], \"labels\": [\"a\",\"b\"]}",
        "{\"embeddings\": [[1],[2]], \"labels\": [\"a\"]}",
        "{\"embeddings\": [[1]], \"labels\": [\"a\",\"b\"]}",
        "{\"embeddings\": [[1e99]], \"labels\": [\"a\"]}",
        "{\"embeddings\": [[\"1\"]], \"labels\": [\"a\"]}",
        "{\"embeddings\": [[1]], \"labels\": [1]}",
        "{\"embeddings\": [[1]], \"labels\": [\"a\"], \"qualities\": [\"x\"]}",
    };
    static const char *const types[] = {"knn", "learned"};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof bad / sizeof bad[0]; i++) {
        struct sr_config_algorithm config = {.type = types[i % 2]};
        struct sr_selector selector;
        struct sr_select_setup setup = {&config, "all-MiniLM-L6-v2"};
        struct sr_err err = {0};
        char path[64];
        write_file(path, bad[i / 2]);
        config.knn.path = config.learned.path = path;
        if (sr_selector_open(&selector, &setup, &err) == SR_OK || !strstr(err.message, path))
            fail_msg("%s: %s", bad[i / 2], err.message);
        unlink(path);
    }
}

static void test_bandit(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, "bandit", 3);
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "no_state");
    assert_int_equal(sr_arms_new(&b.ask.arms), SR_OK);
    b.candidates[0].cost = 1;
    b.candidates[1].cost = b.candidates[2].cost = 10;
    assert_int_equal(winner(&b), 0); /* nothing is known: the cheapest */
    struct sr_arm_name name = {"d", "b", ""};
    for (int i = 0; i < 10; i++)
        sr_arms_outcome(b.ask.arms, &name, 1, 100);
    assert_int_equal(winner(&b), 1);
    for (int i = 0; i < 10; i++)
        sr_arms_time(b.ask.arms, &name, 5000, 100); /* slow, and quality pays for it */
    assert_int_equal(winner(&b), 1);
    b.config.bandit.latency_weight = 1;
    assert_int_equal(winner(&b), 0);
    b.config.bandit.enabled = false;
    assert_int_equal(winner(&b), -1);
    assert_string_equal(b.ranking.fallback, "off");
    bench_close(&b);
}

static void test_exploring_is_bounded(void **state)
{
    struct bench b;
    int explored = 0, others = 0;
    (void)state;
    bench_open(&b, "bandit", 4);
    assert_int_equal(sr_arms_new(&b.ask.arms), SR_OK);
    b.config.bandit.exploration = 0.1;
    b.candidates[2].quality = 1;
    uint64_t seed = 1;
    for (int i = 0; i < 10000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        b.ask.draw = seed ^ (seed >> 29);
        int best = winner(&b);
        explored += b.ranking.explored;
        others += best != 2;
        assert_true(b.ranking.explored || best == 2);
        sr_arena_reset(&b.arena);
    }
    assert_in_range(explored, 850, 1150);
    assert_in_range(others, explored / 2, explored); /* any candidate, the best too */
    b.config.bandit.exploration = 0;
    b.ask.draw = 0;
    assert_int_equal(winner(&b), 2);
    bench_close(&b);
}

static void test_many_candidates(void **state)
{
    struct sr_select_candidate all[SR_SELECT_CANDIDATES_MAX + 8];
    struct sr_config_algorithm config = {.type = "multi_factor"};
    struct sr_select_setup setup = {&config, ""};
    struct sr_select_ask ask = {0};
    struct sr_selector selector;
    struct sr_ranking ranking;
    struct sr_arena arena;
    (void)state;
    config.multi_factor.latency_percentile = 95;
    sr_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        all[i] = (struct sr_select_candidate){.model = "m", .quality = (double)i + 1, .cost = NAN};
    assert_int_equal(sr_selector_open(&selector, &setup, NULL), SR_OK);
    assert_int_equal(sr_selector_rank(&selector, &ask, all, sizeof all / sizeof all[0], &arena, &ranking),
                     SR_OK);
    assert_true(isfinite(ranking.scores[SR_SELECT_CANDIDATES_MAX - 1]));
    assert_true(isinf(ranking.scores[SR_SELECT_CANDIDATES_MAX]));
    sr_selector_close(&selector);
    config.type = "nothing";
    assert_int_equal(sr_selector_open(&selector, &setup, NULL), SR_ENOENT);
    sr_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),         cmocka_unit_test(test_times_compare_in_one_kind),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_latency),
        cmocka_unit_test(test_neighbours),      cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_bandit),          cmocka_unit_test(test_exploring_is_bounded),
        cmocka_unit_test(test_many_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

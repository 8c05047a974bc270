/* What a worker's metrics say of its load: vLLM's names, several ranks, and lines that say nothing. */
#include "serve/gateway/scrape_text.h"
#include "tests/unit/cmocka_all.h"

#include <math.h>
#include <string.h>

static bool read_all(const char *text, struct sr_pool_reported *out)
{
    struct sr_scrape_text scrape;
    sr_scrape_text_init(&scrape);
    for (const char *at = text; *at; at++)
        sr_scrape_text_feed(&scrape, sr_bytes_of(at, 1));
    return sr_scrape_text_finish(&scrape, out);
}

static void test_names_of_vllm(void **state)
{
    (void)state;
    struct sr_pool_reported load;
    assert_true(read_all("# HELP vllm:num_requests_running Number of requests.\n"
                         "# TYPE vllm:num_requests_running gauge\n"
                         "vllm:num_requests_running{engine=\"0\",model_name=\"m } \\\" 9\"} 3.0\n"
                         "vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 2.0\n"
                         "vllm:num_requests_waiting{engine=\"0\"} 7\n"
                         "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
                         "vllm:kv_cache_usage_perc{engine=\"1\"} 0.5 1700000000000\n"
                         "vllm:prefix_cache_queries_total 1.2e+03\n"
                         "vllm:prefix_cache_hits_total 600",
                         &load));
    assert_int_equal(load.running, 5);
    assert_int_equal(load.waiting, 7);
    assert_true(fabs(load.kv_usage - 0.5) < 1e-9);
    assert_true(load.has_hits);
    assert_int_equal(load.asked, 1200);
    assert_int_equal(load.hits, 600);
}

static void test_names_of_older_engines(void **state)
{
    (void)state;
    struct sr_pool_reported load;
    assert_true(read_all("vllm:num_requests_running 1\nvllm:gpu_cache_usage_perc 0.75\n", &load));
    assert_true(fabs(load.kv_usage - 0.75) < 1e-9);
    assert_false(load.has_hits);
    assert_true(read_all("vllm:num_requests_running 1\n", &load));
    assert_true(load.kv_usage < 0);
}

static void test_what_says_nothing(void **state)
{
    (void)state;
    struct sr_pool_reported load;
    static const char *const texts[] = {"",
                                        "<html>not found</html>",
                                        "vllm:num_requests_running",
                                        "vllm:num_requests_running{engine=\"0} 3",
                                        "vllm:num_requests_running NaN\n",
                                        "vllm:num_requests_running -1\n",
                                        "vllm:num_requests_running_more 3\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(read_all(texts[i], &load));
    char line[3100];
    memset(line, 'v', 3000);
    strcpy(line + 3000, "\nvllm:num_requests_running 4\n");
    assert_true(read_all(line, &load)); /* what follows a long line counts */
    assert_int_equal(load.running, 4);
    assert_true(read_all("vllm:num_requests_running 1e300\n", &load));
    assert_int_equal(load.running, 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_vllm),
        cmocka_unit_test(test_names_of_older_engines),
        cmocka_unit_test(test_what_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

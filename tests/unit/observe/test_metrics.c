/* Metrics in the text format, and the line sink of the access log. */
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "base/mem.h"
#include "observe/exposition.h"
#include "observe/lines.h"
#include "observe/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct sr_metrics *metrics;

static int setup(void **state)
{
    (void)state;
    return sr_metrics_new(&metrics);
}

static int teardown(void **state)
{
    (void)state;
    sr_metrics_free(metrics);
    return 0;
}

static char *render(void)
{
    struct sr_buf out;
    sr_buf_init(&out, 16 << 20);
    assert_int_equal(sr_expose_metrics(metrics, SR_EXPOSITION_TEXT, &out), SR_OK);
    return out.data;
}

static void has(const char *line)
{
    char *text = render();
    if (!strstr(text, line))
        fail_msg("missing: %s\nin:\n%s", line, text);
    sr_mem_free(text);
}

static void has_not(const char *line)
{
    char *text = render();
    assert_null(strstr(text, line));
    sr_mem_free(text);
}

static void counters_add_up(void **state)
{
    (void)state;
    has_not("llm_model_requests_total");
    has("# HELP llm_decision_evaluation_total Evaluations of the decisions.\n"
        "# TYPE llm_decision_evaluation_total counter\nllm_decision_evaluation_total 0\n");
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 1, &SR_LIT("a"));
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 2.5, &SR_LIT("a"));
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, -1, &SR_LIT("a"));
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 1, &SR_LIT(""));
    has("\nllm_model_requests_total{model=\"a\"} 3.5\nllm_model_requests_total{model=\"unknown\"} 1\n");
    sr_metrics_add(NULL, SR_METRIC_REQUESTS, 1, &SR_LIT("a"));
}

static void label_values_are_escaped_and_bounded(void **state)
{
    (void)state;
    sr_metrics_add(metrics, SR_METRIC_ERRORS, 1, (struct sr_bytes[]){SR_LIT("a\"b\\c\nd"), SR_LIT("r")});
    has("{model=\"a\\\"b\\\\c\\nd\",reason=\"r\"} 1\n");
    sr_metrics_add(metrics, SR_METRIC_ERRORS, 1, (struct sr_bytes[]){SR_LIT("\xC3("), SR_LIT("r")});
    sr_metrics_add(metrics, SR_METRIC_ERRORS, 1, (struct sr_bytes[]){SR_LIT("\xED\xA0\x80"), SR_LIT("r")});
    has("{model=\"invalid\",reason=\"r\"} 2\n");
    char longer[200];
    memset(longer, 'x', sizeof longer);
    memcpy(longer + SR_METRICS_MAX_VALUE - 1, "\xC3\xA9", 2); /* would be cut in the middle */
    sr_metrics_add(metrics, SR_METRIC_ERRORS, 1,
                   (struct sr_bytes[]){sr_bytes_of(longer, sizeof longer), SR_LIT("cut")});
    has("x\",reason=\"cut\"} 1\n");
    has_not("\xC3");
}

static void histograms_are_cumulative(void **state)
{
    (void)state;
    sr_metrics_add(metrics, SR_METRIC_ROUTING_LATENCY, 3e-6, NULL);
    sr_metrics_add(metrics, SR_METRIC_ROUTING_LATENCY, 5e-6, NULL);
    sr_metrics_add(metrics, SR_METRIC_ROUTING_LATENCY, 100, NULL);
    has("llm_model_routing_latency_seconds_bucket{le=\"2e-06\"} 0\n");
    has("llm_model_routing_latency_seconds_bucket{le=\"5e-06\"} 2\n");
    has("llm_model_routing_latency_seconds_bucket{le=\"10\"} 2\n"
        "llm_model_routing_latency_seconds_bucket{le=\"+Inf\"} 3\n"
        "llm_model_routing_latency_seconds_sum 100.000008\nllm_model_routing_latency_seconds_count 3\n");
    sr_metrics_add(metrics, SR_METRIC_DECISION_CONFIDENCE, 0, &SR_LIT("d"));
    has("llm_decision_confidence_bucket{decision_name=\"d\",le=\"0\"} 1\n");
}

static void gauges_set_move_and_clear(void **state)
{
    (void)state;
    sr_metrics_set(metrics, SR_METRIC_INFLIGHT, 5, &SR_LIT("m"));
    sr_metrics_add(metrics, SR_METRIC_INFLIGHT, -2, &SR_LIT("m"));
    has("llm_model_inflight_requests{model=\"m\"} 3\n");
    sr_metrics_set(metrics, SR_METRIC_CONFIG_INFO, 1, &SR_LIT("one"));
    sr_metrics_clear(metrics, SR_METRIC_CONFIG_INFO);
    has_not("semroute_config_info");
    sr_metrics_set(metrics, SR_METRIC_CONFIG_INFO, 1, &SR_LIT("two"));
    has("# TYPE semroute_config_info gauge\nsemroute_config_info{revision=\"two\"} 1\n");
}

static void series_are_bounded(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < SR_METRICS_MAX_SERIES + 100; i++) {
        snprintf(name, sizeof name, "m%d", i);
        sr_metrics_add(metrics, SR_METRIC_REQUESTS, 1, &(struct sr_bytes){name, strlen(name)});
    }
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 1, &SR_LIT("m7"));
    has("{model=\"m7\"} 2\n");
    has("{model=\"other\"} 100\n");
    has_not("{model=\"m512\"}");
}

/* What is removed makes room: for workers that come and go. */
static void removed_series_make_room(void **state)
{
    (void)state;
    char name[32];
    for (int round = 0; round < 3; round++) {
        sr_metrics_clear(metrics, SR_METRIC_WORKER_OPEN);
        sr_metrics_clear(metrics, SR_METRIC_WORKER_EJECTIONS);
        for (int i = 0; i < SR_METRICS_MAX_SERIES; i++) {
            snprintf(name, sizeof name, "w%d.%d", round, i);
            sr_metrics_set(metrics, SR_METRIC_WORKER_OPEN, 1, &(struct sr_bytes){name, strlen(name)});
            sr_metrics_add(metrics, SR_METRIC_WORKER_EJECTIONS, 1, &(struct sr_bytes){name, strlen(name)});
        }
    }
    has("semroute_worker_open{worker=\"w2.511\"} 1\n");
    has("semroute_worker_ejections_total{worker=\"w2.0\"} 1\n");
    has_not("{worker=\"w1.");
    has_not("{worker=\"other\"}");
}

static void *hammer(void *ctx)
{
    (void)ctx;
    char name[8];
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "t%d", i % 50);
        sr_metrics_add(metrics, SR_METRIC_PROMPT_TOKENS_EACH, 1, &(struct sr_bytes){name, strlen(name)});
    }
    return NULL;
}

static void threads_lose_nothing(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 50; i++) {
        char line[100];
        snprintf(line, sizeof line, "llm_prompt_tokens_per_request_count{model=\"t%d\"} 1600\n", i);
        has(line);
    }
}

/* What `promtool check metrics` asks of names, checked on the table itself. */
static void names_follow_the_conventions(void **state)
{
    (void)state;
#define CHECK(id, kind, name, help, labels, buckets)                                                         \
    {                                                                                                        \
        const char *k = #kind, *n = name, *end = n + strlen(n);                                              \
        bool total = strcmp(end - 6, "_total") == 0;                                                         \
        bool theirs = strcmp(n, "llm_cache_entries_total") == 0; /* a gauge of vLLM Semantic Router */       \
        assert_int_equal(total, strcmp(k, "COUNTER") == 0 || theirs);                                        \
        assert_true(strlen(help) > 0 && strcmp(help, name) != 0);                                            \
        assert_null(strstr("," labels ",", ",le,"));                                                         \
        if (strcmp(k, "HISTOGRAM") != 0)                                                                     \
            assert_true(strcmp(end - 6, "_count") != 0 && strcmp(end - 4, "_sum") != 0);                     \
        double b[] = {SR_BUCKETS_##buckets};                                                                 \
        for (size_t i = 1; i < sizeof b / sizeof b[0]; i++)                                                  \
            assert_true(b[i - 1] < b[i]);                                                                    \
    }
    SR_METRIC_LIST(CHECK)
#undef CHECK
}

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    assert_non_null(f);
    assert_non_null(text);
    text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
    fclose(f);
    return text;
}

static int open_lines(struct sr_lines **out, const char *target, size_t bytes, struct sr_err *err)
{
    int rc = sr_lines_open(out, "access", target, bytes, err);
    sr_lines_count_in(*out, metrics);
    return rc;
}

static void lines_reach_the_file_and_survive_rotation(void **state)
{
    (void)state;
    char dir[] = "/tmp/sr-lines-XXXXXX", path[64], old[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/log", dir);
    snprintf(old, sizeof old, "%s/log.1", dir);
    struct sr_lines *lines = NULL;
    struct sr_err err = {0};
    assert_int_equal(open_lines(&lines, "off", 100, &err), SR_OK);
    assert_null(lines);
    sr_lines_write(lines, SR_LIT("nowhere"));
    assert_int_equal(open_lines(&lines, "/nonexistent/x", 100, &err), SR_EIO);
    assert_non_null(strstr(err.message, "/nonexistent/x"));

    assert_int_equal(open_lines(&lines, path, 1000, &err), SR_OK);
    sr_lines_write(lines, SR_LIT("first"));
    sr_lines_close(lines, 2000);
    assert_int_equal(rename(path, old), 0);

    assert_int_equal(open_lines(&lines, old, 1000, &err), SR_OK);
    sr_lines_write(lines, SR_LIT("second"));
    for (char *text = slurp(old);; text = slurp(old)) { /* wait for the writer */
        bool there = strstr(text, "second") != NULL;
        free(text);
        if (there)
            break;
        usleep(1000);
    }
    assert_int_equal(rename(old, path), 0);
    sr_lines_reopen(lines);
    sr_lines_write(lines, SR_LIT("third"));
    sr_lines_close(lines, 2000);
    char *text = slurp(path);
    assert_string_equal(text, "first\nsecond\n");
    free(text);
    text = slurp(old);
    assert_string_equal(text, "third\n");
    free(text);
    unlink(path);
    unlink(old);
    rmdir(dir);
    has("semroute_log_lines_total{log=\"access\",result=\"written\"} 3\n");
}

static void a_full_queue_drops_and_counts(void **state)
{
    (void)state;
    struct sr_lines *lines = NULL;
    int ends[2];
    char path[64], page[4096], long_line[9000] = {0};
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    memset(page, 'x', sizeof page);
    while (write(ends[1], page, sizeof page) > 0) /* until the pipe is full; it is never read */
        ;
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(open_lines(&lines, path, 8192, NULL), SR_OK);
    for (int i = 0; i < 3000; i++) /* two buffers hold sixteen lines, the rest is lost */
        sr_lines_write(lines, sr_bytes_of(page, 1000));
    assert_true(sr_lines_dropped(lines) >= 2984);
    uint64_t dropped = sr_lines_dropped(lines);
    sr_lines_write(lines, sr_bytes_of(long_line, sizeof long_line));
    assert_int_equal(sr_lines_dropped(lines), dropped + 1);
    assert_false(sr_lines_close(lines, 50));
    close(ends[0]);
    close(ends[1]);
    has("semroute_log_lines_total{log=\"access\",result=\"dropped\"}");
}

static void a_pipe_without_a_reader_drops_and_counts(void **state)
{
    (void)state;
    struct sr_lines *lines = NULL;
    int ends[2];
    char path[64];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(open_lines(&lines, path, 8192, NULL), SR_OK);
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    sr_lines_write(lines, SR_LIT("not read by anyone"));
    while (sr_lines_dropped(lines) == 0) /* wait for the writer */
        usleep(1000);
    assert_true(sr_lines_close(lines, 2000)); /* nothing more is lost */
    close(ends[1]);
}

static double process_value(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    assert_non_null(at);
    return strtod(at + strlen(line), NULL);
}

static void the_process_is_described(void **state)
{
    (void)state;
    struct sr_buf out;
    sr_buf_init(&out, 65536);
    assert_int_equal(sr_expose_process(SR_EXPOSITION_TEXT, &out), SR_OK);
    assert_true(process_value(out.data, "\nprocess_resident_memory_bytes ") > 100000);
    assert_true(process_value(out.data, "\nprocess_open_fds ") >= 1);
    double age = (double)sr_clock_wall_ns() / 1e9 - process_value(out.data, "\nprocess_start_time_seconds ");
    assert_true(age > -5 && age < 3600);
    assert_true(process_value(out.data, "\nprocess_cpu_seconds_total ") >= 0);
    sr_buf_dispose(&out);
}

/* ---- exemplars and OpenMetrics ---- */

static const struct sr_metrics_origin ORIGIN = {
    .trace = {0x0a, 0xf7, [15] = 0x9c}, .span = {0xb7, [7] = 0x31}, .at_ns = UINT64_C(1700000000123456789)};

static char *expose(enum sr_exposition form)
{
    struct sr_buf out;
    sr_buf_init(&out, 16 << 20);
    assert_int_equal(sr_expose_metrics(metrics, form, &out), SR_OK);
    assert_int_equal(sr_expose_process(form, &out), SR_OK);
    assert_int_equal(sr_expose_end(form, &out), SR_OK);
    return out.data;
}

static void an_exemplar_names_the_trace_of_its_bucket(void **state)
{
    (void)state;
    sr_metrics_observe(metrics, SR_METRIC_ROUTING_LATENCY, 3e-6, NULL, &ORIGIN);
    sr_metrics_observe(metrics, SR_METRIC_ROUTING_LATENCY, 4e-6, NULL, NULL);
    sr_metrics_add(metrics, SR_METRIC_ROUTING_LATENCY, 0.3, NULL);
    char *text = expose(SR_EXPOSITION_OPENMETRICS);
    assert_non_null(strstr(
        text,
        "llm_model_routing_latency_seconds_bucket{le=\"5e-06\"} 2 # {trace_id=\"0af7000000000000000000000000"
        "009c\",span_id=\"b700000000000031\"} 3e-06 1700000000.123\n"));
    assert_non_null(strstr(text, "llm_model_routing_latency_seconds_bucket{le=\"0.5\"} 3\n"));
    sr_mem_free(text);
    text = expose(SR_EXPOSITION_TEXT);
    assert_null(strstr(text, "trace_id"));
    assert_null(strstr(text, "# EOF"));
    assert_non_null(strstr(text, "llm_model_routing_latency_seconds_bucket{le=\"5e-06\"} 2\n"));
    sr_mem_free(text);
}

static void openmetrics_names_counters_without_total_and_ends(void **state)
{
    (void)state;
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 1, &SR_LIT("m"));
    char *text = expose(SR_EXPOSITION_OPENMETRICS);
    assert_non_null(
        strstr(text, "# TYPE llm_model_requests counter\nllm_model_requests_total{model=\"m\"} 1\n"));
    assert_non_null(strstr(text, "# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total "));
    size_t n = strlen(text);
    assert_string_equal(text + n - 6, "# EOF\n");
    assert_null(strstr(text, "\n\n"));
    sr_mem_free(text);
    for (int i = 0; i < SR_METRICS; i++) {
        const struct sr_metric_description *what = sr_metrics_describe((enum sr_metric)i);
        n = strlen(what->name);
        if (what->kind == SR_SERIES_COUNTER)
            assert_string_equal(what->name + n - 6, "_total");
        assert_null(strpbrk(what->help, "\"\\\n"));
    }
}

static void the_scraper_chooses_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum sr_exposition form;
    } cases[] = {
        {"", SR_EXPOSITION_TEXT},
        {"*/*", SR_EXPOSITION_TEXT},
        {"text/plain", SR_EXPOSITION_TEXT},
        {"text/plain;version=0.0.4", SR_EXPOSITION_TEXT},
        {"application/openmetrics-text", SR_EXPOSITION_OPENMETRICS},
        {"Application/OpenMetrics-Text; version=1.0.0; charset=utf-8", SR_EXPOSITION_OPENMETRICS},
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         SR_EXPOSITION_OPENMETRICS},
        {"application/openmetrics-text; version=\"1.0.0\"", SR_EXPOSITION_OPENMETRICS},
        {"application/openmetrics-text;version=2.0.0", SR_EXPOSITION_TEXT},
        {"application/openmetrics-text;q=0", SR_EXPOSITION_TEXT},
        {"application/openmetrics-text;q=0.000", SR_EXPOSITION_TEXT},
        {"text/plain;q=0.9,application/openmetrics-text;q=0.5", SR_EXPOSITION_TEXT},
        {"text/plain;q=0.5,application/openmetrics-text;q=0.50", SR_EXPOSITION_OPENMETRICS},
        {",;=,;q=,application/openmetrics-text;;=;q", SR_EXPOSITION_OPENMETRICS},
        {"application/openmetrics-textual", SR_EXPOSITION_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (sr_exposition_of(sr_bytes_str(cases[i].accept)) != cases[i].form)
            fail_msg("%s", cases[i].accept);
}

static atomic_bool stop_exposing;

static void *observe_much(void *arg)
{
    struct sr_metrics_origin origin = ORIGIN;
    memset(origin.trace, *(int *)arg, sizeof origin.trace);
    memset(origin.span, *(int *)arg, sizeof origin.span);
    for (int i = 0; i < 20000; i++)
        sr_metrics_observe(metrics, SR_METRIC_ROUTING_LATENCY, 3e-6, NULL, &origin);
    return NULL;
}

static void *read_much(void *arg)
{
    struct sr_series series;
    (void)arg;
    while (!atomic_load(&stop_exposing)) {
        sr_metrics_read(metrics, SR_METRIC_ROUTING_LATENCY, 0, &series);
        for (size_t i = 0; i < series.n_buckets; i++) {
            const struct sr_exemplar *e = &series.exemplars[i];
            for (size_t k = 1; e->at_ns && k < sizeof e->trace; k++) /* of one thread as a whole */
                assert_int_equal(e->trace[k], e->span[0]);
        }
    }
    return NULL;
}

static void exemplars_of_many_threads_are_whole(void **state)
{
    (void)state;
    int names[] = {0x11, 0x22, 0x33};
    pthread_t writers[3], reader;
    atomic_store(&stop_exposing, false);
    assert_int_equal(pthread_create(&reader, NULL, read_much, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, observe_much, &names[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(writers[i], NULL);
    atomic_store(&stop_exposing, true);
    pthread_join(reader, NULL);
    has("llm_model_routing_latency_seconds_count 60000\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counters_add_up),
        TEST(label_values_are_escaped_and_bounded),
        TEST(histograms_are_cumulative),
        TEST(gauges_set_move_and_clear),
        TEST(series_are_bounded),
        TEST(removed_series_make_room),
        TEST(threads_lose_nothing),
        TEST(names_follow_the_conventions),
        TEST(lines_reach_the_file_and_survive_rotation),
        TEST(a_full_queue_drops_and_counts),
        TEST(a_pipe_without_a_reader_drops_and_counts),
        TEST(the_process_is_described),
        TEST(an_exemplar_names_the_trace_of_its_bucket),
        TEST(openmetrics_names_counters_without_total_and_ends),
        TEST(the_scraper_chooses_the_format),
        TEST(exemplars_of_many_threads_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Metrics as data points of OTLP: parts of a bounded size, and deltas of what was taken. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "serve/otlp/points.h"
#include "trace/wire.h"

#include <stdio.h>

enum {
    METRIC = 2,
    NAME = 1,
    SUM = 7,
    HISTOGRAM = 9,
    POINT = 1,
    VALUE = 4,
    COUNT = 4,
    START = 2,
    EXEMPLAR = 8
};

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

/* Number `at` of the fields of this number and type; false: there are not as many. */
static bool field(struct sr_bytes message, unsigned number, size_t at, struct sr_bytes *out)
{
    struct sr_wire_field f;
    while (sr_wire_next(&message, &f) == SR_OK)
        if (f.number == number && f.type != SR_WIRE_VARINT && at-- == 0) {
            *out = f.bytes;
            return true;
        }
    return false;
}

/* The first point of a metric. */
static bool point(const struct sr_buf *out, const char *name, unsigned kind, struct sr_bytes *at)
{
    struct sr_bytes metric = {0}, text = {0}, data = {0};
    for (size_t i = 0; field(sr_buf_view(out), METRIC, i, &metric); i++)
        if (field(metric, NAME, 0, &text) && sr_bytes_eq(text, sr_bytes_str(name)))
            return field(metric, kind, 0, &data) && field(data, POINT, 0, at);
    return false;
}

static uint64_t fixed(struct sr_bytes message, unsigned number)
{
    struct sr_bytes bytes = {0};
    uint64_t value;
    assert_true(field(message, number, 0, &bytes));
    assert_int_equal(bytes.n, sizeof value);
    memcpy(&value, bytes.p, sizeof value);
    return value;
}

static double real(struct sr_bytes message, unsigned number)
{
    uint64_t bits = fixed(message, number);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct sr_buf write_all(struct sr_otlp_points *points, uint64_t now)
{
    struct sr_buf out;
    int next = 0;
    sr_buf_init(&out, 64 << 20);
    assert_int_equal(sr_otlp_points_write(points, metrics, now, SIZE_MAX, &next, &out), SR_OK);
    assert_int_equal(next, SR_OTLP_POINTS_END);
    return out;
}

/* However many series there are, a part ends with the metric that makes it large enough. */
static void parts_are_bounded(void **state)
{
    (void)state;
    const size_t enough = 100 << 10, one = 600 << 10; /* a metric with all its series */
    struct sr_otlp_points *points;
    char name[32];
    for (int i = 0; i < 2 * SR_METRICS_MAX_SERIES; i++) {
        snprintf(name, sizeof name, "model-%d", i);
        struct sr_bytes labels[] = {sr_bytes_str(name), SR_LIT("r")};
        sr_metrics_add(metrics, SR_METRIC_TTFT, 1, labels);
        sr_metrics_add(metrics, SR_METRIC_COMPLETION_LATENCY, 1, labels);
        sr_metrics_add(metrics, SR_METRIC_ERRORS, 1, labels);
    }
    assert_int_equal(sr_otlp_points_new(&points, false), SR_OK);
    int next = 0, parts = 0;
    size_t series = 0;
    for (; next != SR_OTLP_POINTS_END; parts++) {
        struct sr_buf out;
        struct sr_bytes metric = {0}, data = {0}, at = {0};
        int before = next;
        sr_buf_init(&out, 64 << 20);
        assert_int_equal(sr_otlp_points_write(points, metrics, 1, enough, &next, &out), SR_OK);
        assert_true(out.len <= enough + one);
        assert_true(next > before || next == SR_OTLP_POINTS_END);
        for (size_t i = 0; field(sr_buf_view(&out), METRIC, i, &metric); i++)
            if (field(metric, HISTOGRAM, 0, &data))
                for (size_t k = 0; field(data, POINT, k, &at); k++)
                    series += fixed(at, COUNT) == 1 || fixed(at, COUNT) == SR_METRICS_MAX_SERIES;
        sr_buf_dispose(&out);
    }
    assert_true(parts > 2);
    assert_int_equal(series, 2 * (SR_METRICS_MAX_SERIES + 1)); /* and those of "other" */
    sr_otlp_points_free(points);
}

static void a_delta_is_of_what_was_taken(void **state)
{
    (void)state;
    static const struct sr_metrics_origin origin = {.trace = {1}, .span = {2}, .at_ns = 5};
    static const char name[] = "llm_model_routing_latency_seconds";
    struct sr_otlp_points *points;
    struct sr_bytes at = {0}, exemplar = {0};
    assert_int_equal(sr_otlp_points_new(&points, true), SR_OK);
    sr_metrics_observe(metrics, SR_METRIC_ROUTING_LATENCY, 1, NULL, &origin);
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 3, &SR_LIT("m"));
    for (int i = 0; i < 2; i++) { /* it is lost, and is there again */
        struct sr_buf out = write_all(points, 10);
        assert_true(point(&out, name, HISTOGRAM, &at));
        assert_int_equal(fixed(at, COUNT), 1);
        assert_true(field(at, EXEMPLAR, 0, &exemplar));
        assert_true(point(&out, "llm_model_requests_total", SUM, &at));
        assert_true(real(at, VALUE) == 3);
        sr_buf_dispose(&out);
    }
    sr_otlp_points_taken(points);
    struct sr_buf out = write_all(points, 20);
    assert_false(point(&out, name, HISTOGRAM, &at)); /* nothing is new */
    assert_false(point(&out, "llm_model_requests_total", SUM, &at));
    sr_buf_dispose(&out);
    sr_otlp_points_taken(points);
    sr_metrics_add(metrics, SR_METRIC_ROUTING_LATENCY, 1, NULL);
    sr_metrics_add(metrics, SR_METRIC_REQUESTS, 2, &SR_LIT("m"));
    out = write_all(points, 30);
    assert_true(point(&out, name, HISTOGRAM, &at));
    assert_int_equal(fixed(at, COUNT), 1);
    assert_false(field(at, EXEMPLAR, 0, &exemplar)); /* that was sent */
    assert_int_equal(fixed(at, START), 20);
    assert_true(point(&out, "llm_model_requests_total", SUM, &at));
    assert_true(real(at, VALUE) == 2);
    sr_buf_dispose(&out);
    sr_otlp_points_free(points);
}

/* A counter that is counted elsewhere goes and comes again from zero. */
static void a_series_that_began_again_counts_from_zero(void **state)
{
    (void)state;
    static const char name[] = "semroute_worker_ejections_total";
    struct sr_otlp_points *points;
    struct sr_bytes at = {0};
    assert_int_equal(sr_otlp_points_new(&points, true), SR_OK);
    sr_metrics_add(metrics, SR_METRIC_WORKER_EJECTIONS, 7, &SR_LIT("w"));
    struct sr_buf out = write_all(points, 10);
    sr_buf_dispose(&out);
    sr_otlp_points_taken(points);
    sr_metrics_clear(metrics, SR_METRIC_WORKER_EJECTIONS);
    sr_metrics_add(metrics, SR_METRIC_WORKER_EJECTIONS, 2, &SR_LIT("w"));
    out = write_all(points, 20);
    assert_true(point(&out, name, SUM, &at));
    assert_true(real(at, VALUE) == 2);
    sr_buf_dispose(&out);
    sr_otlp_points_free(points);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_are_bounded),
        TEST(a_delta_is_of_what_was_taken),
        TEST(a_series_that_began_again_counts_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

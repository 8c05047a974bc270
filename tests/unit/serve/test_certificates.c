/* The ends of certificates in the metrics: a reload does not change them under a scrape. */
#include "serve/process/certificates.h"

#include "router/runtime.h"
#include "tests/unit/exchange_util.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_bool begun;

/* A reload with a configuration that names no certificate. */
static void *measure(void *arg)
{
    const struct sr_config *config = sr_runtime_config(arg);
    begun = true;
    sr_certificates_measure(config, arg);
    sr_config_unref(config);
    return NULL;
}

static void test_a_scrape_keeps_its_series(void **state)
{
    sr_runtime *runtime = open_yaml(TEST_PROVIDERS);
    struct sr_metrics *metrics = sr_runtime_metrics_table(runtime);
    struct sr_bytes use = SR_LIT("gateway");
    struct sr_series series;
    pthread_t thread;
    (void)state;
    sr_metrics_set(metrics, SR_METRIC_CERTIFICATE_END, 1893456000, &use);
    sr_runtime_begin_scrape(runtime);
    assert_int_equal(pthread_create(&thread, NULL, measure, runtime), 0);
    while (!begun)
        sched_yield();
    for (int i = 0; i < 10000; i++) {
        sched_yield();
        assert_int_equal(sr_metrics_count(metrics, SR_METRIC_CERTIFICATE_END), 1);
        sr_metrics_read(metrics, SR_METRIC_CERTIFICATE_END, 0, &series);
        assert_true(sr_bytes_eq(series.labels[0], use));
    }
    sr_runtime_end_scrape(runtime);
    pthread_join(thread, NULL);
    assert_int_equal(sr_metrics_count(metrics, SR_METRIC_CERTIFICATE_END), 0);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scrape_keeps_its_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

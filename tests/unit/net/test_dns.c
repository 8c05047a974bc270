/* Names to addresses: literals, the cache, unknown names, and cancelled look-ups. */
#include "tests/unit/cmocka_all.h"

#include "net/loop/dns.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>

/* getaddrinfo of this program: "slow." answers when the gate opens, as a dead name server would. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static int asked, answered;

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    static struct sockaddr_in address = {.sin_family = AF_INET};
    (void)service, (void)hints;
    pthread_mutex_lock(&lock);
    asked++;
    pthread_cond_broadcast(&changed);
    while (strcmp(host, "slow.") == 0 && !gate_open)
        pthread_cond_wait(&changed, &lock);
    answered++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (strcmp(host, "none.") == 0)
        return EAI_NONAME;
    struct addrinfo *found = calloc(1, sizeof *found);
    assert_non_null(found);
    found->ai_addr = (struct sockaddr *)&address;
    found->ai_addrlen = sizeof address;
    *out = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    free(list);
}

static void wait_for(const int *value, int want)
{
    pthread_mutex_lock(&lock);
    while (*value < want)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

struct seen {
    struct sr_loop *loop;
    int code;
    size_t count, calls;
};

static void on_done(void *ctx, int code, const struct sr_dns_result *result, const char *text)
{
    struct seen *seen = ctx;
    seen->code = code;
    seen->count = result ? result->count : 0;
    seen->calls++;
    assert_true(code == SR_OK || text[0]);
    sr_loop_stop(seen->loop);
}

static int resolve(struct seen *seen, struct sr_dns_query **query, const char *host)
{
    struct sr_dns_result result = {.count = 0};
    int rc = sr_dns_resolve(query, seen->loop, host, &result, on_done, seen);
    if (rc == SR_OK)
        seen->count = result.count;
    return rc;
}

static void test_answers(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    struct sr_dns_query *query;
    char long_name[300];
    memset(long_name, 'a', sizeof long_name);
    long_name[299] = 0;
    assert_int_equal(sr_loop_new(&seen.loop), SR_OK);
    assert_int_equal(resolve(&seen, &query, "127.0.0.1"), SR_OK);
    assert_int_equal(resolve(&seen, &query, "::1"), SR_OK);
    assert_int_equal(resolve(&seen, &query, ""), SR_EINVAL);
    assert_int_equal(resolve(&seen, &query, long_name), SR_EINVAL);
    assert_int_equal(asked, 0);
    assert_int_equal(resolve(&seen, &query, "some."), SR_AGAIN);
    sr_loop_run(seen.loop);
    assert_true(seen.code == SR_OK && seen.count == 1 && seen.calls == 1);
    assert_int_equal(resolve(&seen, &query, "some."), SR_OK); /* from the cache */
    assert_int_equal(asked, 1);
    assert_int_equal(resolve(&seen, &query, "none."), SR_AGAIN);
    sr_loop_run(seen.loop);
    assert_true(seen.code == SR_ENOENT && seen.calls == 2);
    assert_int_equal(resolve(&seen, &query, "other."), SR_AGAIN);
    sr_dns_cancel(&query);
    assert_null(query);
    assert_int_equal(resolve(&seen, &query, "none."), SR_AGAIN);
    sr_loop_run(seen.loop);
    assert_int_equal(seen.calls, 3); /* not the one that was cancelled */
    sr_loop_free(seen.loop);
}

/* A loop goes while threads still ask; what they hear later is for nobody. More questions than threads. */
static void test_nobody_waits(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    struct sr_dns_query *queries[20];
    int before = asked, done = answered;
    assert_int_equal(sr_loop_new(&seen.loop), SR_OK);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(resolve(&seen, &queries[i], "slow."), SR_AGAIN);
    wait_for(&asked, before + 8);
    for (size_t i = 0; i < 20; i++)
        sr_dns_cancel(&queries[i]);
    sr_loop_free(seen.loop); /* does not wait: the gate is closed */
    assert_int_equal(answered, done);
    pthread_mutex_lock(&lock);
    gate_open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    wait_for(&answered, done + 8);
    assert_int_equal(seen.calls, 0);
    /* the threads are there for the next loop */
    assert_int_equal(sr_loop_new(&seen.loop), SR_OK);
    assert_int_equal(resolve(&seen, &queries[0], "some."), SR_AGAIN);
    sr_loop_run(seen.loop);
    assert_int_equal(seen.calls, 1);
    sr_loop_free(seen.loop);
    assert_int_equal(asked, before + 9); /* the twelve that waited were not asked */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers), cmocka_unit_test(test_nobody_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

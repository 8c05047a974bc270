/* Connections counted for the process and for each client address, from several threads. */
#include "tests/unit/cmocka_all.h"

#include "net/server/census.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>

static struct sr_census *census;

static int enter(const char *address, struct sr_census_client **client)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return sr_census_enter(census, (struct sockaddr *)&v4, client);
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return sr_census_enter(census, (struct sockaddr *)&v6, client);
}

static int open_census(void **state)
{
    (void)state;
    return sr_census_new(&census);
}

static int close_census(void **state)
{
    (void)state;
    assert_int_equal(sr_census_count(census), 0);
    sr_census_free(census);
    return 0;
}

static void clients_have_their_share(void **state)
{
    (void)state;
    struct sr_census_client *one[2], *other, *none;
    sr_census_limit(census, 4, 2);
    assert_int_equal(enter("10.0.0.1", &one[0]), SR_OK);
    assert_int_equal(enter("::ffff:10.0.0.1", &one[1]), SR_OK); /* the same client */
    assert_int_equal(enter("10.0.0.1", &none), SR_EBUSY);
    assert_int_equal(enter("10.0.0.2", &other), SR_OK);
    sr_census_leave(census, one[0]);
    assert_int_equal(enter("10.0.0.1", &one[0]), SR_OK);
    sr_census_leave(census, one[0]);
    sr_census_leave(census, one[1]);
    sr_census_leave(census, other);
}

static void a_subscriber_is_one_client(void **state)
{
    (void)state;
    struct sr_census_client *first, *none, *other;
    sr_census_limit(census, 0, 1);
    assert_int_equal(enter("2001:db8:0:1::1", &first), SR_OK);
    assert_int_equal(enter("2001:db8:0:1:ffff::2", &none), SR_EBUSY);
    assert_int_equal(enter("2001:db8:0:2::1", &other), SR_OK);
    sr_census_leave(census, first);
    sr_census_leave(census, other);
}

static void the_process_has_its_limit(void **state)
{
    (void)state;
    struct sr_census_client *clients[3], *none;
    char address[32];
    sr_census_limit(census, 3, 0);
    for (int i = 0; i < 3; i++) {
        snprintf(address, sizeof address, "10.0.1.%d", i);
        assert_int_equal(enter(address, &clients[i]), SR_OK);
    }
    assert_int_equal(enter("10.0.2.1", &none), SR_ELIMIT);
    sr_census_limit(census, 2, 0); /* those that are open stay */
    assert_int_equal(sr_census_count(census), 3);
    for (int i = 0; i < 3; i++)
        sr_census_leave(census, clients[i]);
}

static void *come_and_go(void *arg)
{
    char address[32];
    for (int i = 0; i < 3000; i++) {
        struct sr_census_client *client;
        snprintf(address, sizeof address, "10.1.%d.%d", (int)(intptr_t)arg % 2, i % 7);
        if (enter(address, &client) == SR_OK)
            sr_census_leave(census, client);
    }
    return NULL;
}

static void loops_share_it(void **state)
{
    (void)state;
    pthread_t threads[4];
    sr_census_limit(census, 3, 1);
    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)i), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clients_have_their_share, open_census, close_census),
        cmocka_unit_test_setup_teardown(a_subscriber_is_one_client, open_census, close_census),
        cmocka_unit_test_setup_teardown(the_process_has_its_limit, open_census, close_census),
        cmocka_unit_test_setup_teardown(loops_share_it, open_census, close_census),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

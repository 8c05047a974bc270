/* The Redis backend against Debian's redis-server: records, other processes, removals, kills, rights. */
#include "tests/unit/store_kit.h"

#include "store/redis/redis.h"

#include <stdatomic.h>

static struct kit_server server;

static void server_up(const char *more, const char *value)
{
    char port[8];
    snprintf(port, sizeof port, "%u", server.port);
    char *argv[] = {"redis-server",
                    "--port",
                    port,
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "always",
                    "--dir",
                    server.dir,
                    (char *)more,
                    (char *)value,
                    NULL};
    kit_server_start(&server, argv);
}

static int setup(void **state)
{
    (void)state;
    kit_server_init(&server);
    server_up(NULL, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kit_server_dispose(&server);
    return 0;
}

/* The first line that redis-cli prints. */
static void ask(char *out, size_t size, const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "redis-cli -p %u %s", server.port, command);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    *out = '\0';
    if (fgets(out, (int)size, pipe))
        out[strcspn(out, "\n")] = '\0';
    pclose(pipe);
}

static struct sr_redis_options options_of(void)
{
    struct sr_redis_options options = sr_redis_options_defaults();
    options.host = "127.0.0.1";
    options.port = server.port;
    options.limits.retry_min_ms = 10;
    options.limits.retry_max_ms = 200;
    return options;
}

static void open_with(struct kit_backend *b, const struct sr_redis_options *options)
{
    struct sr_err err = {0};
    kit_events_init(&b->events);
    assert_int_equal(sr_redis_backend(&b->backend, options, &kit_events_ops, &b->events, &err), SR_OK);
}

static void open_ready(struct kit_backend *b)
{
    struct sr_redis_options options = options_of();
    open_with(b, &options);
    kit_ready(b);
}

static size_t loaded(struct kit_backend *b)
{
    return kit_count(&b->events, &b->events.loaded);
}

static size_t removed(struct kit_backend *b)
{
    return kit_count(&b->events, &b->events.removed);
}

static void test_put_get(void **state)
{
    struct sr_cache_fields f = kit_fields(1, 1, 1), big = kit_fields(1, 1, 2);
    struct sr_cache_record *record = NULL;
    struct kit_backend b;
    char *bytes = malloc((size_t)20 << 20);
    (void)state;
    memset(bytes, '\r', (size_t)20 << 20);
    big.answer = sr_bytes_of(bytes, (size_t)20 << 20);
    open_ready(&b);
    assert_int_equal(kit_get(&b, f.exact), 0);
    kit_put(&b, &f);
    kit_put(&b, &big);
    kit_flushed(&b);
    assert_int_equal(kit_health(&b).written, 2);
    assert_int_equal(kit_get_within(&b, &f.exact, &record, 60000), 1);
    kit_same(record, &f);
    sr_cache_record_unref(record);
    assert_int_equal(kit_get_within(&b, &f.request, &record, 60000), 1);
    kit_same(record, &f);
    sr_cache_record_unref(record);
    assert_int_equal(kit_get_within(&b, &big.request, &record, 60000), 1);
    kit_same(record, &big);
    sr_cache_record_unref(record);
    assert_int_equal(kit_get(&b, f.partition), 0);
    assert_int_equal(loaded(&b), 0);
    kit_close(&b);
    free(bytes);
}

static void test_expiry(void **state)
{
    struct sr_cache_fields soon = kit_fields(2, 1, 1), past = kit_fields(2, 1, 2),
                           never = kit_fields(2, 1, 3);
    struct kit_backend b;
    char text[64];
    (void)state;
    soon.expires_ms = kit_now_ms() + 1500;
    past.expires_ms = kit_now_ms() - 1;
    never.expires_ms = 0;
    open_ready(&b);
    kit_put(&b, &past);
    kit_put(&b, &soon);
    kit_put(&b, &never);
    kit_flushed(&b);
    assert_int_equal(kit_get(&b, past.exact), 0);
    KIT_UNTIL(kit_get(&b, soon.exact) == 0);
    KIT_UNTIL((ask(text, sizeof text, "dbsize"), strcmp(text, "2") == 0)); /* record and alias of the third */
    assert_int_equal(kit_get(&b, never.exact), 1);
    kit_close(&b);
}

static void test_two_processes(void **state)
{
    struct sr_cache_fields f = kit_fields(3, 1, 1), g = kit_fields(3, 2, 1);
    struct sr_cache_selector which = {.partition = f.partition};
    struct kit_backend a, b, c;
    (void)state;
    open_ready(&a);
    open_ready(&b);
    kit_put(&a, &f);
    kit_put(&a, &g);
    KIT_UNTIL(loaded(&b) == 2);
    assert_memory_equal(&b.events.seen[0], &f.exact, sizeof f.exact);
    open_ready(&c); /* loads what is there */
    KIT_UNTIL(loaded(&c) == 2);
    kit_remove(&a, &which);
    KIT_UNTIL(removed(&b) >= 1 && removed(&c) >= 1);
    struct sr_cache_selector last = kit_last(&b.events);
    assert_memory_equal(&last.partition, &f.partition, sizeof f.partition);
    kit_flushed(&a);
    assert_int_equal(kit_get(&b, f.exact), 0);
    assert_int_equal(kit_get(&b, f.request), 0);
    assert_int_equal(kit_get(&b, g.request), 1);
    assert_int_equal(removed(&a), 0);
    assert_int_equal(loaded(&a), 0);
    kit_close(&a);
    kit_close(&b);
    kit_close(&c);
}

static void test_load_max(void **state)
{
    struct sr_redis_options options = options_of();
    struct sr_cache_fields extra = kit_fields(4, 2, 1);
    struct kit_backend a, b;
    (void)state;
    open_ready(&a);
    for (unsigned n = 0; n < 1200; n++) {
        struct sr_cache_fields f = kit_fields(4, 1, n);
        kit_put(&a, &f);
    }
    kit_flushed(&a);
    options.load_max = 700;
    open_with(&b, &options);
    KIT_UNTIL(loaded(&b) == 700);
    kit_put(&a, &extra);
    KIT_UNTIL(loaded(&b) == 701);
    kit_close(&b);
    options.load_max = 5000;
    open_with(&b, &options);
    KIT_UNTIL(loaded(&b) == 1201);
    kit_close(&b);
    kit_close(&a);
}

/* What each selector takes, and what it leaves. */
static void test_selectors(void **state)
{
    struct sr_cache_fields base = kit_fields(5, 1, 1);
    struct sr_cache_selector by[] = {{.tenant = base.tenant},
                                     {.user = base.user},
                                     {.partition = base.partition},
                                     {.exact = base.exact},
                                     {.model = base.model},
                                     {.created_before_ms = 1000},
                                     {.tenant = base.tenant, .model = base.model},
                                     {.created_before_ms = 0}};
    struct kit_backend b;
    (void)state;
    open_ready(&b);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        struct sr_cache_fields f = base, other = kit_fields(6, 1, 1);
        bool everything = i == sizeof by / sizeof *by - 1;
        f.created_ms = 999;
        other.created_ms = 1000;
        other.model = SR_LIT("model-b");
        kit_put(&b, &f);
        kit_put(&b, &other);
        kit_remove(&b, &by[i]);
        kit_flushed(&b);
        assert_int_equal(kit_get(&b, f.exact), 0);
        assert_int_equal(kit_get(&b, f.request), 0);
        assert_int_equal(kit_get(&b, other.exact), everything ? 0 : 1);
    }
    kit_close(&b);
}

/* A removal reaches a process that was not connected when it happened. */
static void test_removal_while_away(void **state)
{
    struct sr_redis_options slow = options_of();
    struct sr_cache_fields f = kit_fields(7, 1, 1), queued = kit_fields(7, 1, 2);
    struct sr_cache_selector which = {.tenant = f.tenant};
    struct kit_backend a, b;
    char text[64];
    (void)state;
    slow.limits.retry_min_ms = slow.limits.retry_max_ms = 4000;
    open_ready(&a);
    open_with(&b, &slow);
    kit_ready(&b);
    kit_put(&a, &f);
    KIT_UNTIL(loaded(&b) == 1);
    ask(text, sizeof text, "client kill type pubsub");
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    kit_put(&b, &queued); /* of the same tenant: must not come back */
    kit_ready(&a);
    kit_remove(&a, &which);
    kit_flushed(&a);
    KIT_UNTIL(removed(&b) > 0);
    kit_flushed(&b);
    assert_int_equal(kit_get(&a, f.exact), 0);
    assert_int_equal(kit_get(&a, queued.exact), 0);
    kit_close(&a);
    kit_close(&b);
}

/* A process that began when the server was away has records in memory, too: removals of that time reach it.
 */
static void test_removal_before_the_first_connection(void **state)
{
    struct sr_redis_options slow = options_of();
    struct sr_cache_fields f = kit_fields(7, 1, 1), queued = kit_fields(7, 1, 2), other = kit_fields(8, 1, 1);
    struct sr_cache_selector which = {.tenant = f.tenant};
    struct kit_backend a, b;
    (void)state;
    slow.limits.retry_min_ms = slow.limits.retry_max_ms = 4000;
    kit_server_end(&server, SIGTERM);
    open_with(&b, &slow);
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    kit_put(&b, &queued);
    kit_put(&b, &other);
    server_up(NULL, NULL);
    open_ready(&a);
    kit_remove(&a, &which);
    kit_flushed(&a);
    KIT_UNTIL(removed(&b) > 0);
    kit_flushed(&b);
    assert_int_equal(kit_get(&a, queued.exact), 0);
    assert_int_equal(kit_get(&a, other.exact), 1);
    kit_close(&a);
    kit_close(&b);
}

/* Did the latest removal name nothing, and so everything? */
static bool says_all(struct kit_backend *b)
{
    struct sr_cache_selector last = kit_last(&b->events);
    return !sr_cache_key_is_set(&last.tenant);
}

/* The entry that was read last is gone with the server's data: all counts as removed. */
static void test_lost_removals(void **state)
{
    struct sr_cache_fields f = kit_fields(8, 1, 1);
    struct sr_cache_selector which = {.tenant = f.tenant};
    struct kit_backend a, b;
    char text[64];
    (void)state;
    open_ready(&a);
    open_ready(&b);
    kit_remove(&a, &which);
    KIT_UNTIL(removed(&b) >= 1);
    kit_flushed(&a);
    ask(text, sizeof text, "flushall");
    ask(text, sizeof text, "client kill type pubsub");
    KIT_UNTIL(removed(&b) >= 2 && says_all(&b));
    kit_ready(&b);
    kit_put(&b, &f);
    kit_flushed(&b);
    assert_int_equal(kit_get(&b, f.exact), 1);
    kit_close(&a);
    kit_close(&b);
}

/* A server without room refuses puts and streams, but a removal deletes all the same, and is told later. */
static void test_no_room(void **state)
{
    struct sr_cache_fields f = kit_fields(13, 1, 1), g = kit_fields(13, 1, 2);
    struct sr_cache_selector which = {.tenant = f.tenant};
    struct kit_backend a, b;
    char text[64];
    (void)state;
    open_ready(&a);
    open_ready(&b);
    kit_put(&a, &f);
    kit_flushed(&a);
    ask(text, sizeof text, "config set maxmemory 1");
    kit_put(&a, &g);
    KIT_UNTIL(kit_health(&a).dropped == 1);
    assert_non_null(strstr(kit_health(&a).message, "OOM"));
    kit_remove(&a, &which);
    KIT_UNTIL(kit_get(&b, f.exact) == 0);
    ask(text, sizeof text, "config set maxmemory 0");
    KIT_UNTIL(removed(&b) > 0);
    kit_flushed(&a);
    kit_close(&a);
    kit_close(&b);
}

/* ---- kills under load ---- */

struct load {
    struct kit_backend *b;
    atomic_bool stop;
    unsigned puts, hits, misses, errors;
};

static void *load_run(void *arg)
{
    struct load *load = arg;
    while (!atomic_load(&load->stop)) {
        struct sr_cache_fields f = kit_fields(9, 1, load->puts), before = kit_fields(9, 1, load->puts / 2);
        int rc;
        kit_put(load->b, &f);
        load->puts++;
        rc = kit_get_within(load->b, &before.exact, NULL, 60000); /* each call has an answer */
        load->hits += rc == 1;
        load->misses += rc == 0;
        load->errors += rc < 0;
        kit_sleep_ms(1);
    }
    return NULL;
}

static void test_kill(void **state)
{
    struct kit_backend b;
    struct load load = {.b = &b};
    pthread_t thread;
    (void)state;
    open_ready(&b);
    pthread_create(&thread, NULL, load_run, &load);
    for (int round = 0; round < 3; round++) {
        uint64_t written = kit_health(&b).written;
        KIT_UNTIL(kit_health(&b).written > written + 50);
        kit_server_end(&server, SIGKILL);
        KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY && kit_health(&b).queued > 20);
        server_up(NULL, NULL);
        kit_ready(&b);
    }
    kit_sleep_ms(200);
    atomic_store(&load.stop, true);
    pthread_join(thread, NULL);
    kit_flushed(&b);
    assert_int_equal(kit_health(&b).dropped, 0);
    for (unsigned n = 0; n < load.puts; n++)
        assert_int_equal(kit_get(&b, kit_fields(9, 1, n).exact), 1);
    assert_true(load.hits && load.errors);
    print_message("%u puts, %u hits, %u misses, %u errors while away\n", load.puts, load.hits, load.misses,
                  load.errors);
    kit_close(&b);
}

static void test_queue_is_bounded(void **state)
{
    struct sr_redis_options options = options_of();
    struct sr_cache_fields f = kit_fields(10, 1, 1);
    struct sr_cache_record *record = kit_record(&f);
    struct kit_backend b;
    (void)state;
    kit_server_end(&server, SIGKILL);
    options.limits.queue_records = 10;
    open_with(&b, &options);
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    assert_true(*kit_health(&b).message);
    for (int i = 0; i < 15; i++)
        assert_int_equal(b.backend->ops->put(b.backend, record), i < 10 ? SR_OK : SR_EBUSY);
    assert_int_equal(kit_health(&b).dropped, 5);
    assert_int_equal(kit_health(&b).queued, 10);
    assert_int_equal(kit_get(&b, f.exact), SR_ECLOSED);
    sr_cache_record_unref(record);
    server_up(NULL, NULL);
    kit_flushed(&b);
    assert_int_equal(kit_get(&b, f.exact), 1);
    kit_close(&b);
}

/* ---- isolation ---- */

static bool keys_equal(const struct sr_cache_key *a, const struct sr_cache_key *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void random_operation(struct kit_backend *b, unsigned n)
{
    unsigned tenant = 20 + (unsigned)rand() % 5, partition = (unsigned)rand() % 4,
             question = (unsigned)rand() % 20;
    struct sr_cache_fields f = kit_fields(tenant, partition, question);
    struct sr_cache_selector which = {.tenant = f.tenant, .user = f.user};
    struct sr_cache_record *record = NULL;
    int what = rand() % 10;
    if (what < 4) {
        kit_put(b, &f);
    } else if (what == 4 && n % 5 == 0) {
        kit_remove(b, &which);
    } else {
        const struct sr_cache_key *key = rand() % 2 ? &f.exact : &f.request;
        int rc = kit_get_within(b, key, &record, KIT_PATIENCE_S * 1000);
        assert_true(rc >= 0);
        if (rc == 1) {
            assert_true(keys_equal(&record->f.exact, &f.exact) && keys_equal(&record->f.tenant, &f.tenant));
            assert_true(keys_equal(&record->f.partition, &f.partition) &&
                        keys_equal(&record->f.user, &f.user));
            sr_cache_record_unref(record);
        }
    }
}

static void test_isolation(void **state)
{
    unsigned operations = kit_operations();
    struct kit_backend b[2];
    (void)state;
    srand(17);
    open_ready(&b[0]);
    open_ready(&b[1]);
    for (unsigned n = 0; n < operations; n++) {
        if (n == operations / 2) {
            kit_flushed(&b[0]);
            kit_flushed(&b[1]);
            kit_server_end(&server, SIGKILL);
            server_up(NULL, NULL);
            KIT_UNTIL(kit_get(&b[0], kit_key("none", 0)) == 0 && kit_get(&b[1], kit_key("none", 0)) == 0);
        }
        if (n == operations / 4 || n == operations / 4 * 3) { /* another process in its place */
            kit_close(&b[n % 2]);
            open_ready(&b[n % 2]);
        }
        random_operation(&b[rand() % 2], n);
    }
    /* A purge is whole, whoever put what. */
    for (unsigned tenant = 20; tenant < 25; tenant++) {
        struct sr_cache_selector which = {.tenant = kit_key("tenant", tenant)};
        kit_remove(&b[tenant % 2], &which);
    }
    kit_flushed(&b[0]);
    kit_flushed(&b[1]);
    KIT_UNTIL(kit_health(&b[0]).queued == 0 && kit_health(&b[1]).queued == 0);
    char text[64];
    ask(text, sizeof text, "keys 'semroute:r:*'");
    assert_string_equal(text, "");
    kit_close(&b[0]);
    kit_close(&b[1]);
}

/* ---- rights ---- */

static void test_password(void **state)
{
    struct sr_redis_options options = options_of();
    struct sr_cache_fields f = kit_fields(11, 1, 1);
    struct kit_backend b;
    char text[64];
    (void)state;
    kit_server_end(&server, SIGTERM);
    server_up("--requirepass", "sesame");
    open_with(&b, &options);
    KIT_UNTIL(strstr(kit_health(&b).message, "NOAUTH"));
    kit_close(&b);
    options.password = "wrong";
    open_with(&b, &options);
    KIT_UNTIL(strstr(kit_health(&b).message, "WRONGPASS"));
    assert_null(strstr(kit_health(&b).message, "wrong "));
    kit_close(&b);
    options.password = "sesame";
    options.database = 3;
    open_with(&b, &options);
    kit_ready(&b);
    ask(text, sizeof text,
        "--no-auth-warning -a sesame acl setuser cache on '>open' '~semroute:*' '&semroute:*' +@all -@admin");
    assert_string_equal(text, "OK");
    kit_put(&b, &f);
    kit_flushed(&b);
    kit_close(&b);
    options.user = "cache";
    options.password = "open";
    open_with(&b, &options);
    kit_ready(&b);
    assert_int_equal(kit_get(&b, f.exact), 1);
    kit_close(&b);
    options.prefix = "other:";
    open_with(&b, &options);
    KIT_UNTIL(strstr(kit_health(&b).message, "NOPERM"));
    kit_close(&b);
}

/* A member of a cluster is told from other servers at once, and the message says what to do. */
static void test_cluster(void **state)
{
    struct sr_redis_options options = options_of();
    struct kit_backend b;
    char port[8], bus[8], text[64];
    uint16_t free_port;
    (void)state;
    kit_server_end(&server, SIGTERM);
    close(kit_listen(&free_port));
    snprintf(port, sizeof port, "%u", server.port);
    snprintf(bus, sizeof bus, "%u", free_port);
    char *argv[] = {"redis-server", "--port",         port,       "--bind",
                    "127.0.0.1",    "--dir",          server.dir, "--cluster-enabled",
                    "yes",          "--cluster-port", bus,        NULL};
    kit_server_start(&server, argv);
    for (int round = 0; round < 2; round++) {
        open_with(&b, &options);
        KIT_UNTIL(strstr(kit_health(&b).message, "Redis Cluster, which is not supported: name a server"));
        assert_int_equal(kit_health(&b).state, SR_CACHE_BACKEND_AWAY);
        kit_close(&b);
        ask(text, sizeof text, "cluster addslotsrange 0 16383"); /* also one that has all keys */
        assert_string_equal(text, round ? "ERR Slot 0 is already busy" : "OK");
    }
}

/* TLS 1.3 of the real server, which asks for a certificate too. */
static void test_tls(void **state)
{
    struct sr_cache_fields f = kit_fields(12, 1, 1);
    struct sr_redis_options options = options_of();
    struct sr_tls_settings tls = {0};
    struct kit_backend b;
    char command[1500], port[8], ca[160], cert[160], key[160];
    (void)state;
    kit_server_end(&server, SIGTERM);
    snprintf(
        command, sizeof command,
        "cd %s && exec 2>/dev/null && set -e;"
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem"
        " -days 2 -subj /CN=test-ca;"
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout good.key -out good.csr"
        " -subj /CN=good; echo subjectAltName=IP:127.0.0.1 > good.ext;"
        "openssl x509 -req -in good.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile good.ext"
        " -out good.pem",
        server.dir);
    assert_int_equal(system(command), 0);
    snprintf(port, sizeof port, "%u", server.port);
    snprintf(ca, sizeof ca, "%s/ca.pem", server.dir);
    snprintf(cert, sizeof cert, "%s/good.pem", server.dir);
    snprintf(key, sizeof key, "%s/good.key", server.dir);
    char *argv[] = {"redis-server",
                    "--port",
                    "0",
                    "--tls-port",
                    port,
                    "--tls-cert-file",
                    cert,
                    "--tls-key-file",
                    key,
                    "--tls-ca-cert-file",
                    ca,
                    "--tls-auth-clients",
                    "yes",
                    "--bind",
                    "127.0.0.1",
                    "--dir",
                    server.dir,
                    NULL};
    kit_server_start(&server, argv);
    options.limits.command_ms = 1000;
    open_with(&b, &options); /* no TLS */
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    kit_close(&b);
    options.tls = &tls;
    tls.ca_file = ca;
    open_with(&b, &options); /* no certificate of ours */
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    kit_close(&b);
    tls.cert_file = cert;
    tls.key_file = key;
    options.server_name = "elsewhere.test";
    open_with(&b, &options); /* the name is checked */
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    kit_close(&b);
    options.server_name = NULL;
    open_with(&b, &options);
    kit_ready(&b);
    kit_put(&b, &f);
    kit_flushed(&b);
    assert_int_equal(kit_get(&b, f.exact), 1);
    kit_close(&b);
}

static void test_options(void **state)
{
    struct sr_redis_options options = options_of(), bad = options;
    struct sr_cache_backend *backend;
    struct sr_tls_settings tls = {.ca_file = "/nowhere.pem"};
    struct sr_err err = {0};
    (void)state;
    bad.host = NULL;
    assert_int_equal(sr_redis_backend(&backend, &bad, &kit_events_ops, NULL, &err), SR_EINVAL);
    bad = options;
    bad.user = "u";
    assert_int_equal(sr_redis_backend(&backend, &bad, &kit_events_ops, NULL, &err), SR_EINVAL);
    bad = options;
    bad.tls = &tls;
    assert_int_equal(sr_redis_backend(&backend, &bad, &kit_events_ops, NULL, &err), SR_EINVAL);
    assert_non_null(strstr(err.message, "/nowhere.pem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expiry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_max, setup, teardown),
        cmocka_unit_test_setup_teardown(test_selectors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removal_while_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removal_before_the_first_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost_removals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_isolation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_password, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cluster, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

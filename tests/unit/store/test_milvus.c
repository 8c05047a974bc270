/* The Milvus backend against the server of PyPI's milvus-lite: collection, rows, searches, removals, kills.
 */
#include "tests/unit/store_kit.h"

#include "cache/index/pack.h"
#include "store/milvus/milvus.h"

#include <math.h>
#include <stdatomic.h>

#define DIMENSIONS 8

static struct kit_server server;

struct packed {
    uint8_t bytes[4 + 2 * DIMENSIONS];
};

static void server_up(void)
{
    char port[8], *program = getenv("SEMROUTE_MILVUS"), data[160];
    snprintf(port, sizeof port, "%u", server.port);
    snprintf(data, sizeof data, "%s/data", server.dir);
    char *argv[] = {program ? program : SR_SOURCE_DIR "/tests/.venv/bin/milvus-lite",
                    "server",
                    "--data-dir",
                    data,
                    "--host",
                    "127.0.0.1",
                    "--port",
                    port,
                    NULL};
    kit_server_start(&server, argv);
}

static int setup(void **state)
{
    (void)state;
    kit_server_init(&server);
    server_up();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kit_server_dispose(&server);
    return 0;
}

static struct sr_milvus_options options_of(void)
{
    struct sr_milvus_options options = sr_milvus_options_defaults();
    options.host = "127.0.0.1";
    options.port = server.port;
    options.dimensions = DIMENSIONS;
    options.consistency = SR_MILVUS_STRONG;
    options.limits.retry_min_ms = 10;
    options.limits.retry_max_ms = 200;
    return options;
}

static void open_with(struct kit_backend *b, const struct sr_milvus_options *options)
{
    struct sr_err err = {0};
    kit_events_init(&b->events);
    assert_int_equal(sr_milvus_backend(&b->backend, options, &kit_events_ops, &b->events, &err), SR_OK);
}

static void open_ready(struct kit_backend *b)
{
    struct sr_milvus_options options = options_of();
    open_with(b, &options);
    kit_ready(b);
}

/* A vector at an angle in a plane: cosines are those of differences. */
static void vector_at(float *unit, double angle)
{
    memset(unit, 0, DIMENSIONS * sizeof *unit);
    unit[0] = (float)cos(angle);
    unit[1] = (float)sin(angle);
}

/* Question `n` with a vector, which is packed there. */
static struct sr_cache_fields fields_at(unsigned tenant, unsigned partition, unsigned n,
                                        struct packed *packed)
{
    struct sr_cache_fields f = kit_fields(tenant, partition, n);
    float unit[DIMENSIONS];
    vector_at(unit, n * 0.1);
    assert_int_equal(sr_vector_pack(unit, DIMENSIONS, packed->bytes), SR_OK);
    f.vector = sr_bytes_of(packed->bytes, sr_vector_packed_size(DIMENSIONS));
    return f;
}

/* The nearest of a partition to an angle; the count, or an error. */
static int search(struct kit_backend *b, struct sr_cache_key partition, double angle, size_t k,
                  struct kit_answer *answer)
{
    float unit[DIMENSIONS];
    int rc;
    vector_at(unit, angle);
    *answer = kit_answer_new();
    rc = b->backend->ops->search(b->backend, &partition, unit, DIMENSIONS, k,
                                 kit_deadline(KIT_PATIENCE_S * 1000), kit_found, answer);
    if (rc != SR_OK)
        return rc;
    kit_answer_wait(answer);
    return answer->status == SR_OK ? (int)answer->n : answer->status;
}

static int count(struct kit_backend *b, struct sr_cache_key partition)
{
    struct kit_answer answer;
    int n = search(b, partition, 0, KIT_FOUND_MAX, &answer);
    kit_answer_dispose(&answer);
    return n;
}

static void test_put_search(void **state)
{
    struct packed unit, third;
    struct sr_cache_fields f, wanted = fields_at(1, 1, 3, &third), plain = kit_fields(1, 1, 50);
    struct sr_cache_record *record = NULL;
    struct kit_answer answer;
    struct kit_backend b;
    (void)state;
    open_ready(&b);
    for (unsigned n = 0; n < 10; n++) {
        f = n == 3 ? wanted : fields_at(1, 1, n, &unit);
        kit_put(&b, &f);
        f = fields_at(1, 2, n, &unit);
        kit_put(&b, &f);
    }
    kit_put(&b, &plain);
    kit_flushed(&b);
    assert_int_equal(kit_health(&b).written, 21);
    assert_int_equal(search(&b, wanted.partition, 0.31, 3, &answer), 3);
    kit_same(answer.found[0].record, &wanted);
    assert_true(fabs(answer.found[0].similarity - cos(0.01)) < 2e-3);
    assert_true(answer.found[0].similarity >= answer.found[1].similarity);
    kit_answer_dispose(&answer);
    assert_int_equal(count(&b, plain.partition), 10); /* the record without a vector is not among them */
    assert_int_equal(kit_get_within(&b, &plain.exact, &record, 60000), 1);
    kit_same(record, &plain);
    sr_cache_record_unref(record);
    assert_int_equal(kit_get_within(&b, &plain.request, &record, 60000), 1);
    sr_cache_record_unref(record);
    assert_int_equal(kit_get(&b, plain.partition), 0);
    kit_close(&b);
}

static void test_replace_expire(void **state)
{
    struct packed unit;
    struct sr_cache_fields f = fields_at(2, 1, 1, &unit), soon = fields_at(2, 1, 2, &unit);
    struct sr_cache_record *record = NULL;
    struct sr_milvus_options options = options_of();
    struct kit_backend b;
    (void)state;
    options.cleanup_ms = 200;
    open_with(&b, &options);
    kit_ready(&b);
    kit_put(&b, &f);
    f.answer = SR_LIT("another");
    kit_put(&b, &f);
    soon.expires_ms = kit_now_ms() + 2000;
    kit_put(&b, &soon);
    kit_flushed(&b);
    assert_int_equal(kit_get_within(&b, &f.exact, &record, 60000), 1);
    kit_same(record, &f);
    sr_cache_record_unref(record);
    KIT_UNTIL(kit_get(&b, soon.exact) == 0);
    KIT_UNTIL(count(&b, f.partition) == 1);
    kit_close(&b);
}

/* ---- large records ---- */

/* An answer of so many bytes that says which version it is in each of its places. */
static struct sr_bytes answer_of(size_t size, unsigned version)
{
    char *bytes = malloc(size + 32);
    for (size_t at = 0; at < size;)
        at += (size_t)snprintf(bytes + at, 32, "[%u at %zu]", version, at);
    return sr_bytes_of(bytes, size);
}

/* The version of an answer that is whole. */
static unsigned version_of(const struct sr_cache_record *record)
{
    unsigned version;
    assert_int_equal(sscanf(record->f.answer.p, "[%u at 0]", &version), 1);
    struct sr_bytes whole = answer_of(record->f.answer.n, version);
    assert_true(sr_bytes_eq(record->f.answer, whole));
    free((char *)whole.p);
    return version;
}

static void test_large(void **state)
{
    static const size_t sizes[] = {30000, 48600, 48700, 49149, 98000, 300000, 1 << 20, (4 << 20) - 2000};
    size_t n = sizeof sizes / sizeof *sizes;
    struct sr_cache_fields f = {.model = SR_LIT("")};
    struct sr_cache_record *record = NULL;
    struct kit_answer answer;
    struct packed unit;
    struct kit_backend b;
    (void)state;
    open_ready(&b);
    for (unsigned i = 0; i < n; i++) {
        f = fields_at(6, i, i, &unit);
        f.answer = answer_of(sizes[i], i);
        kit_put(&b, &f);
        free((char *)f.answer.p);
    }
    f.exact = kit_key("larger", 1);
    f.answer = answer_of((4 << 20) + 1, 0);
    kit_put(&b, &f);
    free((char *)f.answer.p);
    kit_flushed(&b);
    assert_int_equal(kit_health(&b).dropped, 1);
    assert_non_null(strstr(kit_health(&b).message, "larger"));
    for (unsigned i = 0; i < n; i++) {
        f = fields_at(6, i, i, &unit);
        assert_int_equal(kit_get_within(&b, &f.exact, &record, 60000), 1);
        assert_int_equal(record->f.answer.n, sizes[i]);
        assert_int_equal(version_of(record), i);
        sr_cache_record_unref(record);
        assert_int_equal(kit_get(&b, f.request), 1);
        assert_int_equal(search(&b, f.partition, i * 0.1, 4, &answer), 1);
        assert_int_equal(version_of(answer.found[0].record), i);
        assert_true(answer.found[0].similarity > 0.99f);
        kit_answer_dispose(&answer);
    }
    for (unsigned i = 0; i < n; i++) {
        f = fields_at(6, i, i, &unit);
        struct sr_cache_selector which = {.exact = f.exact};
        kit_remove(&b, &which);
        kit_flushed(&b);
        assert_int_equal(kit_get(&b, f.request), 0);
    }
    kit_close(&b);
}

/* Writes versions of a few keys from one process, large and small, until it is told to stop. */
struct writer {
    struct kit_backend *b;
    atomic_bool *stop;
    unsigned first; /* versions are first, first + 2, ... */
};

static void *overwrite(void *arg)
{
    static const size_t sizes[] = {100, 60000, 200000, 900000};
    struct writer *writer = arg;
    for (unsigned version = writer->first; !atomic_load(writer->stop); version += 2) {
        struct packed unit;
        struct sr_cache_fields f = fields_at(7, 1, version / 2 % 3, &unit);
        f.answer = answer_of(sizes[version / 2 * 7 % 4], version);
        kit_put(writer->b, &f);
        free((char *)f.answer.p);
        KIT_UNTIL(kit_health(writer->b).queued < 3 || atomic_load(writer->stop));
    }
    return NULL;
}

/* Two processes overwrite each other's large records while the server is killed: whatever is found is one of
 * them, and whole. */
static void test_large_whole_or_not(void **state)
{
    struct writer writers[2];
    pthread_t threads[2];
    struct kit_backend b[2];
    struct packed unit;
    atomic_bool stop = false;
    unsigned found = 0, wanted = kit_operations() / 20;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        open_ready(&b[i]);
        writers[i] = (struct writer){.b = &b[i], .stop = &stop, .first = i};
        pthread_create(&threads[i], NULL, overwrite, &writers[i]);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; found < wanted * (round + 1) / 3; n++) {
            struct sr_cache_fields f = fields_at(7, 1, n % 3, &unit);
            struct sr_cache_record *record = NULL;
            struct kit_answer answer;
            if (kit_get_within(&b[n % 2], &f.exact, &record, 5000) == 1) {
                (void)version_of(record);
                sr_cache_record_unref(record);
                found++;
            }
            (void)search(&b[n % 2], f.partition, n % 3 * 0.1, 4, &answer);
            for (size_t i = 0; i < answer.n; i++)
                (void)version_of(answer.found[i].record);
            kit_answer_dispose(&answer);
        }
        kit_server_end(&server, SIGKILL);
        server_up();
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 2; i++) {
        kit_flushed(&b[i]);
        assert_int_equal(kit_health(&b[i]).dropped, 0);
    }
    for (unsigned n = 0; n < 3; n++) { /* the last one is whole */
        struct sr_cache_record *record = NULL;
        struct sr_cache_key exact = kit_fields(7, 1, n).exact;
        assert_int_equal(kit_get_within(&b[0], &exact, &record, 60000), 1);
        (void)version_of(record);
        sr_cache_record_unref(record);
    }
    for (unsigned i = 0; i < 2; i++)
        kit_close(&b[i]);
}

/* ---- removals of others ---- */

static size_t removed(struct kit_backend *b)
{
    return kit_count(&b->events, &b->events.removed);
}

/* A write is not over before its process knows the removals that were over when it began. */
static void know(struct kit_backend *b)
{
    struct packed unit;
    struct sr_cache_fields f = fields_at(99, 1, 1, &unit);
    kit_put(b, &f);
    kit_flushed(b);
}

static void test_removal_is_told(void **state)
{
    struct sr_milvus_options options = options_of();
    struct packed unit;
    struct sr_cache_fields f = fields_at(8, 1, 1, &unit), other = fields_at(9, 1, 1, &unit);
    struct sr_cache_selector which = {.tenant = f.tenant, .model = f.model}, all = {.created_before_ms = 0};
    struct kit_backend a, b, c;
    (void)state;
    options.purge_ms = 20;
    open_with(&a, &options);
    open_with(&b, &options);
    kit_ready(&a);
    kit_ready(&b);
    kit_put(&a, &f);
    kit_put(&a, &other);
    kit_flushed(&a);
    kit_remove(&a, &which);
    kit_flushed(&a);
    KIT_UNTIL(removed(&b) > 0);
    know(&b);
    assert_true(removed(&b) <= 2); /* before and after the records were deleted, or only after */
    struct sr_cache_selector last = kit_last(&b.events);
    assert_memory_equal(&last.tenant, &f.tenant, sizeof f.tenant);
    assert_false(sr_cache_key_is_set(&last.user));
    assert_int_equal(removed(&a), 0);
    assert_int_equal(kit_get(&b, other.exact), 1);
    kit_remove(&b, &all);
    kit_flushed(&b);
    KIT_UNTIL(removed(&a) > 0);
    assert_int_equal(kit_get(&a, other.exact), 0);
    open_with(&c, &options); /* the purges are younger than its clock's margin: they are taken, to be sure */
    kit_ready(&c);
    assert_int_equal(removed(&c), 2);
    kit_close(&a);
    kit_close(&b);
    kit_close(&c);
}

/* A removal reaches a process that is away, and what waits in its queue is not written afterwards. */
static void test_removal_while_away(void **state)
{
    struct sr_milvus_options options = options_of();
    struct packed unit;
    struct sr_cache_fields queued = fields_at(10, 1, 1, &unit), kept = fields_at(11, 1, 1, &unit);
    struct sr_cache_selector which = {.tenant = queued.tenant};
    struct kit_backend a, b;
    (void)state;
    options.limits.retry_min_ms = options.limits.retry_max_ms = 4000;
    open_ready(&a);
    open_with(&b, &options);
    kit_ready(&b);
    kit_server_end(&server, SIGKILL);
    KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY);
    kit_put(&b, &queued);
    kit_put(&b, &kept);
    kit_remove(&a, &which);
    server_up(); /* the first is back before the other one tries again */
    kit_flushed(&a);
    KIT_UNTIL(removed(&b) > 0);
    kit_flushed(&b);
    assert_int_equal(kit_get(&a, queued.exact), 0);
    assert_int_equal(kit_get(&a, kept.exact), 1);
    kit_close(&a);
    kit_close(&b);
}

/* One process removes what another one is putting: what was put before is gone once both know. */
static void test_removal_meets_puts(void **state)
{
    struct sr_cache_selector which = {.tenant = kit_key("tenant", 12)};
    struct kit_backend b[2];
    struct packed unit;
    (void)state;
    open_ready(&b[0]);
    open_ready(&b[1]);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned n = 0; n < 6; n++) {
            struct sr_cache_fields f = fields_at(12, n % 2, n, &unit);
            f.answer = answer_of(n % 3 ? 100 : 60000, n);
            kit_put(&b[1], &f);
            free((char *)f.answer.p);
        }
        kit_remove(&b[0], &which);
        kit_flushed(&b[0]);
        know(&b[1]);
        kit_flushed(&b[1]);
        for (unsigned partition = 0; partition < 2; partition++)
            assert_int_equal(count(&b[0], kit_fields(12, partition, 0).partition), 0);
    }
    kit_close(&b[0]);
    kit_close(&b[1]);
}

static void test_selectors(void **state)
{
    struct packed unit;
    struct sr_cache_fields base = fields_at(3, 1, 1, &unit);
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
        struct packed place;
        struct sr_cache_fields f = base, other = fields_at(4, 1, 1, &place), plain = kit_fields(3, 1, 4);
        bool everything = i == sizeof by / sizeof *by - 1;
        f.created_ms = 999;
        other.created_ms = 1000;
        other.model = SR_LIT("model-b");
        plain.created_ms = 999;
        kit_put(&b, &f);
        kit_put(&b, &other);
        kit_put(&b, &plain);
        kit_remove(&b, &by[i]);
        kit_flushed(&b);
        assert_int_equal(kit_get(&b, f.exact), 0);
        assert_int_equal(kit_get(&b, plain.exact), i == 3 ? 1 : 0);
        assert_int_equal(kit_get(&b, other.exact), everything ? 0 : 1);
    }
    kit_close(&b);
}

static void test_wrong_collection(void **state)
{
    struct sr_milvus_options options = options_of(), other = options;
    struct kit_backend a, b;
    (void)state;
    open_with(&a, &options);
    kit_ready(&a);
    other.dimensions = 16;
    open_with(&b, &other);
    KIT_UNTIL(strstr(kit_health(&b).message, "8 dimensions"));
    assert_int_equal(kit_health(&b).state, SR_CACHE_BACKEND_AWAY);
    kit_close(&b);
    other = options;
    other.metric = SR_MILVUS_IP;
    open_with(&b, &other);
    KIT_UNTIL(strstr(kit_health(&b).message, "metric"));
    kit_close(&b);
    kit_close(&a);
}

static void test_metric_ip(void **state)
{
    struct packed unit;
    struct sr_cache_fields f = fields_at(5, 1, 3, &unit);
    struct sr_milvus_options options = options_of();
    struct kit_answer answer;
    struct kit_backend b;
    (void)state;
    options.metric = SR_MILVUS_IP;
    open_with(&b, &options);
    kit_ready(&b);
    kit_put(&b, &f);
    kit_flushed(&b);
    assert_int_equal(search(&b, f.partition, 0.4, 1, &answer), 1);
    assert_true(fabs(answer.found[0].similarity - cos(0.1)) < 1e-3);
    kit_answer_dispose(&answer);
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
        struct packed unit;
        struct sr_cache_fields f = fields_at(9, 1, load->puts, &unit),
                               before = kit_fields(9, 1, load->puts / 2);
        int rc;
        kit_put(load->b, &f);
        load->puts++;
        rc = kit_get_within(load->b, &before.exact, NULL, 60000); /* each call has an answer */
        load->hits += rc == 1;
        load->misses += rc == 0;
        load->errors += rc < 0;
        kit_sleep_ms(5);
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
    for (int round = 0; round < 2; round++) {
        uint64_t written = kit_health(&b).written;
        KIT_UNTIL(kit_health(&b).written > written + 30);
        kit_server_end(&server, SIGKILL);
        KIT_UNTIL(kit_health(&b).state == SR_CACHE_BACKEND_AWAY && kit_health(&b).queued > 20);
        server_up();
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

/* ---- isolation ---- */

static bool keys_equal(const struct sr_cache_key *a, const struct sr_cache_key *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void random_operation(struct kit_backend *b, unsigned n)
{
    unsigned tenant = 20 + (unsigned)rand() % 5, partition = (unsigned)rand() % 3,
             question = (unsigned)rand() % 20;
    struct packed unit;
    struct sr_cache_fields f = fields_at(tenant, partition, question, &unit);
    struct sr_cache_selector which = {.tenant = f.tenant, .user = f.user};
    struct sr_cache_record *record = NULL;
    struct kit_answer answer;
    int what = rand() % 10, rc;
    if (what < 4) {
        kit_put(b, &f);
    } else if (what == 4 && n % 5 == 0) {
        kit_remove(b, &which);
    } else if (what < 8) {
        rc = search(b, f.partition, question * 0.1, 4, &answer);
        assert_true(rc >= 0);
        for (int i = 0; i < rc; i++)
            assert_true(keys_equal(&answer.found[i].record->f.partition, &f.partition) &&
                        keys_equal(&answer.found[i].record->f.tenant, &f.tenant));
        kit_answer_dispose(&answer);
    } else {
        rc = kit_get_within(b, rand() % 2 ? &f.exact : &f.request, &record, KIT_PATIENCE_S * 1000);
        assert_true(rc >= 0);
        if (rc == 1) {
            assert_true(keys_equal(&record->f.exact, &f.exact) && keys_equal(&record->f.tenant, &f.tenant));
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
            server_up();
            KIT_UNTIL(kit_get(&b[0], kit_key("none", 0)) == 0 && kit_get(&b[1], kit_key("none", 0)) == 0);
        }
        if (n == operations / 4 || n == operations / 4 * 3) { /* another process in its place */
            kit_close(&b[n % 2]);
            open_ready(&b[n % 2]);
        }
        random_operation(&b[rand() % 2], n);
    }
    kit_flushed(&b[0]);
    kit_flushed(&b[1]);
    for (unsigned tenant = 20; tenant < 25; tenant++) {
        struct sr_cache_selector which = {.tenant = kit_key("tenant", tenant)};
        kit_remove(&b[tenant % 2], &which);
    }
    kit_flushed(&b[0]);
    kit_flushed(&b[1]);
    for (unsigned tenant = 20; tenant < 25; tenant++)
        for (unsigned partition = 0; partition < 3; partition++)
            assert_int_equal(count(&b[0], kit_fields(tenant, partition, 0).partition), 0);
    kit_close(&b[0]);
    kit_close(&b[1]);
}

static void test_options(void **state)
{
    struct sr_milvus_options options = options_of(), bad = options;
    struct sr_cache_backend *backend;
    struct kit_backend b;
    struct sr_err err = {0};
    (void)state;
    bad.collection = "a-b";
    assert_int_equal(sr_milvus_backend(&backend, &bad, &kit_events_ops, NULL, &err), SR_EINVAL);
    bad = options;
    bad.dimensions = 0;
    assert_int_equal(sr_milvus_backend(&backend, &bad, &kit_events_ops, NULL, &err), SR_EINVAL);
    bad = options;
    bad.user = "u";
    assert_int_equal(sr_milvus_backend(&backend, &bad, &kit_events_ops, NULL, &err), SR_EINVAL);
    bad = options; /* this server knows neither users nor TLS */
    bad.user = "root";
    bad.password = "Milvus";
    open_with(&b, &bad);
    kit_ready(&b);
    kit_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_search, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace_expire, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_whole_or_not, setup, teardown),
        cmocka_unit_test_setup_teardown(test_selectors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removal_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removal_while_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removal_meets_puts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_collection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_metric_ip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(test_isolation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

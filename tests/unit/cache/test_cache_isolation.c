/*
 * Nothing is found outside of its partition: 100,000 random operations, a million in `make nightly`, on a
 * cache whose keys differ in one byte.
 *
 * Every record says in its answer which partition and question it is for, and which version of them it is. A
 * model knows the latest version of each. Whatever is found must be of the partition that was asked for; by
 * an exact key it must be the latest version, and by a vector a question near to the one that was asked.
 * Restarts go through the bytes of records, as a store keeps them; then, for as many operations more, through
 * a file and kill -9, after which the versions are not known.
 */
#define CACHE_KIT_CLOCK
#include "tests/unit/cache_kit.h"
#include "tests/unit/operations_kit.h"

#include "base/mem.h"
#include "store/sqlite/sqlite.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PARTITIONS 24u
#define QUESTIONS  40u
#define TENANTS    3u
#define MODELS     2u

/* The latest version of a question in a partition, and its bytes in the store. */
struct kept {
    uint32_t version; /* 0: never put, or removed */
    bool unknown;     /* of a process before */
    int64_t expires_ms, dies_mono_ms;
    uint8_t *bytes;
    size_t size;
};

struct world {
    struct sr_cache *cache;
    struct kept kept[PARTITIONS][QUESTIONS];
    uint32_t versions;
    uint64_t random;
    size_t exact, semantic, by_request, restarts;
    struct sr_cache_backend *file; /* NULL: restarts go through `kept` */
};

static size_t operations(void)
{
    return 100 * (size_t)kit_operations();
}

static uint32_t draw(struct world *world, uint32_t n)
{
    return (uint32_t)(kit_random(&world->random) % n);
}

static int64_t mono_ms(void)
{
    return (int64_t)(sr_clock_ns() / SR_NS_PER_MS);
}

/* Partitions are made of tenant, model and a rest that is the same for several. */
static uint32_t tenant_of(uint32_t partition)
{
    return partition % TENANTS + 1;
}

static const char *model_of(uint32_t partition)
{
    return partition / TENANTS % MODELS ? "b" : "a";
}

static uint32_t request_of(uint32_t partition, uint32_t question)
{
    return 1 + partition * QUESTIONS + question;
}

static void forget(struct kept *kept)
{
    sr_mem_free(kept->bytes);
    *kept = (struct kept){0};
}

static void put(struct world *world)
{
    uint32_t p = draw(world, PARTITIONS), q = draw(world, QUESTIONS);
    struct kept *kept = &world->kept[p][q];
    int64_t ttl = draw(world, 3) ? 1 + draw(world, 20000) : 0;
    float unit[KIT_DIMENSIONS];
    char packed[64], answer[64], question[KIT_TEXT];
    struct sr_cache_record *record;
    kit_unit(q, unit);
    assert_int_equal(sr_vector_pack(unit, KIT_DIMENSIONS, packed), SR_OK);
    snprintf(answer, sizeof answer, "%u/%u;%u", p, q, ++world->versions);
    struct sr_cache_fields f = {
        .request = kit_key(KIT_REQUEST, request_of(p, q)),
        .exact = kit_key(KIT_EXACT, kit_exact(p, q)),
        .partition = kit_key(KIT_PARTITION, p),
        .tenant = kit_key(KIT_TENANT, tenant_of(p)),
        .created_ms = kit_now_ms(),
        .expires_ms = ttl ? kit_now_ms() + ttl : 0,
        .form = SR_CACHE_JSON,
        .model = sr_bytes_str(model_of(p)),
        .question = kit_text(q, question),
        .vector = sr_bytes_of(packed, sr_vector_packed_size(KIT_DIMENSIONS)),
        .answer = sr_bytes_str(answer),
    };
    assert_int_equal(sr_cache_record_new(&record, &f), SR_OK);
    assert_int_equal(sr_cache_put(world->cache, record), SR_OK);
    forget(kept);
    kept->version = world->versions;
    kept->expires_ms = f.expires_ms;
    kept->dies_mono_ms = ttl ? mono_ms() + ttl : 0;
    kept->size = sr_cache_record_size(record);
    kept->bytes = sr_mem_alloc(kept->size);
    assert_non_null(kept->bytes);
    sr_cache_record_write(record, kept->bytes);
    sr_cache_record_unref(record);
}

/* The question of a record, which must be of this partition, of the latest version and alive. */
static uint32_t check(struct world *world, const struct sr_cache_record *record, uint32_t partition)
{
    unsigned p, q, version;
    char answer[64] = "";
    assert_true(record->f.answer.n < sizeof answer);
    memcpy(answer, record->f.answer.p, record->f.answer.n);
    assert_int_equal(sscanf(answer, "%u/%u;%u", &p, &q, &version), 3);
    assert_int_equal(p, partition);
    assert_true(q < QUESTIONS);
    const struct kept *kept = &world->kept[p][q];
    assert_true(kept->unknown || version == kept->version);
    if (kept->expires_ms) {
        assert_true(kit_now_ms() <= kept->expires_ms + 1000);
        assert_true(mono_ms() <= kept->dies_mono_ms + 1000); /* a second for a slow machine */
    }
    assert_memory_equal(record->f.partition.bytes, kit_key(KIT_PARTITION, p).bytes, SR_CACHE_KEY);
    return q;
}

static void look_up(struct world *world)
{
    uint32_t p = draw(world, PARTITIONS), q = draw(world, QUESTIONS);
    float unit[KIT_DIMENSIONS];
    kit_unit(q, unit);
    struct sr_cache_query query = kit_query(p, q, draw(world, 4) ? unit : NULL);
    if (draw(world, 2))
        memset(&query.exact, 0, sizeof query.exact);
    if (draw(world, 4) == 0)
        query.request = kit_key(KIT_REQUEST, request_of(p, q));
    struct sr_cache_lookup *lookup = kit_lookup(world->cache, &query);
    if (lookup->hit == SR_CACHE_HIT_EXACT) {
        assert_int_equal(check(world, lookup->record, p), q);
        world->exact++;
    } else if (lookup->hit == SR_CACHE_HIT_SEMANTIC) {
        assert_int_equal(check(world, lookup->record, p) / 10, q / 10);
        assert_int_equal(sr_bytes_contains(lookup->record->f.question, SR_LIT(" not ")), q % 10 == 9);
        assert_true(query.unit && lookup->similarity >= query.threshold);
        world->semantic++;
    }
    sr_task_unref(&lookup->task);
}

static void get(struct world *world)
{
    uint32_t p = draw(world, PARTITIONS), q = draw(world, QUESTIONS);
    struct sr_cache_key request = kit_key(KIT_REQUEST, request_of(p, q));
    struct sr_cache_record *record = sr_cache_get(world->cache, &request, 0);
    if (record) {
        assert_int_equal(check(world, record, p), q);
        world->by_request++;
    }
    sr_cache_record_unref(record);
}

static void remove_some(struct world *world)
{
    struct sr_cache_selector selector = {0};
    uint32_t p = draw(world, PARTITIONS), q = draw(world, QUESTIONS), kind = draw(world, 8);
    if (kind < 6)
        selector.exact = kit_key(KIT_EXACT, kit_exact(p, q));
    else if (kind == 6)
        selector.partition = kit_key(KIT_PARTITION, p);
    else
        selector = (struct sr_cache_selector){.tenant = kit_key(KIT_TENANT, tenant_of(p)),
                                              .model = sr_bytes_str(model_of(p))};
    sr_cache_remove(world->cache, &selector, false);
    for (uint32_t i = 0; i < PARTITIONS; i++)
        for (uint32_t j = 0; j < QUESTIONS; j++) {
            bool meant = kind < 6    ? i == p && j == q
                         : kind == 6 ? i == p
                                     : tenant_of(i) == tenant_of(p) && model_of(i) == model_of(p);
            if (meant)
                forget(&world->kept[i][j]);
        }
    assert_int_equal(sr_cache_remove(world->cache, &selector, true), 0);
}

static void change_limits(struct world *world)
{
    struct sr_cache_limits limits = kit_limits(50 + draw(world, 900));
    limits.max_bytes = (size_t)(300 + draw(world, 1000)) << 10;
    limits.eviction = (enum sr_cache_eviction)draw(world, 3);
    sr_cache_set(world->cache, &limits);
    struct sr_cache_stats stats = kit_stats(world->cache);
    assert_true(stats.entries <= limits.max_entries && stats.bytes <= limits.max_bytes);
}

/* Another process with the same store. */
static void restart(struct world *world)
{
    sr_cache_free(world->cache);
    world->cache = kit_cache(600);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        for (uint32_t q = 0; q < QUESTIONS; q++) {
            const struct kept *kept = &world->kept[p][q];
            struct sr_cache_record *record;
            if (!kept->bytes)
                continue;
            assert_int_equal(sr_cache_record_read(&record, sr_bytes_of(kept->bytes, kept->size)), SR_OK);
            sr_cache_events()->loaded(world->cache, record);
            sr_cache_record_unref(record);
        }
    world->restarts++;
}

/* The process is killed in the middle of its writes, or after them. */
static void end(struct world *world)
{
    struct sr_cache_backend_health health = {.queued = draw(world, 2)};
    while (health.queued) {
        usleep(1000);
        world->file->ops->health(world->file, &health);
    }
    raise(SIGKILL);
}

static void step(struct world *world)
{
    uint32_t what = draw(world, 10000);
    if (what < 3000)
        put(world);
    else if (what < 8500)
        look_up(world);
    else if (what < 9700)
        get(world);
    else if (what < 9900)
        remove_some(world);
    else if (what < 9990) {
        int64_t ms = draw(world, 2000);
        kit_wall_ms += ms;
        kit_mono_ms += ms;
    } else if (what < 9998)
        change_limits(world);
    else if (world->file)
        end(world);
    else
        restart(world);
}

static void no_record_leaves_its_partition(void **state)
{
    static struct world world;
    size_t wanted = operations();
    (void)state;
    world = (struct world){.random = 20261122, .cache = kit_cache(600)};
    for (size_t i = 0; i < wanted; i++)
        step(&world);
    print_message("%zu exact, %zu semantic, %zu by request, %zu restarts\n", world.exact, world.semantic,
                  world.by_request, world.restarts);
    assert_true(world.exact > wanted / 20 && world.semantic > wanted / 20);
    assert_true(world.by_request > wanted / 100 && world.restarts > wanted / 10000);
    struct sr_cache_stats stats = kit_stats(world.cache);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        for (uint32_t q = 0; q < QUESTIONS; q++)
            forget(&world.kept[p][q]);
    assert_true(stats.entries <= PARTITIONS * QUESTIONS && stats.partitions <= PARTITIONS);
    sr_cache_free(world.cache);
}

/* What the processes have done, one after another. */
struct done {
    size_t operations, loaded, exact, semantic;
};

/* Goes on with what is in the file until it is killed. */
static void live(const char *path, unsigned number, struct done *done)
{
    static struct world world;
    struct sr_sqlite_options options = {.path = path, .eviction = SR_CACHE_LRU};
    struct sr_cache_backend_health health = {.state = SR_CACHE_BACKEND_STARTING};
    world = (struct world){.random = 777 + number, .cache = kit_cache(2000), .versions = number << 16};
    assert_int_equal(sr_sqlite_backend(&world.file, &options, sr_cache_events(), world.cache, NULL), SR_OK);
    sr_cache_set_backend(world.cache, world.file);
    while (health.state != SR_CACHE_BACKEND_READY) {
        usleep(1000);
        world.file->ops->health(world.file, &health);
    }
    for (uint32_t p = 0; p < PARTITIONS; p++)
        for (uint32_t q = 0; q < QUESTIONS; q++)
            world.kept[p][q].unknown = true;
    done->loaded += kit_stats(world.cache).entries;
    for (;; done->operations++) {
        size_t exact = world.exact, semantic = world.semantic;
        step(&world);
        done->exact += world.exact - exact;
        done->semantic += world.semantic - semantic;
    }
}

static void nor_does_one_of_a_file_after_a_kill(void **state)
{
    struct done *done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char folder[] = "/tmp/semroute-isolation-XXXXXX", path[64], command[64];
    size_t wanted = operations();
    unsigned lives = 0;
    int status;
    (void)state;
    assert_true(done != MAP_FAILED && mkdtemp(folder));
    snprintf(path, sizeof path, "%s/cache.db", folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    for (; done->operations < wanted; lives++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            live(path, lives, done);
            _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            fail_msg("process %u ended by itself: status %d", lives, status);
    }
    print_message("%u processes, %zu records loaded, %zu exact, %zu semantic\n", lives, done->loaded,
                  done->exact, done->semantic);
    assert_true(lives > 5 && done->loaded > lives * 100);
    assert_true(done->exact > wanted / 20 && done->semantic > wanted / 20);
    assert_int_equal(system(command), 0);
    munmap(done, sizeof *done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_record_leaves_its_partition),
        cmocka_unit_test(nor_does_one_of_a_file_after_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

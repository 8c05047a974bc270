/* Sets of a fixed number of counters; a shard is a run of sets under one lock. */
#include "limit/table.h"

#include "base/mem.h"

#include <pthread.h>
#include <string.h>

#define SHARDS 64
#define WAYS   8

struct counter {
    struct sr_limit_key key;
    bool used, changed; /* changed: a plain counter, since it was given out */
    uint64_t unit_ms, touched_ms;
    struct sr_window window;
};

struct shard {
    _Alignas(64) pthread_mutex_t lock;
    size_t used;
};

struct sr_limit_table {
    struct shard shards[SHARDS];
    struct counter *counters; /* [sets][WAYS] */
    size_t sets;              /* a power of two, of SHARDS at least */
};

int sr_limit_table_new(struct sr_limit_table **out, size_t counters)
{
    struct sr_limit_table *table = sr_mem_calloc(1, sizeof *table);
    *out = NULL;
    if (!table)
        return SR_ENOMEM;
    table->sets = SHARDS;
    while (table->sets * WAYS < counters)
        table->sets *= 2;
    table->counters = sr_mem_calloc(table->sets * WAYS, sizeof *table->counters);
    if (!table->counters) {
        sr_mem_free(table);
        return SR_ENOMEM;
    }
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&table->shards[i].lock, NULL);
    *out = table;
    return SR_OK;
}

void sr_limit_table_free(struct sr_limit_table *table)
{
    if (!table)
        return;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&table->shards[i].lock);
    sr_mem_free(table->counters);
    sr_mem_free(table);
}

/* Keys are hashes: their bytes are as good as random. */
static size_t set_of(const struct sr_limit_table *table, const struct sr_limit_key *key)
{
    uint64_t place;
    memcpy(&place, key->bytes, sizeof place);
    return place & (table->sets - 1);
}

static size_t shard_of(size_t set)
{
    return set % SHARDS;
}

static struct counter *find(struct sr_limit_table *table, const struct sr_limit_key *key)
{
    struct counter *set = &table->counters[set_of(table, key) * WAYS];
    for (int i = 0; i < WAYS; i++)
        if (set[i].used && memcmp(&set[i].key, key, sizeof *key) == 0)
            return &set[i];
    return NULL;
}

/* Is it rather this one whose place is taken? */
static bool is_weaker(const struct counter *one, const struct counter *other)
{
    bool plain = one->window.ends_ms != 0, other_plain = other->window.ends_ms != 0;
    return plain == other_plain ? one->touched_ms < other->touched_ms : other_plain;
}

/* The shard's lock is held. */
static struct counter *find_or_make(struct sr_limit_table *table, const struct sr_limit_key *key,
                                    uint64_t unit_ms, uint64_t ends_ms, uint64_t now_ms)
{
    size_t at = set_of(table, key);
    struct counter *set = &table->counters[at * WAYS], *place = find(table, key);
    for (int i = 0; i < WAYS && !place; i++)
        if (!set[i].used || sr_window_roll(&set[i].window, set[i].unit_ms, now_ms) == 0)
            place = &set[i];
    if (!place) {
        place = set;
        for (int i = 1; i < WAYS; i++)
            if (is_weaker(&set[i], place))
                place = &set[i];
    }
    if (!place->used || memcmp(&place->key, key, sizeof *key) != 0) {
        table->shards[shard_of(at)].used += !place->used;
        *place = (struct counter){.key = *key, .used = true, .unit_ms = unit_ms, .window.ends_ms = ends_ms};
    }
    place->touched_ms = now_ms;
    return place;
}

/* Locks the shards of these keys, each once, in their order. */
static uint64_t lock_all(struct sr_limit_table *table, const struct sr_limit *limits, size_t n)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < n; i++)
        mask |= UINT64_C(1) << shard_of(set_of(table, &limits[i].key));
    for (int i = 0; i < SHARDS; i++)
        if (mask >> i & 1)
            pthread_mutex_lock(&table->shards[i].lock);
    return mask;
}

static void unlock_all(struct sr_limit_table *table, uint64_t mask)
{
    for (int i = 0; i < SHARDS; i++)
        if (mask >> i & 1)
            pthread_mutex_unlock(&table->shards[i].lock);
}

/* Looks at one counter: the result is of the one that is exhausted longest, else of that with least room. */
static void look(struct counter *counter, const struct sr_limit *limit, size_t which, uint64_t now_ms,
                 struct sr_limit_result *result)
{
    int64_t sum = sr_window_roll(&counter->window, limit->unit_ms, now_ms);
    bool allowed = limit->cost <= limit->max && sum <= limit->max - limit->cost;
    int64_t remaining = allowed ? limit->max - limit->cost - sum : limit->max - sum;
    uint64_t retry =
        allowed ? 0 : sr_window_wait_ms(&counter->window, limit->unit_ms, now_ms, limit->max - limit->cost);
    bool worse = which == 0 || (!allowed && (result->allowed || retry > result->retry_ms)) ||
                 (allowed && result->allowed && remaining < result->remaining);
    result->allowed = result->allowed && allowed;
    if (!worse)
        return;
    result->which = which;
    result->remaining = remaining > 0 ? remaining : 0;
    result->retry_ms = retry;
    result->reset_ms = sr_window_wait_ms(&counter->window, limit->unit_ms, now_ms, 0);
}

/* A set can lose a counter of this request to another one of it: that one is looked for again. */
void sr_limit_take(struct sr_limit_table *table, const struct sr_limit *limits, size_t n, uint64_t now_ms,
                   struct sr_limit_result *result)
{
    *result = (struct sr_limit_result){.allowed = true, .now_ms = now_ms};
    uint64_t mask = lock_all(table, limits, n);
    for (size_t i = 0; i < n; i++)
        look(find_or_make(table, &limits[i].key, limits[i].unit_ms, limits[i].ends_ms, now_ms), &limits[i], i,
             now_ms, result);
    for (size_t i = 0; i < n && result->allowed; i++) {
        struct counter *counter =
            find_or_make(table, &limits[i].key, limits[i].unit_ms, limits[i].ends_ms, now_ms);
        (void)sr_window_roll(&counter->window, limits[i].unit_ms, now_ms);
        sr_window_add(&counter->window, limits[i].cost);
        counter->changed = limits[i].ends_ms != 0;
    }
    unlock_all(table, mask);
}

static void change(struct sr_limit_table *table, const struct sr_limit_change *change, uint64_t now_ms)
{
    struct counter *counter =
        change->more > 0 ? find_or_make(table, &change->key, change->unit_ms, change->ends_ms, now_ms)
                         : find(table, &change->key);
    if (!counter)
        return;
    (void)sr_window_roll(&counter->window, change->unit_ms, now_ms);
    if (change->less > 0)
        sr_window_take_back(&counter->window, change->unit_ms, change->then_ms, change->less);
    if (change->more > 0)
        sr_window_add(&counter->window, change->more);
    counter->changed = change->ends_ms != 0;
}

void sr_limit_change(struct sr_limit_table *table, const struct sr_limit_change *changes, size_t n,
                     uint64_t now_ms)
{
    for (size_t i = 0; i < n; i++) {
        struct shard *shard = &table->shards[shard_of(set_of(table, &changes[i].key))];
        pthread_mutex_lock(&shard->lock);
        change(table, &changes[i], now_ms);
        pthread_mutex_unlock(&shard->lock);
    }
}

/* ---- what is kept ---- */

void sr_limit_table_restore(struct sr_limit_table *table, const struct sr_limit_spent *spent, uint64_t now_ms)
{
    struct shard *shard = &table->shards[shard_of(set_of(table, &spent->key))];
    pthread_mutex_lock(&shard->lock);
    struct counter *counter = find_or_make(table, &spent->key, 0, spent->ends_ms, now_ms);
    sr_window_add(&counter->window, spent->count);
    pthread_mutex_unlock(&shard->lock);
}

size_t sr_limit_table_changed(struct sr_limit_table *table, size_t *at, struct sr_limit_spent *out,
                              size_t most)
{
    size_t n = 0;
    for (; *at < table->sets && n + WAYS <= most; ++*at) {
        struct shard *shard = &table->shards[shard_of(*at)];
        struct counter *set = &table->counters[*at * WAYS];
        pthread_mutex_lock(&shard->lock);
        for (int i = 0; i < WAYS; i++) {
            if (!set[i].used || !set[i].changed || !set[i].window.ends_ms)
                continue;
            set[i].changed = false;
            out[n++] = (struct sr_limit_spent){set[i].key, set[i].window.ends_ms, set[i].window.counts[0]};
        }
        pthread_mutex_unlock(&shard->lock);
    }
    return n;
}

void sr_limit_table_unwritten(struct sr_limit_table *table, const struct sr_limit_spent *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct shard *shard = &table->shards[shard_of(set_of(table, &items[i].key))];
        pthread_mutex_lock(&shard->lock);
        struct counter *counter = find(table, &items[i].key);
        if (counter)
            counter->changed = true;
        pthread_mutex_unlock(&shard->lock);
    }
}

size_t sr_limit_table_used(struct sr_limit_table *table)
{
    size_t used = 0;
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&table->shards[i].lock);
        used += table->shards[i].used;
        pthread_mutex_unlock(&table->shards[i].lock);
    }
    return used;
}

/*
 * What other processes did: removals that the stream holds, records that the channel names, and all that is
 * there at a start.
 *
 * The stream is read from the entry that was read last, or from the process's start: who came when the server
 * was away has records in memory all the same. When that entry is not in the stream any more, what was missed
 * is unknown: then everything counts as removed, and what is on the server is loaded again.
 */
#include "base/mem.h"
#include "store/redis/private.h"
#include "store/selector.h"

#include <stdio.h>

#define LOADING_MAX 4096 /* records that are asked for at once */
#define ID_NONE     "0-0"
#define MARGIN_MS   600000u /* between the server's clock and ours */

/* ---- ids ---- */

static bool id_read(struct sr_bytes id, unsigned long long out[2])
{
    const char *dash = id.n ? memchr(id.p, '-', id.n) : NULL;
    size_t n = dash ? (size_t)(dash - id.p) : 0;
    return dash && id.n < SR_REDIS_ID_MAX && sr_bytes_to_u64(sr_bytes_of(id.p, n), &out[0]) &&
           sr_bytes_to_u64(sr_bytes_of(dash + 1, id.n - n - 1), &out[1]);
}

int sr_redis_id_compare(struct sr_bytes a, struct sr_bytes b)
{
    unsigned long long x[2] = {0, 0}, y[2] = {0, 0};
    if (!id_read(a, x) || !id_read(b, y))
        return sr_bytes_eq(a, b) ? 0 : 1;
    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return x[1] == y[1] ? 0 : x[1] < y[1] ? -1 : 1;
}

/* The id of an entry; empty: it is none. */
static struct sr_bytes entry_id(const struct sr_resp *entry)
{
    unsigned long long id[2];
    if (entry->type != SR_RESP_ARRAY || entry->count != 2 || !id_read(entry->items[0]->text, id))
        return (struct sr_bytes){NULL, 0};
    return entry->items[0]->text;
}

/* ---- records ---- */

static void load_go_on(struct sr_redis *redis);

static void record_arrived(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    struct sr_cache_key *exact = arg;
    struct sr_cache_record *record;
    if (reply) {
        redis->loading--;
        if (reply->type == SR_RESP_TEXT && sr_redis_value_read(&record, reply->text, exact) == SR_OK) {
            if (!sr_remote_is_removed(&redis->remote, &record->f))
                redis->remote.events->loaded(redis->remote.ctx, record);
            sr_cache_record_unref(record);
        }
        load_go_on(redis);
    }
    sr_mem_free(exact);
}

static bool record_ask(struct sr_redis *redis, const struct sr_cache_key *exact)
{
    struct sr_cache_key *copy = sr_mem_alloc(sizeof *copy);
    struct sr_redis_name name;
    struct sr_bytes argv[] = {SR_LIT("GET"), {NULL, 0}};
    if (!copy)
        return true; /* a lookup finds it */
    *copy = *exact;
    sr_redis_name_key(&name, redis->prefix, SR_REDIS_RECORD, exact);
    argv[1] = name.bytes;
    if (!sr_redis_send(redis, record_arrived, copy, argv, 2)) {
        sr_mem_free(copy);
        return false;
    }
    redis->loading++;
    return true;
}

static void load_page(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    const struct sr_resp *keys;
    struct sr_cache_key exact;
    (void)arg;
    if (!reply)
        return;
    redis->scanning = false;
    if (!sr_redis_page(reply, redis->load_cursor, &keys)) {
        sr_redis_refused(redis, reply);
        return;
    }
    if (strcmp(redis->load_cursor, "0") == 0)
        *redis->load_cursor = '\0';
    for (size_t i = 0; i < keys->count && redis->load_count < redis->load_max; i++) {
        if (!sr_redis_name_read(keys->items[i]->text, redis->prefix, &exact))
            continue;
        redis->load_count++;
        if (!record_ask(redis, &exact))
            return;
    }
    if (redis->load_count >= redis->load_max)
        *redis->load_cursor = '\0';
    load_go_on(redis);
}

/* The next page, once the records of this one are here. */
static void load_go_on(struct sr_redis *redis)
{
    if (!redis->loading && !redis->scanning && *redis->load_cursor)
        redis->scanning = sr_redis_scan(redis, load_page, redis->load_cursor);
}

void sr_redis_news_load(struct sr_redis *redis)
{
    redis->load_count = 0;
    if (!redis->load_max)
        return;
    strcpy(redis->load_cursor, "0");
    load_go_on(redis);
}

/* ---- removals ---- */

static void seen_set(struct sr_redis *redis, struct sr_bytes id)
{
    memcpy(redis->seen, id.p, id.n);
    redis->seen[id.n] = '\0';
}

static void removed(struct sr_redis *redis, const struct sr_cache_selector *which)
{
    sr_remote_forget(&redis->remote, which);
    redis->remote.events->removed(redis->remote.ctx, which);
}

/* One entry: who, what. Nothing in memory is older than the process. */
static void entry_read(struct sr_redis *redis, const struct sr_resp *entry)
{
    const struct sr_resp *fields = entry->items[1];
    struct sr_cache_selector which;
    unsigned long long id[2];
    if (!id_read(entry->items[0]->text, id) || id[0] + MARGIN_MS < redis->began_ms)
        return;
    if (fields->type != SR_RESP_ARRAY || fields->count != 4 ||
        sr_bytes_eq(fields->items[1]->text, sr_bytes_of(redis->who, sizeof redis->who)) ||
        !sr_selector_read(&which, fields->items[3]->text))
        return;
    removed(redis, &which);
}

/* True when entries between the one that was seen last and the first of these are missing. */
static bool has_gap(const struct sr_redis *redis, const struct sr_resp *entries)
{
    if (strcmp(redis->seen, ID_NONE) == 0)
        return entries->count >= SR_REDIS_REMOVALS;
    return !entries->count || !sr_bytes_eq(entry_id(entries->items[0]), sr_bytes_str(redis->seen));
}

static void entries_read(struct sr_redis *redis, const struct sr_resp *entries)
{
    static const struct sr_cache_selector everything;
    bool gap = has_gap(redis, entries);
    if (gap)
        strcpy(redis->seen, ID_NONE);
    for (size_t i = 0; i < entries->count; i++) {
        struct sr_bytes id = entry_id(entries->items[i]);
        if (!id.n || sr_redis_id_compare(id, sr_bytes_str(redis->seen)) <= 0)
            continue;
        if (!gap)
            entry_read(redis, entries->items[i]);
        seen_set(redis, id);
    }
    if (gap) {
        removed(redis, &everything);
        if (redis->remote.ready)
            sr_redis_news_load(redis);
    }
}

static void read_begin(struct sr_redis *redis);

static void removals_arrived(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    (void)arg;
    if (!reply)
        return;
    if (reply->type != SR_RESP_ARRAY) {
        sr_redis_refused(redis, reply);
        return;
    }
    entries_read(redis, reply);
    if (redis->read_again) {
        read_begin(redis);
        return;
    }
    redis->reading = false;
    redis->caught_up(redis);
}

static void read_begin(struct sr_redis *redis)
{
    struct sr_redis_name stream;
    struct sr_bytes argv[] = {SR_LIT("XRANGE"), {NULL, 0}, {NULL, 0}, SR_LIT("+")};
    if (!*redis->seen)
        strcpy(redis->seen, ID_NONE);
    sr_redis_name_of(&stream, redis->prefix, "removals");
    argv[1] = stream.bytes;
    argv[2] = sr_bytes_str(redis->seen);
    redis->read_again = false;
    redis->reading = sr_redis_send(redis, removals_arrived, NULL, argv, 4);
}

void sr_redis_news_catch_up(struct sr_redis *redis)
{
    if (redis->reading)
        redis->read_again = true;
    else
        read_begin(redis);
}

void sr_redis_news_published(struct sr_redis *redis, struct sr_bytes message)
{
    struct sr_redis_news news;
    if (!sr_redis_news_read(&news, message) || memcmp(news.who, redis->who, sizeof news.who) == 0)
        return;
    if (news.removals && (redis->reading || redis->remote.ready))
        sr_redis_news_catch_up(redis);
    else if (!news.removals && redis->remote.ready && redis->loading < LOADING_MAX)
        (void)record_ask(redis, &news.exact);
}

void sr_redis_news_reset(struct sr_redis *redis)
{
    redis->reading = redis->read_again = redis->scanning = false;
    redis->loading = redis->load_count = 0;
    *redis->load_cursor = '\0';
}

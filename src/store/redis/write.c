/*
 * Puts and removals.
 *
 * A removal must reach what other processes have in memory, in their queues and on their way, also those that
 * are not connected. So it is an entry of a stream, told before the records are deleted and once more after:
 * a process reads the stream whenever it hears of one, and when it connects. A put asks for the last entry
 * behind itself; when that is one it has not read, it is proven only after reading, and taken back if it was
 * selected. Removals run alone, in their place in the queue.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/redis/private.h"
#include "store/selector.h"

#include <stdio.h>

#define PUTS_MAX   64
#define QUEUED_MAX ((size_t)8 << 20) /* bytes that wait for the socket */

struct sr_redis_put {
    struct sr_redis_put *next;
    struct sr_remote_write *write;
    char why[120]; /* it failed; "": it did not */
};

/* ---- puts ---- */

static void put_end(struct sr_redis *redis, struct sr_redis_put *put)
{
    redis->puts--;
    if (put->write->undone)
        sr_remote_undo(put->write);
    else if (*put->why)
        sr_remote_failed(put->write, put->why);
    else
        sr_remote_written(put->write);
    sr_mem_free(put);
}

static void put_replied(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis_put *put = arg;
    if (!reply || reply->type == SR_RESP_STATUS)
        return;
    if (reply->type != SR_RESP_ERROR || sr_redis_is_fatal(reply))
        sr_redis_refused(ctx, reply);
    else
        snprintf(put->why, sizeof put->why, "put refused: %.*s",
                 (int)(reply->text.n < 100 ? reply->text.n : 100), reply->text.p);
}

/* The newest entry of the stream of removals: the reply of XREVRANGE. */
static void put_ended(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    struct sr_redis_put *put = arg;
    const struct sr_resp *entry =
        reply && reply->type == SR_RESP_ARRAY && reply->count ? reply->items[0] : NULL;
    if (!reply || reply->type != SR_RESP_ARRAY) {
        sr_mem_free(put);
        if (reply)
            sr_redis_refused(redis, reply);
        return;
    }
    if (entry && entry->type == SR_RESP_ARRAY && entry->count &&
        sr_redis_id_compare(entry->items[0]->text, sr_bytes_str(redis->seen)) > 0) {
        put->next = redis->unproven;
        redis->unproven = put;
        sr_redis_news_catch_up(redis);
        return;
    }
    put_end(redis, put);
    sr_redis_write(&redis->remote);
}

void sr_redis_write_prove(struct sr_redis *redis)
{
    while (redis->unproven) {
        struct sr_redis_put *put = redis->unproven;
        redis->unproven = put->next;
        put_end(redis, put);
    }
    if (redis->remote.ready)
        sr_redis_write(&redis->remote);
}

/* SET with the rest of the record's life. */
static bool set_send(struct sr_redis *redis, struct sr_redis_put *put, struct sr_bytes key,
                     struct sr_bytes value, int64_t life_ms)
{
    struct sr_bytes argv[] = {SR_LIT("SET"), key, value, SR_LIT("PX"), {NULL, 0}};
    char number[24];
    argv[4] = sr_bytes_of(number, (size_t)snprintf(number, sizeof number, "%lld", (long long)life_ms));
    return sr_redis_send(redis, put_replied, put, argv, life_ms ? 5 : 3);
}

static bool news_send(struct sr_redis *redis, const struct sr_cache_key *exact, sr_redis_done *done)
{
    struct sr_redis_news news = {.removals = !exact};
    struct sr_redis_name channel;
    uint8_t bytes[SR_REDIS_NEWS];
    struct sr_bytes argv[] = {SR_LIT("PUBLISH"), {NULL, 0}, {NULL, 0}};
    if (exact)
        news.exact = *exact;
    memcpy(news.who, redis->who, sizeof news.who);
    sr_redis_name_of(&channel, redis->prefix, "news");
    argv[1] = channel.bytes;
    argv[2] = sr_bytes_of(bytes, sr_redis_news_write(&news, bytes));
    return sr_redis_send(redis, done, NULL, argv, 3);
}

static bool proof_send(struct sr_redis *redis, struct sr_redis_put *put)
{
    struct sr_redis_name stream;
    struct sr_bytes argv[] = {SR_LIT("XREVRANGE"), {NULL, 0},       SR_LIT("+"),
                              SR_LIT("-"),         SR_LIT("COUNT"), SR_LIT("1")};
    sr_redis_name_of(&stream, redis->prefix, "removals");
    argv[1] = stream.bytes;
    return sr_redis_send(redis, put_ended, put, argv, sizeof argv / sizeof *argv);
}

static bool put_send(struct sr_redis *redis, struct sr_redis_put *put, struct sr_bytes value, int64_t life_ms)
{
    const struct sr_cache_fields *f = &put->write->record->f;
    struct sr_cache_key exact = f->exact; /* the write may go back to the queue */
    struct sr_redis_name name, alias;
    bool aliased = sr_cache_key_is_set(&f->request) && memcmp(&f->request, &f->exact, sizeof f->exact) != 0;
    sr_redis_name_key(&name, redis->prefix, SR_REDIS_RECORD, &exact);
    sr_redis_name_key(&alias, redis->prefix, SR_REDIS_REQUEST, &f->request);
    return set_send(redis, put, name.bytes, value, life_ms) &&
           (!aliased || set_send(redis, put, alias.bytes, sr_bytes_of(&exact, sizeof exact), life_ms)) &&
           news_send(redis, &exact, sr_redis_expect_ok) && proof_send(redis, put);
}

/* False: the server is away. */
static bool put_begin(struct sr_redis *redis, struct sr_remote_write *write)
{
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS), life = write->record->f.expires_ms;
    struct sr_redis_put *put;
    struct sr_buf value;
    bool sent = true;
    if (life && life <= now) {
        sr_remote_written(write);
        return true;
    }
    put = sr_mem_calloc(1, sizeof *put);
    sr_buf_init(&value, SR_REDIS_HEAD + SR_CACHE_RECORD_MAX + 4096);
    if (!put || sr_redis_value(&value, write->record) != SR_OK) {
        sr_mem_free(put);
        sr_remote_failed(write, "out of memory");
    } else {
        put->write = write;
        redis->puts++;
        sent = put_send(redis, put, sr_buf_view(&value), life ? life - now : 0);
        if (!sent)
            sr_mem_free(put);
    }
    sr_buf_dispose(&value);
    return sent;
}

/* ---- removals ---- */

static void removal_told(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    struct sr_remote_write *write = redis->removal;
    (void)arg;
    if (!reply)
        return;
    if (reply->type == SR_RESP_ERROR) {
        sr_redis_refused(redis, reply);
        return;
    }
    redis->removal = NULL;
    sr_remote_written(write);
    sr_redis_write(&redis->remote);
}

/* The entry before the records are deleted may find no room; the one after has it. */
static void removal_entered(void *ctx, void *arg, const struct sr_resp *reply)
{
    if (!reply || reply->type != SR_RESP_ERROR || !sr_bytes_starts_with(reply->text, SR_LIT("OOM")))
        sr_redis_expect_ok(ctx, arg, reply);
}

/* An entry of the stream, and the news of it. */
static bool removal_tell(struct sr_redis *redis, sr_redis_done *entered, sr_redis_done *done)
{
    struct sr_redis_name stream;
    struct sr_buf selector;
    struct sr_bytes argv[] = {SR_LIT("XADD"), {NULL, 0}, SR_LIT("MAXLEN"), {NULL, 0}, SR_LIT("*"),
                              SR_LIT("who"),  {NULL, 0}, SR_LIT("what"),   {NULL, 0}};
    char number[24];
    bool sent = false;
    sr_redis_name_of(&stream, redis->prefix, "removals");
    argv[1] = stream.bytes;
    argv[3] = sr_bytes_of(number, (size_t)snprintf(number, sizeof number, "%d", SR_REDIS_REMOVALS));
    argv[6] = sr_bytes_of(redis->who, sizeof redis->who);
    sr_buf_init(&selector, 4096);
    if (sr_selector_write(&selector, &redis->removal->which) == SR_OK) {
        argv[8] = sr_buf_view(&selector);
        sent = sr_redis_send(redis, entered, NULL, argv, sizeof argv / sizeof *argv) &&
               news_send(redis, NULL, done);
    } else {
        sr_remote_away(&redis->remote, "out of memory");
    }
    sr_buf_dispose(&selector);
    return sent;
}

static bool record_delete(struct sr_redis *redis, const struct sr_cache_key *exact,
                          const struct sr_cache_key *request)
{
    struct sr_redis_name record, alias;
    struct sr_bytes argv[3] = {SR_LIT("DEL")};
    sr_redis_name_key(&record, redis->prefix, SR_REDIS_RECORD, exact);
    sr_redis_name_key(&alias, redis->prefix, SR_REDIS_REQUEST, request);
    argv[1] = record.bytes;
    argv[2] = alias.bytes;
    return sr_redis_send(redis, sr_redis_expect_ok, NULL, argv, sr_cache_key_is_set(request) ? 3 : 2);
}

static void removal_page(void *ctx, void *arg, const struct sr_resp *reply);

static void removal_go_on(struct sr_redis *redis)
{
    if (redis->heads)
        return;
    if (strcmp(redis->removal_cursor, "0") == 0)
        (void)removal_tell(redis, sr_redis_expect_ok, removal_told);
    else
        (void)sr_redis_scan(redis, removal_page, redis->removal_cursor);
}

/* The head of a record: the reply of GETRANGE. */
static void removal_head(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    struct sr_cache_key *exact = arg, request;
    bool there = true;
    if (reply && reply->type != SR_RESP_TEXT) {
        sr_redis_refused(redis, reply);
    } else if (reply) {
        redis->heads--;
        if (reply->text.n && sr_redis_head_selects(&redis->removal->which, exact, reply->text, &request))
            there = record_delete(redis, exact, &request);
        if (there)
            removal_go_on(redis);
    }
    sr_mem_free(exact);
}

static bool head_ask(struct sr_redis *redis, const struct sr_cache_key *exact)
{
    struct sr_cache_key *copy = sr_mem_alloc(sizeof *copy);
    struct sr_redis_name name;
    struct sr_bytes argv[] = {SR_LIT("GETRANGE"), {NULL, 0}, SR_LIT("0"), {NULL, 0}};
    char number[24];
    if (!copy) {
        sr_remote_away(&redis->remote, "out of memory");
        return false;
    }
    *copy = *exact;
    sr_redis_name_key(&name, redis->prefix, SR_REDIS_RECORD, exact);
    argv[1] = name.bytes;
    argv[3] = sr_bytes_of(number, (size_t)snprintf(number, sizeof number, "%d", SR_REDIS_HEAD - 1));
    if (!sr_redis_send(redis, removal_head, copy, argv, 4)) {
        sr_mem_free(copy);
        return false;
    }
    redis->heads++;
    return true;
}

static void removal_page(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    const struct sr_resp *keys;
    struct sr_cache_key exact;
    (void)arg;
    if (!reply)
        return;
    if (!sr_redis_page(reply, redis->removal_cursor, &keys)) {
        sr_redis_refused(redis, reply);
        return;
    }
    for (size_t i = 0; i < keys->count; i++)
        if (sr_redis_name_read(keys->items[i]->text, redis->prefix, &exact) && !head_ask(redis, &exact))
            return;
    removal_go_on(redis);
}

static void removal_begin(struct sr_redis *redis, struct sr_remote_write *write)
{
    redis->removal = write;
    redis->heads = 0;
    strcpy(redis->removal_cursor, "0");
    if (!removal_tell(redis, removal_entered, sr_redis_expect_ok))
        return;
    if (sr_cache_key_is_set(&write->which.exact))
        (void)head_ask(redis, &write->which.exact);
    else
        (void)sr_redis_scan(redis, removal_page, "0");
}

/* ---- the queue ---- */

void sr_redis_write(struct sr_remote *remote)
{
    struct sr_redis *redis = (struct sr_redis *)((char *)remote - offsetof(struct sr_redis, remote));
    struct sr_remote_write *write;
    while (remote->ready && !redis->removal && (write = sr_remote_peek(remote)) != NULL) {
        if (!write->record) {
            if (!redis->puts)
                removal_begin(redis, sr_remote_take(remote));
            return;
        }
        if (redis->puts >= PUTS_MAX || sr_redis_wire_queued(redis->commands) > QUEUED_MAX)
            return;
        if (!put_begin(redis, sr_remote_take(remote)))
            return;
    }
}

void sr_redis_write_reset(struct sr_redis *redis)
{
    while (redis->unproven) {
        struct sr_redis_put *put = redis->unproven;
        redis->unproven = put->next;
        sr_mem_free(put);
    }
    redis->puts = redis->heads = 0;
    redis->removal = NULL;
}

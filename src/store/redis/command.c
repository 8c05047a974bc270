/*
 * Commands and replies that puts, removals and the start have in common.
 */
#include "store/redis/private.h"

#include <stdio.h>

#define SCAN_COUNT "500"

static void away(struct sr_redis *redis, const char *what, struct sr_bytes text)
{
    char why[160];
    snprintf(why, sizeof why, "%s%.*s", what, (int)(text.n < 120 ? text.n : 120), text.n ? text.p : "");
    sr_remote_away(&redis->remote, why);
}

bool sr_redis_send(struct sr_redis *redis, sr_redis_done *done, void *arg, const struct sr_bytes *argv,
                   size_t argc)
{
    int rc = redis->commands ? sr_redis_wire_send(redis->commands, done, arg, argv, argc) : SR_ECLOSED;
    if (rc != SR_OK)
        away(redis, "a command was not sent: ", sr_bytes_str(sr_strerror(rc)));
    return rc == SR_OK;
}

void sr_redis_refused(struct sr_redis *redis, const struct sr_resp *reply)
{
    if (reply->type == SR_RESP_ERROR)
        away(redis, "refused: ", reply->text);
    else
        away(redis, "an answer of another kind than asked for", SR_LIT(""));
}

void sr_redis_expect_ok(void *ctx, void *arg, const struct sr_resp *reply)
{
    (void)arg;
    if (reply && reply->type == SR_RESP_ERROR)
        sr_redis_refused(ctx, reply);
}

bool sr_redis_is_fatal(const struct sr_resp *reply)
{
    static const char *const words[] = {"LOADING", "READONLY",    "MASTERDOWN", "NOAUTH",
                                        "NOPERM",  "CLUSTERDOWN", "MOVED",      "NOREPLICAS"};
    if (reply->type != SR_RESP_ERROR)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (sr_bytes_starts_with(reply->text, sr_bytes_str(words[i])))
            return true;
    return false;
}

bool sr_redis_scan(struct sr_redis *redis, sr_redis_done *done, const char *cursor)
{
    struct sr_bytes argv[] = {SR_LIT("SCAN"), sr_bytes_str(cursor), SR_LIT("MATCH"),
                              {NULL, 0},      SR_LIT("COUNT"),      SR_LIT(SCAN_COUNT)};
    struct sr_buf pattern;
    bool sent = false;
    sr_buf_init(&pattern, (size_t)4 * SR_REDIS_PREFIX_MAX);
    if (sr_redis_pattern(&pattern, redis->prefix) == SR_OK) {
        argv[3] = sr_buf_view(&pattern);
        sent = sr_redis_send(redis, done, NULL, argv, sizeof argv / sizeof *argv);
    } else {
        away(redis, "out of memory", SR_LIT(""));
    }
    sr_buf_dispose(&pattern);
    return sent;
}

bool sr_redis_page(const struct sr_resp *reply, char cursor[SR_REDIS_CURSOR_MAX], const struct sr_resp **keys)
{
    const struct sr_bytes *text;
    if (reply->type != SR_RESP_ARRAY || reply->count != 2 || reply->items[0]->type != SR_RESP_TEXT ||
        reply->items[1]->type != SR_RESP_ARRAY)
        return false;
    text = &reply->items[0]->text;
    if (!text->n || text->n >= SR_REDIS_CURSOR_MAX || strspn(text->p, "0123456789") != text->n)
        return false;
    memcpy(cursor, text->p, text->n + 1);
    *keys = reply->items[1];
    return true;
}

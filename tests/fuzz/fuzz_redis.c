/*
 * What a Redis sends. First byte even: the rest are replies, cut into pieces as the second byte says; the
 * cuts change nothing, and every value of a reply is there. Odd: one value that a key, the channel or the
 * stream of removals holds; what is read is written back the same.
 */
#include "store/redis/private.h"
#include "store/selector.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* Reads every byte of a reply; returns the number of its values. */
static size_t reply_use(const struct sr_resp *reply)
{
    size_t values = 1, sum = 0;
    for (size_t i = 0; i < reply->text.n; i++)
        sum += (unsigned char)reply->text.p[i];
    for (size_t i = 0; i < reply->count; i++) {
        CHECK(reply->items[i]);
        values += reply_use(reply->items[i]);
    }
    return values + (sum == SIZE_MAX);
}

static int read_all(const char *p, size_t n, size_t step, size_t *values)
{
    struct sr_resp_reader *reader;
    struct sr_resp *reply;
    int rc = SR_OK;
    *values = 0;
    CHECK(sr_resp_reader_new(&reader, 100000) == SR_OK);
    for (size_t at = 0; at < n && (rc == SR_OK || rc == SR_MORE); at += step) {
        rc = sr_resp_feed(reader, p + at, n - at < step ? n - at : step);
        while (rc == SR_OK && (rc = sr_resp_next(reader, &reply)) == SR_OK) {
            const struct sr_resp *keys;
            char cursor[SR_REDIS_CURSOR_MAX];
            *values += reply_use(reply);
            if (sr_redis_page(reply, cursor, &keys))
                CHECK(strlen(cursor) < sizeof cursor && keys->type == SR_RESP_ARRAY);
            (void)sr_redis_is_fatal(reply);
            sr_resp_free(reply);
        }
    }
    sr_resp_reader_free(reader);
    return rc;
}

static void run_value(struct sr_bytes bytes)
{
    struct sr_cache_key exact = {{0}}, request;
    struct sr_cache_selector which;
    struct sr_cache_record *record;
    struct sr_redis_news news;
    uint8_t out[SR_REDIS_NEWS];
    struct sr_buf written;
    sr_buf_init(&written, 100000);
    if (sr_redis_news_read(&news, bytes)) {
        size_t n = sr_redis_news_write(&news, out);
        CHECK(sr_bytes_eq(bytes, sr_bytes_of(out, n)));
    }
    if (sr_selector_read(&which, bytes)) {
        CHECK(sr_selector_write(&written, &which) == SR_OK);
        CHECK(sr_bytes_eq(bytes, sr_buf_view(&written)));
        sr_buf_clear(&written);
    }
    (void)sr_redis_name_read(bytes, "p:", &exact);
    which = (struct sr_cache_selector){.model = SR_LIT("m")};
    (void)sr_redis_head_selects(&which, &exact, bytes, &request);
    (void)sr_redis_id_compare(bytes, SR_LIT("5-5"));
    if (bytes.n >= 92) /* the exact key that the record has */
        memcpy(&exact, bytes.p + bytes.n % (bytes.n - 31), sizeof exact);
    if (sr_redis_value_read(&record, bytes, &exact) == SR_OK) {
        CHECK(memcmp(&record->f.exact, &exact, sizeof exact) == 0);
        sr_cache_record_unref(record);
    }
    sr_buf_dispose(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 2, 7, 100};
    size_t values, others;
    int rc, other;
    if (size < 2 || size > 40000)
        return 0;
    if (data[0] & 1) {
        run_value(sr_bytes_of(data + 2, size - 2));
        return 0;
    }
    rc = read_all((const char *)data + 2, size - 2, 40000, &values);
    other = read_all((const char *)data + 2, size - 2, steps[data[1] & 3], &others);
    CHECK(rc == other && values == others);
    return 0;
}

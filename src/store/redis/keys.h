/*
 * What stands in a Redis: the names of keys, the head before a record's bytes, what is published and what
 * the stream of removals holds.
 *
 *   PREFIX r: HEX     a record under its exact key: head and bytes, with an expiry
 *   PREFIX q: HEX     the exact key of the record with this request key, with the same expiry
 *   PREFIX removals   a stream of the last SR_REDIS_REMOVALS removals: who, and what was selected
 * (store/selector) PREFIX news       a channel: who, and the exact key of a record that was put, or that
 * there are removals
 *
 * All bytes from a server are checked here. Does no I/O.
 */
#ifndef SR_STORE_REDIS_KEYS_H
#define SR_STORE_REDIS_KEYS_H

#include "base/buf.h"
#include "store/redis/redis.h"

#define SR_REDIS_KEY_MAX  (SR_REDIS_PREFIX_MAX + 2 + 2 * SR_CACHE_KEY + 1)
#define SR_REDIS_REMOVALS 4096
#define SR_REDIS_WHO      16 /* bytes that name a process */
#define SR_REDIS_HEAD     180

struct sr_redis_name {
    char text[SR_REDIS_KEY_MAX];
    struct sr_bytes bytes; /* of the text */
};

enum sr_redis_kind { SR_REDIS_RECORD = 'r', SR_REDIS_REQUEST = 'q' };

void sr_redis_name_key(struct sr_redis_name *out, const char *prefix, enum sr_redis_kind kind,
                       const struct sr_cache_key *key);
/* "removals", "news". */
void sr_redis_name_of(struct sr_redis_name *out, const char *prefix, const char *word);
/* The exact key that the name of a record holds; false: it is not one. */
bool sr_redis_name_read(struct sr_bytes name, const char *prefix, struct sr_cache_key *out);
/* A pattern of SCAN for all records. SR_ENOMEM. */
int sr_redis_pattern(struct sr_buf *out, const char *prefix) SR_WARN_UNUSED;

/* ---- records ---- */

/* The value of a record's key. SR_ENOMEM. */
int sr_redis_value(struct sr_buf *out, const struct sr_cache_record *record) SR_WARN_UNUSED;
/* A live record that belongs under `exact`. SR_ENOENT: expired; SR_EPARSE: anything else; SR_ENOMEM. */
int sr_redis_value_read(struct sr_cache_record **out, struct sr_bytes value,
                        const struct sr_cache_key *exact) SR_WARN_UNUSED;
/* Whether the selector selects the record of this head (its first SR_REDIS_HEAD bytes), whose exact key is
 * given, and its request key. A damaged head is selected. */
bool sr_redis_head_selects(const struct sr_cache_selector *which, const struct sr_cache_key *exact,
                           struct sr_bytes head, struct sr_cache_key *request);

/* ---- news and removals ---- */

struct sr_redis_news {
    uint8_t who[SR_REDIS_WHO];
    bool removals;             /* else a record was put */
    struct sr_cache_key exact; /* of that */
};
/* Writes it to out[SR_REDIS_NEWS]; returns the size. */
size_t sr_redis_news_write(const struct sr_redis_news *news, uint8_t *out);
bool sr_redis_news_read(struct sr_redis_news *out, struct sr_bytes bytes);
#define SR_REDIS_NEWS (SR_REDIS_WHO + 1 + SR_CACHE_KEY)

#endif

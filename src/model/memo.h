/*
 * The memo: results of models and recognisers for texts, small, under the text's hash.
 *
 * Bounded in bytes, least recently used first out. Keys are SHA-256 of text, reader and tenant, so no client
 * can make two texts share an answer; the text itself is not kept. Any thread; outlives configurations.
 */
#ifndef SR_MODEL_MEMO_H
#define SR_MODEL_MEMO_H

#include "base/arena.h"
#include "base/hash.h"

#define SR_MEMO_VALUE_MAX ((size_t)1 << 20)

struct sr_memo;

struct sr_memo_key {
    uint8_t bytes[SR_SHA256_SIZE];
};

/* `max_bytes` 0 remembers nothing. */
int sr_memo_new(struct sr_memo **out, size_t max_bytes) SR_WARN_UNUSED;
struct sr_memo *sr_memo_ref(struct sr_memo *memo);
void sr_memo_unref(struct sr_memo *memo); /* NULL is allowed */

/* Forgets what is over the new maximum. */
void sr_memo_resize(struct sr_memo *memo, size_t max_bytes);

/* `reader` names who answers and in which version; empty and other tenants do not meet. SR_ENOMEM. */
int sr_memo_key(struct sr_memo_key *out, struct sr_bytes reader, struct sr_bytes tenant,
                struct sr_bytes text) SR_WARN_UNUSED;

/* SR_OK: a copy in `arena`, aligned to 16 bytes; SR_ENOENT, SR_ENOMEM. */
int sr_memo_get(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_arena *arena,
                struct sr_bytes *value) SR_WARN_UNUSED;

/* Remembers a copy; quietly not, when it is too large or out of memory. */
void sr_memo_put(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_bytes value);

struct sr_memo_stats {
    uint64_t hits, misses;
    size_t entries, bytes;
};
void sr_memo_stats(struct sr_memo *memo, struct sr_memo_stats *out);

#endif

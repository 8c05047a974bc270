/*
 * The memo: results of models and recognisers for texts, with one limit in bytes and one order of use.
 *
 * A value is a small copy, or a counted object that its users share. The least recently used value goes
 * first. Keys have a SHA-256, so no client can make two texts share a value; the text itself is not kept.
 * Pending results are not here: see infer/classifier/pending.c. Any thread; outlives configurations.
 */
#ifndef SR_MODEL_MEMO_H
#define SR_MODEL_MEMO_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/ref.h"

#define SR_MEMO_VALUE_MAX ((size_t)1 << 20) /* of a copy */

struct sr_memo;

struct sr_memo_key {
    uint8_t digest[SR_SHA256_SIZE];
    uint64_t salt; /* of the tenant; 0: shared */
    uint64_t
        reader; /* from sr_memo_reader; 0: the digest is sr_memo_key's, which has reader and tenant in it */
};

bool sr_memo_key_eq(const struct sr_memo_key *a, const struct sr_memo_key *b);

/* `max_bytes` 0 remembers nothing. */
int sr_memo_new(struct sr_memo **out, size_t max_bytes) SR_WARN_UNUSED;
struct sr_memo *sr_memo_ref(struct sr_memo *memo);
void sr_memo_unref(struct sr_memo *memo); /* NULL is allowed */

/* Forgets what is over the new maximum. */
void sr_memo_resize(struct sr_memo *memo, size_t max_bytes);

/* ---- copies ---- */

/* Who asks whom: made once, for the keys of many texts. */
struct sr_memo_scope {
    uint8_t digests[2 * SR_SHA256_SIZE];
};

/* `reader` names who answers and in which version; empty and other tenants do not meet. SR_ENOMEM. */
int sr_memo_scope(struct sr_memo_scope *out, struct sr_bytes reader, struct sr_bytes tenant) SR_WARN_UNUSED;

/* The key of a text: one digest. SR_ENOMEM. */
int sr_memo_key(struct sr_memo_key *out, const struct sr_memo_scope *scope,
                struct sr_bytes text) SR_WARN_UNUSED;

/* SR_OK: a copy in `arena`, aligned to 16 bytes; SR_ENOENT, SR_ENOMEM. */
int sr_memo_get(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_arena *arena,
                struct sr_bytes *value) SR_WARN_UNUSED;

/* True when sr_memo_get would find it now. Counts nothing and changes no order. */
bool sr_memo_has(struct sr_memo *memo, const struct sr_memo_key *key);

/* Remembers a copy; quietly not, when it is too large or out of memory. */
void sr_memo_put(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_bytes value);

/* ---- objects by reference ---- */

/* Embedded in an immutable object, which is in one memo at most. */
struct sr_memo_entry {
    struct sr_ref ref; /* see sr_ref_init */
    struct sr_memo_key key;
    size_t bytes;                              /* of the whole object; constant once it is kept */
    void (*free)(struct sr_memo_entry *entry); /* by the last reference, on its thread; takes no lock */
    /* The memo's: */
    struct sr_memo_entry *chain, *newer, *older;
    uint64_t used;
};

void sr_memo_entry_unref(struct sr_memo_entry *entry); /* NULL is allowed */

/* A number for the keys of one reader, never 0, that no other reader of this memo gets. */
uint64_t sr_memo_reader(struct sr_memo *memo);

/* A reference for the caller; NULL: it is not remembered. */
struct sr_memo_entry *sr_memo_find(struct sr_memo *memo, const struct sr_memo_key *key) SR_WARN_UNUSED;

/* Remembers the object, with a reference of its own, instead of what has the same key; quietly not, when it
 * is larger than the maximum or out of memory. Once for an object. */
void sr_memo_keep(struct sr_memo *memo, struct sr_memo_entry *entry);

struct sr_memo_stats {
    uint64_t hits, misses, dropped; /* dropped: over the maximum */
    size_t entries, bytes;
};
void sr_memo_stats(struct sr_memo *memo, struct sr_memo_stats *out);

#endif

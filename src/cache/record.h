/*
 * A cached answer and what it is filed under: immutable, reference-counted, one allocation; and its form as
 * bytes, the same on disk and in every store.
 *
 * Knows no JSON and no dialect: keys, question and answer are bytes that the router made. The bytes carry a
 * version and a checksum; what does not decode is no record.
 */
#ifndef SR_CACHE_RECORD_H
#define SR_CACHE_RECORD_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/ref.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_CACHE_KEY 32 /* bytes of a key: a SHA-256 */

struct sr_cache_key {
    uint8_t bytes[SR_CACHE_KEY]; /* all zero: none */
};

/* How the answer's bytes are written. */
enum sr_cache_form {
    SR_CACHE_JSON = 1, /* a whole document */
    SR_CACHE_SSE = 2,  /* the events of a stream, with their framing */
};

/* What a record is made of; the views of a record point into it. */
struct sr_cache_fields {
    struct sr_cache_key request; /* the exact key before any signal: who asks, epoch and bytes of the body */
    struct sr_cache_key exact;   /* the exact key after the decision: partition and question */
    struct sr_cache_key partition;    /* everything but the question that decides the answer */
    struct sr_cache_key tenant, user; /* hashes of their names, for purges; zero: none */
    int64_t created_ms, expires_ms;   /* wall clock, milliseconds since 1970; 0: never expires */
    enum sr_cache_form form;
    struct sr_bytes model;    /* configured name of the model that answered */
    struct sr_bytes decision; /* "" = none */
    struct sr_bytes verdict;  /* what else the record of the request said, as the router wrote it */
    struct sr_bytes question; /* UTF-8, what the gate compares; at most SR_CACHE_QUESTION_MAX */
    struct sr_bytes vector;   /* as cache/index packs it; empty: exact hits only */
    struct sr_bytes answer;   /* byte for byte as the upstream sent it */
};

#define SR_CACHE_QUESTION_MAX ((size_t)64 << 10)
#define SR_CACHE_RECORD_MAX   ((size_t)32 << 20)

struct sr_cache_record {
    struct sr_ref ref;
    struct sr_cache_fields f;
    size_t bytes; /* of the allocation */
};

/* Copies everything. SR_ELIMIT: a field is over its limit, or all are over SR_CACHE_RECORD_MAX. SR_ENOMEM. */
int sr_cache_record_new(struct sr_cache_record **out, const struct sr_cache_fields *fields) SR_WARN_UNUSED;
struct sr_cache_record *sr_cache_record_ref(struct sr_cache_record *record);
void sr_cache_record_unref(struct sr_cache_record *record); /* NULL is allowed */

/* The size of its bytes, and the bytes into out[size]. */
size_t sr_cache_record_size(const struct sr_cache_record *record);
void sr_cache_record_write(const struct sr_cache_record *record, uint8_t *out);
/* SR_EINVAL: not a record, damaged, or of another version. SR_ELIMIT. SR_ENOMEM. */
int sr_cache_record_read(struct sr_cache_record **out, struct sr_bytes bytes) SR_WARN_UNUSED;

static inline bool sr_cache_key_is_set(const struct sr_cache_key *key)
{
    for (int i = 0; i < SR_CACHE_KEY; i++)
        if (key->bytes[i])
            return true;
    return false;
}

#endif

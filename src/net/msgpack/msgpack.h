/*
 * A reader of msgpack that never looks behind the end: one item at a time, without memory of its own.
 *
 * Knows the whole format (msgpack.org, spec.md); what the items mean is the caller's. A count is checked
 * against the bytes that are left, so that a short message cannot announce a long array.
 */
#ifndef SR_NET_MSGPACK_MSGPACK_H
#define SR_NET_MSGPACK_MSGPACK_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum sr_msgpack_kind {
    SR_MSGPACK_NIL,
    SR_MSGPACK_BOOL,
    SR_MSGPACK_UINT,
    SR_MSGPACK_INT, /* below zero */
    SR_MSGPACK_FLOAT,
    SR_MSGPACK_TEXT,
    SR_MSGPACK_BYTES,
    SR_MSGPACK_ARRAY, /* its elements follow */
    SR_MSGPACK_MAP,   /* its keys and values follow, in turn */
    SR_MSGPACK_EXTENSION,
};

struct sr_msgpack_item {
    enum sr_msgpack_kind kind;
    uint64_t number;       /* a number (below zero: two's complement), a bool, elements, or pairs of a map */
    struct sr_bytes bytes; /* of texts, bytes and extensions: borrowed from the message */
};

/* Where a reader is. Copy it to come back. */
struct sr_msgpack {
    const char *p, *end;
};

static inline struct sr_msgpack sr_msgpack_of(struct sr_bytes message)
{
    return (struct sr_msgpack){message.p, message.p + message.n};
}

/* The next item. SR_EPARSE: it is none, or not whole; the position does not matter any more. */
int sr_msgpack_next(struct sr_msgpack *in, struct sr_msgpack_item *out) SR_WARN_UNUSED;

/* Skips one value with all that is in it, however deep. SR_EPARSE. */
int sr_msgpack_skip(struct sr_msgpack *in) SR_WARN_UNUSED;

#endif

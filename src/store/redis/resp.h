/*
 * The protocol of Redis, version 2: replies from bytes, commands to bytes. The seam of libhiredis, of which
 * only the reader and the formatter are used.
 *
 * Replies are bounded in bytes and in values, whatever a server claims. Does no I/O.
 */
#ifndef SR_STORE_REDIS_RESP_H
#define SR_STORE_REDIS_RESP_H

#include "base/buf.h"

#include <stdint.h>

#define SR_RESP_VALUES_MAX ((size_t)1 << 17) /* of one reply */

enum sr_resp_type {
    SR_RESP_TEXT,
    SR_RESP_STATUS,
    SR_RESP_ERROR,
    SR_RESP_INTEGER,
    SR_RESP_NIL,
    SR_RESP_ARRAY
};

/* A value; the whole reply is freed with its root. */
struct sr_resp {
    enum sr_resp_type type;
    int64_t integer;
    struct sr_bytes text;   /* of texts, statuses and errors */
    struct sr_resp **items; /* of an array; none of them is NULL */
    size_t count;
};
void sr_resp_free(struct sr_resp *reply); /* NULL is allowed */

struct sr_resp_reader;

/* `bytes_max`: of the texts of one reply, and of input that makes no whole value yet. SR_ENOMEM. */
int sr_resp_reader_new(struct sr_resp_reader **out, size_t bytes_max) SR_WARN_UNUSED;
void sr_resp_reader_free(struct sr_resp_reader *reader); /* NULL is allowed */

/* Takes bytes of the stream. SR_ELIMIT, SR_ENOMEM. */
int sr_resp_feed(struct sr_resp_reader *reader, const char *p, size_t n) SR_WARN_UNUSED;
/* The next whole reply, the caller's. SR_MORE: none; SR_EPROTO: not the protocol; SR_ELIMIT: too large, or
 * out of memory. After an error the reader is of no use. */
int sr_resp_next(struct sr_resp_reader *reader, struct sr_resp **out) SR_WARN_UNUSED;

/* Appends a command of `argc` (at most SR_RESP_ARGS_MAX) arguments. SR_ELIMIT, SR_ENOMEM. */
int sr_resp_command(struct sr_buf *out, const struct sr_bytes *argv, size_t argc) SR_WARN_UNUSED;
#define SR_RESP_ARGS_MAX 16

#endif

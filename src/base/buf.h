/*
 * A growing byte buffer with a maximum that is set when it is created.
 *
 * Owns its bytes. Appending past the maximum changes nothing and returns SR_ELIMIT. The bytes are always
 * followed by a NUL that is not counted, so `data` can be read as a C string once something was appended.
 */
#ifndef SR_BASE_BUF_H
#define SR_BASE_BUF_H

#include "base/bytes.h"
#include "base/err.h"

struct sr_buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max; /* bytes; appends beyond it fail */
};

/* Prepares an empty buffer of at most `max` bytes; allocates nothing. */
void sr_buf_init(struct sr_buf *buf, size_t max);

/* Frees the bytes; the buffer can be used again with the same maximum. */
void sr_buf_dispose(struct sr_buf *buf);

/* Makes room for `more` bytes after `len`. SR_ELIMIT, SR_ENOMEM. */
int sr_buf_reserve(struct sr_buf *buf, size_t more) SR_WARN_UNUSED;

int sr_buf_append(struct sr_buf *buf, const void *p, size_t n) SR_WARN_UNUSED;
int sr_buf_append_bytes(struct sr_buf *buf, struct sr_bytes s) SR_WARN_UNUSED;
int sr_buf_printf(struct sr_buf *buf, const char *fmt, ...) SR_PRINTF(2, 3) SR_WARN_UNUSED;

/* Appends `s` as the inside of a JSON string (no quotes): escapes what RFC 8259 requires, and replaces bytes
 * that are not valid UTF-8 by U+FFFD. */
int sr_buf_append_json(struct sr_buf *buf, struct sr_bytes s) SR_WARN_UNUSED;

/* Drops the first `n` bytes (n <= len). */
void sr_buf_consume(struct sr_buf *buf, size_t n);

static inline void sr_buf_clear(struct sr_buf *buf)
{
    buf->len = 0;
}

/* Borrowed until the next change of the buffer. */
static inline struct sr_bytes sr_buf_view(const struct sr_buf *buf)
{
    return (struct sr_bytes){buf->data, buf->len};
}

#endif

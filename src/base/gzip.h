/*
 * Gzip of whole messages, and the content codings gzip and deflate undone as bytes arrive. Wraps zlib.
 *
 * What is undone is bounded: a call gives at most SR_INFLATE_PIECE bytes, and what expands more than
 * SR_INFLATE_RATIO times beyond its first SR_INFLATE_FREE bytes is an error. A limit of the whole is the
 * caller's.
 */
#ifndef SR_BASE_GZIP_H
#define SR_BASE_GZIP_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the compressed form of `in`. SR_ENOMEM, SR_ELIMIT (of `out`, or over 1 GiB). */
int sr_gzip(struct sr_bytes in, struct sr_buf *out) SR_WARN_UNUSED;

/* A value of content-encoding (RFC 9110, section 8.4.1). */
enum sr_coding {
    SR_CODING_NONE,    /* identity, or empty */
    SR_CODING_GZIP,    /* gzip, x-gzip: one member or several (RFC 1952) */
    SR_CODING_DEFLATE, /* the zlib format (RFC 1950) */
    SR_CODING_OTHER,   /* another one, or several */
};

enum sr_coding sr_coding_of(struct sr_bytes value);

/* The coding of all headers of that name; `before` is that of those before this one. */
enum sr_coding sr_coding_with(enum sr_coding before, struct sr_bytes value);

#define SR_INFLATE_PIECE ((size_t)32 << 10)
#define SR_INFLATE_RATIO 200u
#define SR_INFLATE_FREE  ((size_t)1 << 20)

struct sr_inflate;

/* SR_CODING_GZIP or SR_CODING_DEFLATE. SR_ENOMEM. */
int sr_inflate_new(struct sr_inflate **out, enum sr_coding coding) SR_WARN_UNUSED;

/* NULL is allowed. */
void sr_inflate_free(struct sr_inflate *z);

/* Reads from `in`, which is moved forward, and sets `out` to what comes of it, perhaps nothing; it is valid
 * until the next call. SR_OK: call again, there may be more; SR_MORE: `in` is used up. SR_EPARSE: this is not
 * of the coding, or something follows its end; SR_ELIMIT: it expands too much; SR_ENOMEM. After an error no
 * further call. */
int sr_inflate_next(struct sr_inflate *z, struct sr_bytes *in, struct sr_bytes *out) SR_WARN_UNUSED;

/* True at an end of the coding, and before its first byte where `in` never had one. */
bool sr_inflate_is_whole(const struct sr_inflate *z);

#endif

/*
 * Parses multipart/form-data (RFC 7578) strictly: what two parsers could read differently is an error.
 *
 * A body is the first delimiter, parts, and the closing delimiter with at most a line end after it. The
 * boundary stands nowhere else. A part has one content-disposition (`form-data`, a name in quotes without
 * escapes, perhaps a filename), at most one content-type, and nothing else that means something. Pure; what
 * it returns borrows from its input.
 */
#ifndef SR_ROUTER_REQUEST_MULTIPART_H
#define SR_ROUTER_REQUEST_MULTIPART_H

#include "base/arena.h"

#include <stdbool.h>

#define SR_MULTIPART_PARTS_MAX    256u
#define SR_MULTIPART_HEADERS_MAX  4096u /* bytes of a part's headers */
#define SR_MULTIPART_BOUNDARY_MAX 70u

struct sr_multipart_part {
    struct sr_bytes name;
    struct sr_bytes filename; /* `p` NULL: none */
    bool named_twice;         /* the filename stands a second time, in its extended form */
    struct sr_bytes charset;  /* of its content-type; empty: none */
    struct sr_bytes content;
};

struct sr_multipart {
    struct sr_multipart_part *parts; /* [n] */
    size_t n;
};

/* The boundary that a content-type names; it needs no quotes. SR_ENOENT: it is no multipart/form-data;
 * SR_EPARSE: it has no boundary, one of other characters than letters, digits and `-_.+'`, or other
 * parameters. */
int sr_multipart_boundary(struct sr_bytes content_type, struct sr_bytes *boundary) SR_WARN_UNUSED;

/* Parses a whole body. SR_EPARSE: `err` says what and where; SR_ELIMIT: too many parts, or a part's headers
 * are too long; SR_ENOMEM. */
int sr_multipart_read(struct sr_bytes body, struct sr_bytes boundary, struct sr_arena *arena,
                      struct sr_multipart *out, struct sr_err *err) SR_WARN_UNUSED;

/* True when the body ends with a closing delimiter, after which only a line end may follow. */
bool sr_multipart_is_whole(struct sr_bytes body, struct sr_bytes boundary);

#endif

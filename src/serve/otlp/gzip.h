/* Gzip of whole messages. Wraps zlib. */
#ifndef SR_SERVE_OTLP_GZIP_H
#define SR_SERVE_OTLP_GZIP_H

#include "base/buf.h"

/* Appends the compressed form of `in`. SR_ENOMEM, SR_ELIMIT (of `out`, or over 1 GiB). */
int sr_gzip(struct sr_bytes in, struct sr_buf *out) SR_WARN_UNUSED;

#endif

/*
 * POST /api/v1/compress: a text and settings in, the compressed text out.
 *
 * Computes on the calling thread, without a connection: the API (serve/admin/api.c) passes the body and
 * sends the answer.
 */
#ifndef SR_SERVE_ADMIN_COMPRESS_H
#define SR_SERVE_ADMIN_COMPRESS_H

#include "base/buf.h"

#define SR_API_COMPRESS_MAX     ((size_t)4 << 20)  /* bytes of a text: about 50 ms of work */
#define SR_API_COMPRESS_AT_ONCE ((size_t)32 << 10) /* largest body in bytes that a loop handles itself */

/* Body: {"text": "...", "budget": 512, "profile": "default", "compat": false}; only `text` is required.
 * Appends the answer, the same object as `semroute compress --json` prints, and returns 200; or another
 * HTTP status with a message for the client in `err`. */
int sr_api_compress(struct sr_bytes body, struct sr_buf *out, struct sr_err *err);

#endif

/*
 * POST /api/v1/compress: a text and settings in, what is kept out.
 *
 * Pure work on the calling thread, no connection: the API door (serve/admin/api.c) brings the body and sends
 * the answer.
 */
#ifndef SR_SERVE_ADMIN_COMPRESS_H
#define SR_SERVE_ADMIN_COMPRESS_H

#include "base/buf.h"

#define SR_API_COMPRESS_MAX     ((size_t)4 << 20)  /* bytes of a text: about 50 ms of work */
#define SR_API_COMPRESS_AT_ONCE ((size_t)32 << 10) /* bytes of a body that a loop may work on itself */

/* Body: {"text": "...", "budget": 512, "profile": "default", "compat": false}; all but `text` may be left
 * out. Appends the answer, the same object as `semroute compress --json` prints, and returns 200; or another
 * HTTP status with a message for the client in `err`. */
int sr_api_compress(struct sr_bytes body, struct sr_buf *out, struct sr_err *err);

#endif

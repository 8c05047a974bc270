/*
 * GET and PUT /api/v1/log: the least level that the process log has, while the process runs.
 *
 * A reload and a start set it to what the configuration says. Any thread.
 */
#ifndef SR_SERVE_ADMIN_LEVEL_H
#define SR_SERVE_ADMIN_LEVEL_H

#include "base/buf.h"
#include "router/runtime.h"

#define SR_API_LEVEL_MAX ((size_t)4 << 10) /* bytes of an answer */

/* Appends {"level", "configured"}. With a body, {"level": "..."}, the level is changed first, and the process
 * log and the audit log say by whom (`peer`). Returns the status: 200, 400 with an error, 503. */
int sr_api_level(sr_runtime *runtime, struct sr_bytes body, const char *peer, struct sr_buf *out);

#endif

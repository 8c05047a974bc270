/*
 * The API of the response cache: what it is, how it does, and removing from it.
 *
 * Each function reads a body and appends a JSON answer; it may take long with many entries, so it runs on a
 * worker thread.
 */
#ifndef SR_SERVE_ADMIN_CACHE_H
#define SR_SERVE_ADMIN_CACHE_H

#include "base/buf.h"
#include "router/runtime.h"

enum sr_api_cache_call {
    SR_API_CACHE_CAPABILITIES,
    SR_API_CACHE_HEALTH,
    SR_API_CACHE_STATS,
    SR_API_CACHE_INVALIDATE, /* {"tenant", "user", "model", "older_than_seconds", "dry_run": true} */
    SR_API_CACHE_FLUSH,      /* {"confirm": "flush response cache"} */
};

/* Returns the status of the answer. */
int sr_api_cache(sr_runtime *runtime, enum sr_api_cache_call call, struct sr_bytes body, struct sr_buf *out);

#endif

/* Records of requests over the API: a page of them, one, and sums. In the shapes of vLLM Semantic Router. */
#ifndef SR_SERVE_ADMIN_REPLAY_H
#define SR_SERVE_ADMIN_REPLAY_H

#include "base/buf.h"
#include "history/json.h"
#include "router/runtime.h"

#define SR_API_REPLAY            "/v1/router_replay"
#define SR_API_REPLAY_MAX        SR_HISTORY_JSON_MAX /* bytes of an answer */
#define SR_API_REPLAY_TARGET_MAX ((size_t)16 << 10)

/* Answers a GET of a target at or below SR_API_REPLAY: its status, and a JSON document in `out`. May take
 * milliseconds, so not on a loop. */
int sr_api_replay(sr_runtime *runtime, struct sr_bytes target, struct sr_buf *out);

#endif

/*
 * POST /api/v1/page/draft: explains a request by a draft of the configuration's `routing` (config/draft.h).
 *
 * {"routing": YAML, "text" or "request"} gives {"good", "problems", "explanation"}. The draft is never
 * applied. One thread of its own, of low priority, makes and asks it, one call at a time; the last draft is
 * kept, so that many requests can be explained by it. Loop's thread only.
 */
#ifndef SR_SERVE_ADMIN_DRAFT_H
#define SR_SERVE_ADMIN_DRAFT_H

#include "net/loop/loop.h"
#include "router/runtime.h"

struct sr_drafts;
struct sr_draft_call;

/* What it is given must outlive it. SR_ENOMEM. */
int sr_drafts_new(struct sr_drafts **out, sr_runtime *runtime, struct sr_loop *loop) SR_WARN_UNUSED;
/* Waits for the call in progress. NULL is allowed. */
void sr_drafts_free(struct sr_drafts *drafts);

/* Takes `body` (emptied on success). `done` is called once, unless cancelled before, with 200 and a JSON
 * document, or with 400 (the body is none of these) or 503. SR_EBUSY: another call is in progress. SR_ENOMEM.
 */
int sr_draft_start(struct sr_draft_call **out, struct sr_drafts *drafts, struct sr_buf *body,
                   void (*done)(void *ctx, int status, struct sr_bytes answer), void *ctx) SR_WARN_UNUSED;
void sr_draft_cancel(struct sr_draft_call *call); /* NULL is allowed */

#endif

/*
 * What a cached record says of a request: the facts of the verdict that it was stored with, and its answer as
 * the body of a reply.
 */
#ifndef SR_ROUTER_CACHE_REPLAY_H
#define SR_ROUTER_CACHE_REPLAY_H

#include "base/buf.h"
#include "cache/record.h"
#include "router/record.h"
#include "router/request/request.h"
#include "router/router.h"

/* Appends the facts of a verdict that a later hit reports, for struct sr_cache_fields. SR_ENOMEM, SR_ELIMIT.
 */
int sr_replay_write_verdict(const struct sr_record *record, struct sr_buf *out) SR_WARN_UNUSED;

/* Fills the verdict's fields of `record` from a stored one; texts are copied into `arena`. SR_ENOENT: it
 * names a model that the configuration has not. SR_EPARSE, SR_ENOMEM. */
int sr_replay_read_verdict(const struct sr_cache_fields *fields, const struct sr_config *config,
                           struct sr_arena *arena, struct sr_record *record) SR_WARN_UNUSED;

/* Appends the answer to this request: its bytes, without the usage that the request did not ask for.
 * SR_ENOMEM, SR_ELIMIT. */
int sr_replay_answer(const struct sr_cache_fields *fields, const struct sr_request *doc,
                     const struct sr_router *router, struct sr_buf *out) SR_WARN_UNUSED;

const char *sr_replay_content_type(enum sr_cache_form form);

#endif

/* How the response cache meets a request: whether it is asked, where it looks, and what it keeps. */
#ifndef SR_ROUTER_REPORT_EXPLAIN_CACHE_H
#define SR_ROUTER_REPORT_EXPLAIN_CACHE_H

#include "base/json_write.h"
#include "router/report/explain.h"

/* The member `cache` of an explanation. */
void sr_explain_cache_json(const struct sr_explain *e, struct sr_json_writer *w);

/* The same as lines for people, each with its line end, all but the first after `indent`. SR_ENOMEM,
 * SR_ELIMIT. */
int sr_explain_cache_text(const struct sr_explain *e, const char *indent, struct sr_buf *out) SR_WARN_UNUSED;

#endif

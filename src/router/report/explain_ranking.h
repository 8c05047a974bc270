/* The part of an explanation about the choice of the model: candidates, their factors, and why one won. */
#ifndef SR_ROUTER_REPORT_EXPLAIN_RANKING_H
#define SR_ROUTER_REPORT_EXPLAIN_RANKING_H

#include "base/json_write.h"
#include "router/report/explain.h"

/* The member "selection":{algorithm,why,fallback,candidates:[{model,score,chosen,excluded,factors}]}; nothing
 * where no algorithm ranked. */
void sr_explain_ranking_json(const struct sr_explain *e, struct sr_json_writer *w);

/* Lines for people, each behind `indent`. */
int sr_explain_ranking_text(const struct sr_explain *e, const char *indent,
                            struct sr_buf *out) SR_WARN_UNUSED;

#endif

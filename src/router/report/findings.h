/*
 * The findings of one request for the audit log: attacks and private data, acted on or not. Types, places and
 * numbers; never the text.
 */
#ifndef SR_ROUTER_REPORT_FINDINGS_H
#define SR_ROUTER_REPORT_FINDINGS_H

#include "base/json_write.h"
#include "router/record.h"

#define SR_FINDINGS_MAX 64 /* that are listed; the others are counted by type */

/* How many findings a request has: attacks that reach the threshold of a rule, and all private data. */
size_t sr_findings_count(const struct sr_record *record);

/* Writes the members "findings":[{type,unit,turn,source,start,end,confidence,rule,action}] and, where there
 * are more than SR_FINDINGS_MAX, "findings_omitted" with their counts by type. `unit` counts the strings of
 * the request that are read, `start` and `end` are bytes of its decoded text; `rule` is the first that counts
 * the finding; `action` is what happened because of it: an action of a guard, "shadow" or "none". */
void sr_findings_write(const struct sr_record *record, const struct sr_config *config,
                       struct sr_json_writer *w);

#endif

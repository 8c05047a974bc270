/*
 * What a command prints, put together in memory: text for people or one JSON document.
 *
 * The first error sticks, so that callers put piece after piece and look once, at the end.
 */
#ifndef SR_CLI_CLASSIFY_REPORT_H
#define SR_CLI_CLASSIFY_REPORT_H

#include "base/json_write.h"

struct sr_report {
    struct sr_buf text;
    struct sr_json_writer json; /* into `text`; its rc says why a piece of either kind is missing */
};

/* An empty one, which must stay where it is; allocates nothing. */
void sr_report_init(struct sr_report *report);
void sr_report_dispose(struct sr_report *report);

void sr_report_put(struct sr_report *report, const char *fmt, ...) SR_PRINTF(2, 3);

/* Members of an object: "NAME":0.937500,"NAME_interval":[0.8500,0.9750],"NAME_of":48; nothing when `of` is 0.
 * The interval is Wilson's, 95 %. */
void sr_report_rate(struct sr_report *report, const char *name, size_t hits, size_t of);

/* The member "KEY":[LOW,HIGH] of Wilson's interval. */
void sr_report_interval(struct sr_report *report, const char *key, size_t hits, size_t of);

/* The same for people, 21 columns wide: " 93.75 % (85.0- 97.5)"; a dash when `of` is 0. */
void sr_report_percent(struct sr_report *report, size_t hits, size_t of);

#endif

/*
 * What a command prints, put together in memory: text for people or one JSON document.
 *
 * The first error sticks, so that callers put piece after piece and look once, at the end.
 */
#ifndef SR_CLI_CLASSIFY_REPORT_H
#define SR_CLI_CLASSIFY_REPORT_H

#include "base/buf.h"

struct sr_report {
    struct sr_buf text;
    int rc; /* SR_OK, or why a piece is missing: SR_ENOMEM, SR_ELIMIT */
};

/* An empty one; allocates nothing. */
void sr_report_init(struct sr_report *report);
void sr_report_dispose(struct sr_report *report);

void sr_report_put(struct sr_report *report, const char *fmt, ...) SR_PRINTF(2, 3);

/* A JSON string with its quotes. */
void sr_report_string(struct sr_report *report, struct sr_bytes s);

/* ,"NAME":0.937500,"NAME_interval":[0.8500,0.9750]; nothing when `of` is 0. The interval is Wilson's, 95 %.
 */
void sr_report_rate(struct sr_report *report, const char *name, size_t hits, size_t of);

/* The same for people, 21 columns wide: " 93.75 % (85.0- 97.5)"; a dash when `of` is 0. */
void sr_report_percent(struct sr_report *report, size_t hits, size_t of);

#endif

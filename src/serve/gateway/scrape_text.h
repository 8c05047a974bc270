/*
 * A worker's load from its metrics in the Prometheus text format, under vLLM's names, as the bytes arrive.
 *
 * Series of one name are added (an engine has one for each of its ranks), but of the cache's usage the
 * highest counts. Bytes of any origin: a line that is too long or malformed is left out. Knows no sockets.
 */
#ifndef SR_SERVE_GATEWAY_SCRAPE_TEXT_H
#define SR_SERVE_GATEWAY_SCRAPE_TEXT_H

#include "base/bytes.h"
#include "pool/report.h"

#define SR_SCRAPE_LINE_MAX 1024

struct sr_scrape_text {
    double running, waiting, usage, asked, hits; /* negative: not seen */
    char line[SR_SCRAPE_LINE_MAX];               /* the beginning of one that has not ended */
    size_t n;
    bool too_long; /* that line */
};

void sr_scrape_text_init(struct sr_scrape_text *text);
void sr_scrape_text_feed(struct sr_scrape_text *text, struct sr_bytes slice);

/* After the last byte. False: these are no metrics of an engine. */
bool sr_scrape_text_finish(struct sr_scrape_text *text, struct sr_pool_reported *out);

#endif

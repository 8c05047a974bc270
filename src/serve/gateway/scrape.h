/*
 * Asks the workers of pools for their metrics at an interval, and tells the pool their load.
 *
 * Workers are asked as poll.h says, configured and discovered ones, when their pool's policy
 * reads loads, or the pool names a path. A report that is SR_SCRAPE_STALE intervals old is forgotten. Loop's
 * thread only.
 */
#ifndef SR_SERVE_GATEWAY_SCRAPE_H
#define SR_SERVE_GATEWAY_SCRAPE_H

#include "config/config.h"
#include "net/client/client.h"
#include "semroute/semroute.h"
#include "serve/gateway/upstream_tls.h"

#define SR_SCRAPE_STALE 3u

struct sr_scraper;

/* Asks nothing yet. All must outlive it. SR_ENOMEM. */
int sr_scraper_new(struct sr_scraper **out, struct sr_loop *loop, struct sr_client *client,
                   sr_runtime *runtime, struct sr_upstream_tls *tls) SR_WARN_UNUSED;

/* Asks the workers of `config`, to which it takes a reference, from now on. SR_ENOMEM: some are not asked
 * until later. */
int sr_scraper_configure(struct sr_scraper *scraper, const struct sr_config *config) SR_WARN_UNUSED;

/* Cancels what is in progress. NULL is allowed. */
void sr_scraper_free(struct sr_scraper *scraper);

#endif

/*
 * Pages of other origins (CORS, https://fetch.spec.whatwg.org): which may call the gateway from a browser.
 *
 * Cookies are never allowed, so a page acts with what it knows itself.
 */
#ifndef SR_SERVE_GATEWAY_CORS_H
#define SR_SERVE_GATEWAY_CORS_H

#include "config/config.h"
#include "net/server/server.h"

/* Adds to the answer of a request from an allowed origin what its browser asks for, and answers the browser's
 own

 * question before it. True: the request has ended; without memory it is aborted. */
bool sr_cors_answer(const struct sr_config_gateway *config, struct sr_http_request *request);

#endif

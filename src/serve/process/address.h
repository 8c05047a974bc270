/*
 * Addresses of listeners as people write them on a command line.
 */
#ifndef SR_SERVE_PROCESS_ADDRESS_H
#define SR_SERVE_PROCESS_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>

struct sr_address {
    bool off;
    char host[256]; /* no brackets; empty = every address */
    int port;
};

/* "ADDRESS:PORT", "[IPv6]:PORT", ":PORT" (every address), "PORT" (127.0.0.1), "off". Port 0 selects a free
 * one. SR_EINVAL with a message. */
int sr_address_parse(struct sr_address *out, const char *text, struct sr_err *err) SR_WARN_UNUSED;

#endif

/*
 * Addresses as Envoy writes them: `1.2.3.4:80` and `[::1]:80`. Compared as numbers, so that two spellings of
 * one address are equal. No names are resolved here.
 */
#ifndef SR_SERVE_EXTPROC_ADDRESS_H
#define SR_SERVE_EXTPROC_ADDRESS_H

#include "base/arena.h"

struct sr_extproc_address {
    int family; /* AF_UNSPEC: no address */
    int port;
    unsigned char bytes[16];
};

/* False, and family AF_UNSPEC, when `text` is no address with a port. */
bool sr_extproc_address_parse(struct sr_extproc_address *out, struct sr_bytes text);

/* True for the same address and port. AF_UNSPEC equals nothing. */
bool sr_extproc_address_eq(const struct sr_extproc_address *a, const struct sr_extproc_address *b);

/* `host:port`, a host with colons in brackets. `p` NULL: out of memory. */
struct sr_bytes sr_extproc_address_print(struct sr_arena *arena, const char *host, int port);

/* True when `host` is an address, not a name. */
bool sr_extproc_host_is_address(const char *host);

#endif

/*
 * Counts the connections of a process and of each client address, over all loops and listeners.
 *
 * A connection counts from accept until its descriptor is closed, its TLS handshake and its last second
 * included. IPv6 clients are told apart by their first 64 bits, which is what one subscriber gets. Any
 * thread.
 */
#ifndef SR_NET_SERVER_CENSUS_H
#define SR_NET_SERVER_CENSUS_H

#include "base/err.h"

#include <stddef.h>
#include <sys/socket.h>

struct sr_census;
struct sr_census_client;

/* Without limits until sr_census_limit. SR_ENOMEM. */
int sr_census_new(struct sr_census **out) SR_WARN_UNUSED;

/* After the last sr_census_leave. NULL is allowed. */
void sr_census_free(struct sr_census *census);

/* At most `connections` at a time (0: any number), and `per_client` from one address (0: any number). Those
 * that are open stay. */
void sr_census_limit(struct sr_census *census, size_t connections, size_t per_client);

/* A connection from `peer` was accepted. SR_OK: it counts, and *client goes to sr_census_leave. SR_ELIMIT:
 * there are too many, SR_EBUSY: too many of this client, SR_ENOMEM; it does not count. */
int sr_census_enter(struct sr_census *census, const struct sockaddr *peer,
                    struct sr_census_client **client) SR_WARN_UNUSED;
void sr_census_leave(struct sr_census *census, struct sr_census_client *client);

size_t sr_census_count(struct sr_census *census);

#endif

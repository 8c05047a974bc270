/*
 * The workers that a file or DNS names: addresses with a weight, read from bytes from outside. Bounded; no
 * I/O.
 */
#ifndef SR_SERVE_DISCOVER_LIST_H
#define SR_SERVE_DISCOVER_LIST_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define SR_DISCOVER_MAX      4096 /* workers of one pool */
#define SR_DISCOVER_HOST_MAX 254  /* bytes of a name or address, NUL included */

struct sr_discovered {
    char host[SR_DISCOVER_HOST_MAX];
    int port;
    double weight;
    bool backup; /* it gets requests only when no other worker can */
};

/* All zero: empty. */
struct sr_discovered_list {
    struct sr_discovered *items;
    size_t n, cap;
};

/* Adds one, unless the same address is there. SR_ELIMIT; SR_EINVAL: the host is empty or too long; SR_ENOMEM.
 */
int sr_discovered_add(struct sr_discovered_list *list, struct sr_bytes host, int port,
                      double weight) SR_WARN_UNUSED;
void sr_discovered_dispose(struct sr_discovered_list *list);

/* The same addresses and weights in the same order. */
bool sr_discovered_equal(const struct sr_discovered_list *a, const struct sr_discovered_list *b);

/* Sorts by address, so that an answer in another order is the same list. */
void sr_discovered_sort(struct sr_discovered_list *list);

/* Reads the text of a file: a worker on each line, `host:port`, after spaces its weight and the word
 * `backup`, where it has them; `#` begins a comment. The message of an error names the line. SR_EPARSE, also
 * for a file without a worker; SR_ELIMIT, SR_ENOMEM. */
int sr_discovered_read(struct sr_discovered_list *list, struct sr_bytes text,
                       struct sr_err *err) SR_WARN_UNUSED;

/* What a DNS message says of a name. */
struct sr_dns_records {
    struct sr_discovered_list list; /* addresses with `port`; of SRV records the targets, weights and ports */
    uint32_t ttl_s;                 /* the shortest one; UINT32_MAX: no record */
};

/* Reads the answer of a DNS message: A and AAAA records, or where `srv` its SRV records,
 * of which those over the lowest priority are backups. SR_EPARSE; SR_ELIMIT, SR_ENOMEM. */
int sr_dns_read(struct sr_dns_records *records, struct sr_bytes message, bool srv, int port) SR_WARN_UNUSED;

#endif

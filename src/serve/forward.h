/*
 * How a request is forwarded to a backend: its path there, and the changes to the client's headers.
 *
 * The gateway, which writes the head itself, and the ext_proc door, which tells Envoy what to change,
 * follow the same rules. Chooses no backend and sends nothing. The sender writes `host` and the framing:
 * the client's own are never forwarded.
 */
#ifndef SR_SERVE_FORWARD_H
#define SR_SERVE_FORWARD_H

#include "base/arena.h"
#include "net/http1/http1.h"
#include "semroute/semroute.h"

/* The changes of a verdict and a backend to the client's headers. */
struct sr_forward {
    struct sr_header *set; /* replace, or are added; each name once */
    size_t n_set;
    struct sr_bytes *remove; /* names that are not among `set` */
    size_t n_remove;
};

/* Where the changes are made. */
enum sr_forward_hop {
    SR_FORWARD_HERE,  /* this process ends the client's hop: its host, length, expect and x-forwarded-for go,
                         too */
    SR_FORWARD_PROXY, /* a proxy ends it by its own rules */
};

/* Fills the changes: the verdict's headers, then the backend's own, which take precedence. `target` NULL:
 * the backend is not known. `extra`: most calls of sr_forward_set that follow. Lives in `arena`.
 * SR_ENOMEM. */
int sr_forward_init(struct sr_forward *forward, const struct sr_verdict *verdict,
                    const struct sr_target *target, enum sr_forward_hop hop, size_t extra,
                    struct sr_arena *arena) SR_WARN_UNUSED;

/* Adds a header, or replaces the value of one that is set. A name in `remove` is set instead. */
void sr_forward_set(struct sr_forward *forward, struct sr_bytes name, struct sr_bytes value);

/* The traceparent of this try, in place of the request's own, if that goes to the backend; `parent` empty:
 * it stays. */
void sr_forward_trace(struct sr_forward *forward, struct sr_bytes parent);

bool sr_forward_sets(const struct sr_forward *forward, struct sr_bytes name);

/* The request's path and query at the backend, after its base path. Lives in `arena` or in the verdict;
 * `p` NULL: out of memory. */
struct sr_bytes sr_forward_path(const struct sr_verdict *verdict, const struct sr_target *target,
                                struct sr_arena *arena);

/* The value of x-forwarded-for: what the client sent, and its own address. `peer` is "address:port" or
 * "[address]:port". Lives in `arena`, `peer` or is static. */
struct sr_bytes sr_forward_client(const struct sr_http_head *head, const char *peer, struct sr_arena *arena);

/* The forwarded headers of a request or an answer: the given ones without those of the hop (also
 * Connection and those it names), without removed and replaced ones; then those that are set. Writes them
 * to `out`, which has room for all of both, and returns their number. */
size_t sr_forward_merge(struct sr_header *out, const struct sr_http_head *head,
                        const struct sr_header_edits *edits);

#endif

/*
 * How a request goes on to a backend: its path there, and what is changed of the client's headers.
 *
 * The gateway, which writes the head itself, and the ext_proc door, which tells Envoy what to change, follow
 * the same rules. Chooses no backend and sends nothing. `host` and the framing are written by the sender: a
 * client's own never go on.
 */
#ifndef SR_SERVE_FORWARD_H
#define SR_SERVE_FORWARD_H

#include "base/arena.h"
#include "net/http1/http1.h"
#include "semroute/semroute.h"

/* What a verdict and the backend change of the client's headers. */
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
    SR_FORWARD_PROXY, /* a proxy does, which keeps to its own rules about the hop */
};

/* The verdict's headers and then the backend's own, which win. `target` NULL: the backend is not known.
 * `extra`: how many sr_forward_set follow at most. Lives in `arena`. SR_ENOMEM. */
int sr_forward_init(struct sr_forward *forward, const struct sr_verdict *verdict,
                    const struct sr_target *target, enum sr_forward_hop hop, size_t extra,
                    struct sr_arena *arena) SR_WARN_UNUSED;

/* One more header, or another value of one that is set. A name that was to be removed is set instead. */
void sr_forward_set(struct sr_forward *forward, struct sr_bytes name, struct sr_bytes value);

bool sr_forward_sets(const struct sr_forward *forward, struct sr_bytes name);

/* The request's path and query at the backend: behind its base path. Lives in `arena` or in the verdict; `p`
 * NULL: out of memory. */
struct sr_bytes sr_forward_path(const struct sr_verdict *verdict, const struct sr_target *target,
                                struct sr_arena *arena);

/* The value of x-forwarded-for: what the client sent, and its own address. `peer` is "address:port" or
 * "[address]:port". Lives in `arena`, `peer` or is static. */
struct sr_bytes sr_forward_client(const struct sr_http_head *head, const char *peer, struct sr_arena *arena);

/* A head as it goes on, of a request or an answer: its headers but for those of the hop (Connection and what
 * it names among them), those that are removed and those that are set; then those that are set. Writes into
 * `out`, which has room for all of both, and returns how many. */
size_t sr_forward_merge(struct sr_header *out, const struct sr_http_head *head,
                        const struct sr_header_edits *edits);

#endif

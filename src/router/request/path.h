/*
 * The normal form of a request's path: one spelling for each path, made once, before any decision.
 *
 * Servers read a path in different ways (escapes, `//`, dot segments, `;parameters`, letter case). All
 * decisions of the router use the normal form, and only the normal form is forwarded, so an upstream cannot
 * read another path than the router did. Knows no endpoints. docs/http.md has the table.
 */
#ifndef SR_ROUTER_REQUEST_PATH_H
#define SR_ROUTER_REQUEST_PATH_H

#include "base/arena.h"

struct sr_request_path {
    struct sr_bytes path;   /* the normal form; after a refusal as it was sent */
    struct sr_bytes query;  /* begins with its '?', or is empty; as it was sent */
    struct sr_bytes target; /* path and query */
    const char *flaw; /* why there is no normal form: constant text for the client; NULL: there is one */
};

/*
 * Fills `out` from a request's target, in origin form ("/v1/models?x=1") or in absolute form, whose scheme
 * and authority are dropped. The normal form begins with '/', has no empty segment, no dot segment, no
 * parameters, no slash at its end unless it is "/", no escape and no upper-case letter; the normal form of
 * a normal form is itself. Segments below /v1/models/ and /v1/responses/ are an id: they keep case, escapes
 * and parameters. Without a normal form: other forms of targets, `\`, NUL and other controls, bytes that no
 * path has, broken escapes, escapes of such bytes and of `/`, `%`, `?`, `#`, `;`, and `..` above the root.
 * Linear in the target; lives in `arena`. SR_ENOMEM.
 */
int sr_request_path_read(struct sr_request_path *out, struct sr_bytes target,
                         struct sr_arena *arena) SR_WARN_UNUSED;

#endif

/*
 * What the router keeps of a request's head, and which of its headers are not forwarded. router/identity
 * decides identity and trusted sources.
 */
#ifndef SR_ROUTER_REQUEST_HEAD_H
#define SR_ROUTER_REQUEST_HEAD_H

#include "base/arena.h"
#include "base/gzip.h"
#include "config/config.h"
#include "router/request/path.h"
#include "semroute/semroute.h"

/* By which a coding agent names its session. */
#define SR_SESSION_HEADER_OF_CODE "x-claude-code-session-id"

/* The version of the Messages API: what `anthropic-version` says, or would say. */
#define SR_ANTHROPIC_VERSION "2023-06-01"

struct sr_head {
    enum sr_door door;
    struct sr_bytes method;
    struct sr_request_path path; /* the only path that is decided on and forwarded */
    struct sr_bytes peer, protocol;
    struct sr_bytes traceparent, tracestate; /* empty: none, or more than one */
    size_t n_traceparents, n_tracestates;
    struct sr_bytes request_id; /* empty: the client sent none that can be used */
    struct sr_bytes content_type;
    struct sr_bytes boundary; /* of a multipart/form-data that can be read; else empty */
    bool says_json;           /* its content-type is exactly application/json, once */
    uint64_t content_length;  /* 0 when not given */
    uint64_t passing_max;     /* as in struct sr_request_head */
    bool has_body;
    bool answer_unseen;     /* no stage can remove from the answer what only the router asked for */
    bool wants_sse;         /* `accept` contains text/event-stream */
    bool debug;             /* x-vsr-debug: true, or set in the configuration */
    bool skip;              /* x-vsr-skip-processing: true, and the configuration allows it */
    enum sr_coding coding;  /* of the body */
    struct sr_bytes *strip; /* header names that are not forwarded */
    size_t n_strip;
    struct sr_bytes *credentials; /* names of the client's own, not forwarded where a backend has a key */
    size_t n_credentials;
    struct sr_bytes client_key; /* what the first of them holds; empty: no key */
    bool injects; /* a key of the client replaces the backend's: its other credentials are not forwarded */
    struct sr_header *named; /* headers that pools, authz, canaries and sessions read */
    size_t n_named;
    /* Names and values, in turn, of headers that change what an upstream does with the same body: a version
     * of the API, beta features, whose files and prompts it has. Not the version that is the usual one. */
    struct sr_bytes *versions;
    size_t n_versions;
};

/* Fills `out`; copies what it needs into `arena`. SR_ENOMEM. */
int sr_head_read(struct sr_head *out, const struct sr_request_head *head, const struct sr_config *config,
                 struct sr_arena *arena) SR_WARN_UNUSED;

/* The value of a header that a pool or authz reads; `p` NULL: absent, or `name` is empty. */
struct sr_bytes sr_head_named(const struct sr_head *head, const char *name);

#endif

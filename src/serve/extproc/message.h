/*
 * The messages of Envoy's external processor as plain structs, with decoding and encoding.
 *
 * message.c is the only file that knows the generated protobuf types. Header values come from `raw_value`
 * or `value`, whichever is filled, and are sent only in `raw_value`, because Envoy refuses both and may
 * take `value` for an empty header. Decides nothing.
 */
#ifndef SR_SERVE_EXTPROC_MESSAGE_H
#define SR_SERVE_EXTPROC_MESSAGE_H

#include "base/arena.h"
#include "semroute/semroute.h"

/* The kind of a message; its reply has the same kind. */
enum sr_extproc_phase {
    SR_EXTPROC_NONE, /* unknown to this version */
    SR_EXTPROC_REQUEST_HEADERS,
    SR_EXTPROC_REQUEST_BODY,
    SR_EXTPROC_REQUEST_TRAILERS,
    SR_EXTPROC_RESPONSE_HEADERS,
    SR_EXTPROC_RESPONSE_BODY,
    SR_EXTPROC_RESPONSE_TRAILERS,
};

/* How Envoy sends bodies; the numbers are the protocol's. */
enum sr_extproc_mode {
    SR_EXTPROC_MODE_NONE = 0,
    SR_EXTPROC_MODE_STREAMED = 1,
    SR_EXTPROC_MODE_BUFFERED = 2,
    SR_EXTPROC_MODE_BUFFERED_PARTIAL = 3,
    SR_EXTPROC_MODE_FULL_DUPLEX = 4,
    SR_EXTPROC_MODE_GRPC = 5,
};

/* A message of Envoy. */
struct sr_extproc_message {
    enum sr_extproc_phase phase;
    bool observability; /* Envoy does not wait for replies and accepts none */

    /* the first message of a stream */
    bool has_config;
    enum sr_extproc_mode request_mode, response_mode;
    bool no_wait; /* bodies arrive without waiting for the reply to the headers */

    /* headers: the pseudo headers separately, the others in order with lower-case names */
    struct sr_bytes method, path, status;
    const struct sr_header *headers;
    size_t n_headers;

    struct sr_bytes body;
    bool end_of_stream; /* end of headers or body */

    /* endpoint-picker protocol: the addresses to choose from, and with an answer the address that sent it */
    bool has_subset;
    const struct sr_bytes *subset;
    size_t n_subset;
    struct sr_bytes served;
};

enum sr_extproc_action {
    SR_EXTPROC_CONTINUE,  /* the reply to one message, with the changes below */
    SR_EXTPROC_IMMEDIATE, /* Envoy answers the client with `status`, `set` and `body`, and ends the stream */
    SR_EXTPROC_ANSWER,    /* FULL_DUPLEX, in place of the reply to the request's headers: Envoy answers the
                             client    with `status` and `set`, and then with pieces */
    SR_EXTPROC_ANSWER_PIECE, /* `body` is the next of them, `end_of_stream` says whether the last */
    SR_EXTPROC_EXTEND, /* more time for the message that waits: `extend_ms`; other members are ignored */
};

enum sr_extproc_change {
    SR_EXTPROC_KEEP,    /* forward the body unchanged */
    SR_EXTPROC_REPLACE, /* `body` replaces the message's bytes; empty drops them */
    SR_EXTPROC_PIECE,   /* FULL_DUPLEX: `body` is the next piece, `end_of_stream` says whether the last */
};

/* A reply to Envoy. Everything is borrowed for the call that takes it. */
struct sr_extproc_reply {
    enum sr_extproc_action action;
    enum sr_extproc_phase phase;
    const struct sr_header *set; /* replaces, or adds */
    size_t n_set;
    const struct sr_bytes *remove; /* removed before `set` */
    size_t n_remove;
    bool clear_route_cache;
    enum sr_extproc_change change;
    const struct sr_bytes *body;
    size_t n_body;
    bool end_of_stream;
    int status; /* status of an answer; mapped to one that Envoy knows */
    uint64_t extend_ms;
    struct sr_bytes endpoint; /* dynamic metadata of the endpoint-picker protocol; empty = none */
    bool override_modes;      /* mode_override: keeps the mode of the request's body, changes that of the
                                 response's */
    enum sr_extproc_mode request_mode, response_mode;
};

/* The header and metadata key of the endpoint-picker protocol. */
#define SR_EXTPROC_ENDPOINT_HEADER "x-gateway-destination-endpoint"

/* Reads one ProcessingRequest; everything in `out` lives in `arena` or in `bytes`. SR_EPARSE, SR_ENOMEM. */
int sr_extproc_decode(struct sr_extproc_message *out, struct sr_bytes bytes,
                      struct sr_arena *arena) SR_WARN_UNUSED;

/* Writes one ProcessingResponse into `arena`; `p` is NULL when there is no room. */
struct sr_bytes sr_extproc_encode(const struct sr_extproc_reply *reply, struct sr_arena *arena);

#endif

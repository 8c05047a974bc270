/*
 * The two doors of a process: limits and timeouts of the gateway and of ext_proc.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_DOORS_H
#define SR_CONFIG_PART_DOORS_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* global.semroute.gateway: the limits of the gateway door. Times in milliseconds, sizes in bytes. */
struct sr_config_gateway {
    size_t max_body_bytes;                    /* 32 MiB; over it 413 */
    uint32_t max_body_values;                 /* 262,144 values of interest; over it 413 */
    uint32_t max_body_strings;                /* 65,536; those after them are unread */
    size_t max_buffered_bytes;                /* 256 MiB, of all requests in progress; over it 503 */
    size_t max_header_bytes;                  /* 64 KiB; over it 431 */
    uint32_t max_connections;                 /* per process, 10,000; over it 503 */
    uint32_t max_connections_per_client;      /* 0: no limit; over it 503 */
    uint64_t header_timeout_ms;               /* 10,000: request head must be there; else 408 */
    uint64_t body_timeout_ms;                 /* 60,000: longest silence inside a body; else 408 */
    uint64_t request_timeout_ms;              /* 300,000: for a body in all; else 408 */
    uint64_t idle_timeout_ms;                 /* 75,000: keep-alive connection without a request */
    uint64_t drain_timeout_ms;                /* 30,000: after SIGTERM */
    const char *tls_cert_file, *tls_key_file; /* both or none */
    struct sr_strings cors_origins;           /* of pages that may call it; `*`: all; none: no page */
    struct {
        bool enabled;               /* true */
        uint32_t max_streams;       /* 100, of a connection */
        uint32_t resets_per_second; /* 100, of a connection, and ten times as many at once */
    } http2;
    struct {
        uint64_t connect_timeout_ms;  /* 5,000 */
        uint64_t response_timeout_ms; /* 600,000: until the response head */
        uint64_t idle_timeout_ms;     /* 600,000: longest silence inside a response body */
        uint64_t keepalive_ms;        /* 60,000: an unused pooled connection */
        uint32_t max_idle;            /* pooled connections a backend and loop, 64 */
        int retries;                  /* 1 */
        uint64_t back_off_ms;         /* 50: the longest wait before the same workers, doubled each time */
        uint64_t retry_after_ms;      /* 2,000: the longest Retry-After that is waited for */
        bool take_back; /* requests before their first byte, from workers that are slow or gone */
    } upstream;
};

/* global.semroute.extproc, and global.router's settings of Envoy's streams. */
struct sr_config_extproc {
    bool clear_route_cache;     /* true: Envoy chooses its route again after a verdict */
    bool streamed_body;         /* true: requests whose body comes in chunks are routed */
    size_t stream_max_bytes;    /* of a body that comes in chunks; 0: only the gateway's limit; over it 413 */
    int64_t stream_timeout_sec; /* 60: until a body that comes in chunks is complete; else 408; 0: none */
    const char *destination_header; /* gets the address of the model's backend; empty: none */
    uint64_t hold_ms;            /* 150: the reply to the headers waits that long where Envoy has a timer */
    size_t hold_bytes;           /* 768 KiB: or until that much of the body is there */
    size_t max_message_bytes;    /* 64 MiB */
    size_t max_passing_bytes;    /* of a body that passes through in chunks; over it 413; 0: none */
    uint32_t max_streams;        /* of the process, 20,000; over it 503, or 429 as an endpoint picker */
    uint32_t fallback_endpoints; /* 0: addresses besides the first that an endpoint picker names */
    bool streamed_replies;       /* false: this Envoy knows streamed_immediate_response */
    const char *tls_cert_file, *tls_key_file, *tls_client_ca_file;
};

#endif

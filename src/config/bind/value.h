/*
 * Values that are written as text: durations, sizes, numbers of tokens, host and port, URLs, header names.
 * Pure; each returns false when the text is none, and then leaves `*out` alone.
 */
#ifndef SR_CONFIG_BIND_VALUE_H
#define SR_CONFIG_BIND_VALUE_H

#include "base/bytes.h"

#include <stdint.h>

/* "500ms", "30s", "1m30s", "2h"; "0" too. At most 1000 days. */
bool sr_value_duration(struct sr_bytes s, uint64_t *ms);

/* "4096", "64KiB", "32MB", "1.5GiB" (K, M, G alone mean KiB, MiB, GiB). */
bool sr_value_size(struct sr_bytes s, uint64_t *bytes);

/* "4096", "4K" (4,000), "1.5M" (1,500,000). */
bool sr_value_tokens(struct sr_bytes s, uint64_t *tokens);

/* An address on the network. Borrowed from the text; `host` without brackets. */
struct sr_value_endpoint {
    struct sr_bytes scheme; /* URLs only: "http" or "https" */
    struct sr_bytes host;
    int port;
    struct sr_bytes path; /* URLs only: without a trailing slash; empty for "/" */
};

/* "host:port", "10.0.0.1:8000", "[::1]:8000". */
bool sr_value_endpoint(struct sr_bytes s, struct sr_value_endpoint *out);

/* "http://host", "https://host:8443/path/"; no user, query or fragment. */
bool sr_value_url(struct sr_bytes s, struct sr_value_endpoint *out);

/* The path of a URL, without a query: no spaces, controls, quotes, `?`, `#`, `<` or `>`. */
bool sr_value_is_path(struct sr_bytes path);

/* A header name (RFC 9110 token), and a header value without control characters. */
bool sr_value_is_header_name(struct sr_bytes s);
bool sr_value_is_header_value(struct sr_bytes s);

/* Headers that frame a message or belong to one connection: not to be set by hand. */
bool sr_value_is_framing_header(struct sr_bytes s);

#endif

/*
 * Private to net/http1: the bytes that RFC 9110 (5.5 and 5.6) allows in each part of a head.
 */
#ifndef SR_NET_HTTP1_CHARS_H
#define SR_NET_HTTP1_CHARS_H

#include "base/bytes.h"

static inline bool sr_http1_is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* tchar */
static inline bool sr_http1_is_token(unsigned char c)
{
    unsigned char lower = c | 0x20;
    return (lower >= 'a' && lower <= 'z') || sr_http1_is_digit(c) || c == '-' || c == '_' ||
           (c && c < 0x80 && strchr("!#$%&'*+.^`|~", c) != NULL);
}

/* Allowed in a field value: VCHAR, obs-text, space and tab. */
static inline bool sr_http1_is_value(unsigned char c)
{
    return (c >= ' ' && c != 0x7f) || c == '\t';
}

/* Splits a comma-separated list: false at its end; empty elements are skipped. */
static inline bool sr_http1_list_next(struct sr_bytes *rest, struct sr_bytes *token)
{
    while (rest->n) {
        const char *comma = memchr(rest->p, ',', rest->n);
        size_t n = comma ? (size_t)(comma - rest->p) : rest->n;
        *token = sr_bytes_trim(sr_bytes_of(rest->p, n));
        n += comma ? 1 : 0;
        *rest = sr_bytes_of(rest->p + n, rest->n - n);
        if (token->n)
            return true;
    }
    return false;
}

#endif

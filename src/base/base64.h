/*
 * Base64 of RFC 4648: a digit of either alphabet, and whole texts of the standard one, strictly.
 *
 * Does not look for base64 in texts: what only looks like it is text/disguise/'s and router/request/'s.
 */
#ifndef SR_BASE_BASE64_H
#define SR_BASE_BASE64_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* 0 to 63, also of `-` and `_`, which URLs have for `+` and `/`; -1 for other characters. */
static inline int sr_base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Writes SR_BASE64_SIZE(n) characters and a NUL. */
void sr_base64_write(const uint8_t *p, size_t n, char *out);

/* Writes at most text.n / 4 * 3 bytes; `out` may be the text itself. SR_EPARSE: anything but whole, padded
 * base64 of the standard alphabet. */
int sr_base64_read(struct sr_bytes text, uint8_t *out, size_t *n) SR_WARN_UNUSED;

#endif

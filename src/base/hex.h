/*
 * Bytes as hexadecimal digits, two each.
 *
 * Knows no escapes: what stands before the digits (`%`, `\u`, `0x`) is its reader's.
 */
#ifndef SR_BASE_HEX_H
#define SR_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a digit of either case; -1 for other characters. */
static inline int sr_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes 2 * n lower-case digits and a NUL. */
void sr_hex_write(const uint8_t *bytes, size_t n, char *out);

/* Reads `n` bytes from 2 * n lower-case digits. False: there are others among them. */
bool sr_hex_read(const char *digits, size_t n, uint8_t *out);

#endif

/* Characters as UTF-8 and escape sequences as numbers; inside the json layer only. */
#ifndef SR_JSON_ESCAPE_H
#define SR_JSON_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

/* The value of a hexadecimal digit, -1 for other bytes. */
static inline int sr_hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What the letter of a two-byte escape stands for, 0 for no such escape (`u` included). */
static inline char sr_escape_value(uint8_t c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return (char)c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

/* Writes a character (below 0x110000) as one to four bytes and returns how many. */
static inline size_t sr_utf8_put(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

static inline int sr_is_high_surrogate(uint32_t c)
{
    return c >= 0xD800 && c < 0xDC00;
}

static inline int sr_is_low_surrogate(uint32_t c)
{
    return c >= 0xDC00 && c < 0xE000;
}

static inline uint32_t sr_surrogate_pair(uint32_t high, uint32_t low)
{
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

#endif

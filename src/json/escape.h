/* Escape sequences as numbers; inside the json layer only. */
#ifndef SR_JSON_ESCAPE_H
#define SR_JSON_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

/* The character that the letter of a two-byte escape means; 0 for a letter without such an escape (also
 * `u`). */
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

#include "base/hex.h"

void sr_hex_write(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'F';
}

bool sr_hex_read(const char *digits, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        char first = digits[2 * i], second = digits[2 * i + 1];
        int high = sr_hex_digit(first), low = sr_hex_digit(second);
        if (high < 0 || low < 0 || is_upper(first) || is_upper(second))
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

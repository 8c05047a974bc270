#include "base/base64.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void sr_base64_write(const uint8_t *p, size_t n, char *out)
{
    for (; n >= 3; n -= 3, p += 3) {
        *out++ = DIGITS[p[0] >> 2];
        *out++ = DIGITS[(p[0] & 3) << 4 | p[1] >> 4];
        *out++ = DIGITS[(p[1] & 15) << 2 | p[2] >> 6];
        *out++ = DIGITS[p[2] & 63];
    }
    if (n) {
        unsigned second = n == 2 ? p[1] : 0u;
        *out++ = DIGITS[p[0] >> 2];
        *out++ = DIGITS[(p[0] & 3u) << 4 | second >> 4];
        *out++ = n == 2 ? DIGITS[(second & 15) << 2] : '=';
        *out++ = '=';
    }
    *out = '\0';
}

int sr_base64_read(struct sr_bytes text, uint8_t *out, size_t *n)
{
    size_t digits = text.n, bits = 0;
    uint32_t kept = 0;
    *n = 0;
    if (text.n % 4)
        return SR_EPARSE;
    for (int i = 0; i < 2 && digits && text.p[digits - 1] == '='; i++)
        digits--;
    for (size_t i = 0; i < digits; i++) {
        int value = sr_base64_digit(text.p[i]);
        if (value < 0 || text.p[i] == '-' || text.p[i] == '_')
            return SR_EPARSE;
        kept = kept << 6 | (uint32_t)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[(*n)++] = (uint8_t)(kept >> bits);
        }
    }
    return kept & ((1u << bits) - 1) ? SR_EPARSE : SR_OK;
}

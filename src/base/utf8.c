/* A decoder without utf8proc: it is faster, and an invalid byte advances by one byte. */
#include "base/utf8.h"

size_t sr_utf8_decode(struct sr_bytes s, size_t at, int32_t *cp)
{
    const unsigned char *p = (const unsigned char *)s.p + at;
    switch (sr_utf8_sequence(p, s.n - at)) {
    case 1:
        *cp = p[0];
        return 1;
    case 2:
        *cp = (p[0] & 0x1F) << 6 | (p[1] & 0x3F);
        return 2;
    case 3:
        *cp = (p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        return 3;
    case 4:
        *cp = (p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F);
        return 4;
    default:
        *cp = SR_UTF8_REPLACEMENT;
        return 1;
    }
}

size_t sr_utf8_decode_before(struct sr_bytes s, size_t at, int32_t *cp)
{
    for (size_t back = 1; back <= SR_UTF8_MAX && back <= at; back++) {
        if (((unsigned char)s.p[at - back] & 0xC0) == 0x80)
            continue;
        if (sr_utf8_decode(sr_bytes_of(s.p, at), at - back, cp) == back)
            return back;
        break;
    }
    *cp = SR_UTF8_REPLACEMENT;
    return 1;
}

size_t sr_utf8_unit(const char *s, size_t n, bool *valid)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t length = sr_utf8_sequence(p, n);
    *valid = length != 0;
    if (length)
        return length;
    unsigned char c = p[0];
    size_t need = c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (need == 0)
        return 1;
    unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    size_t i = 1;
    for (; i < need && i < n; i++, low = 0x80, high = 0xBF)
        if (p[i] < low || p[i] > high)
            break;
    return i;
}

/* True when one of the eight bytes at `p` is no ASCII. */
static bool eight_have_other(const char *p)
{
    uint64_t eight;
    memcpy(&eight, p, 8);
    return eight & UINT64_C(0x8080808080808080);
}

size_t sr_utf8_ascii_prefix(struct sr_bytes s)
{
    size_t i = 0;
    while (i + 8 <= s.n && !eight_have_other(s.p + i))
        i += 8;
    if (i > 0 && i + 8 > s.n && !eight_have_other(s.p + s.n - 8)) /* the rest, with some before it again */
        return s.n;
    while (i < s.n && (unsigned char)s.p[i] < 0x80)
        i++;
    return i;
}

bool sr_utf8_valid(struct sr_bytes s)
{
    for (size_t i = 0; i < s.n;) {
        i += sr_utf8_ascii_prefix(sr_bytes_of(s.p + i, s.n - i));
        if (i == s.n)
            break;
        size_t length = sr_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

void sr_utf8_clean(struct sr_bytes s, char *out)
{
    if (s.n)
        memcpy(out, s.p, s.n);
    for (size_t i = 0; i < s.n;) {
        i += sr_utf8_ascii_prefix(sr_bytes_of(s.p + i, s.n - i));
        if (i == s.n)
            break;
        size_t length = sr_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
        if (length == 0)
            out[i] = '?';
        i += length ? length : 1;
    }
}

/* Decodes string content that the scanner has accepted. */
#include "base/hex.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "json/scan.h"

/* The four digits at `p`, or a value that is not a surrogate when fewer are left. */
static uint32_t hex4(const char *p, const char *end)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = p + i < end ? sr_hex_digit((char)p[i]) : -1;
        if (digit < 0)
            return 0xFFFD;
        value = value << 4 | (uint32_t)digit;
    }
    return value;
}

/* Decodes the `\u` escape at `p` (after the `u`); returns the byte after it. */
static const char *unescape_unicode(const char *p, const char *end, char **out)
{
    uint32_t c = hex4(p, end);
    p += 4;
    if (sr_is_high_surrogate(c) && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        uint32_t low = hex4(p + 2, end);
        if (sr_is_low_surrogate(low)) {
            c = sr_surrogate_pair(c, low);
            p += 6;
        }
    }
    if (sr_is_high_surrogate(c) || sr_is_low_surrogate(c))
        c = 0xFFFD;
    *out += sr_utf8_encode((int32_t)c, *out);
    return p;
}

/* True when all bytes of the escape at `slash` have arrived. A high surrogate may have a partner. */
static bool escape_is_whole(const char *slash, const char *end)
{
    if (end - slash < 2)
        return false;
    if (slash[1] != 'u')
        return true;
    return end - slash >= 12 || (end - slash >= 6 && !sr_is_high_surrogate(hex4(slash + 2, end)));
}

/* Decodes up to the first escape that may be incomplete, or everything when `last`; returns where it
 * stopped. */
static const char *unescape(const char *p, const char *end, bool last, char **out)
{
    const char *slash;
    while ((slash = memchr(p, '\\', (size_t)(end - p)))) {
        memcpy(*out, p, (size_t)(slash - p));
        *out += slash - p;
        p = slash;
        if (last && end - slash < 2)
            break;
        if (!last && !escape_is_whole(slash, end))
            return p;
        p += 2;
        if (slash[1] == 'u' && end - p >= 4)
            p = unescape_unicode(p, end, out);
        else
            *(*out)++ = sr_escape_value((uint8_t)slash[1]);
    }
    memcpy(*out, p, (size_t)(end - p));
    *out += end - p;
    return end;
}

size_t sr_json_unescape_part(struct sr_bytes inside, bool last, char *out, size_t *n)
{
    char *at = out;
    const char *stop = unescape(inside.p, inside.p + inside.n, last, &at);
    *n = (size_t)(at - out);
    return (size_t)(stop - inside.p);
}

struct sr_bytes sr_json_unescape(struct sr_bytes inside, struct sr_arena *arena)
{
    if (inside.n == 0 || !memchr(inside.p, '\\', inside.n))
        return inside;
    char *start = sr_arena_alloc(arena, inside.n); /* an escape is longer than its decoded bytes */
    char *out = start;
    if (!start)
        return (struct sr_bytes){NULL, 0};
    unescape(inside.p, inside.p + inside.n, true, &out);
    sr_arena_trim(arena, start, inside.n, (size_t)(out - start));
    return (struct sr_bytes){start, (size_t)(out - start)};
}

struct sr_bytes sr_span_text(const struct sr_span *span, struct sr_bytes body, struct sr_arena *arena)
{
    if (span->kind != SR_JSON_STRING || span->end < span->start + 2)
        return (struct sr_bytes){"", 0};
    struct sr_bytes inside = {body.p + span->start + 1, span->end - span->start - 2};
    return span->flags & SR_SPAN_ESCAPED ? sr_json_unescape(inside, arena) : inside;
}

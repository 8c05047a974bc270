/* Outside of strings a quote begins one; the kernel of the scanner finds its end. */
#include "json/strings.h"

#include "json/simd.h"

void sr_json_strings_init(struct sr_json_strings *strings, struct sr_bytes body, size_t start, size_t end)
{
    *strings = (struct sr_json_strings){.body = body, .at = start, .end = end};
}

/* Notes a digit in what lies between two strings; after the first one it looks for no other. */
static void look_for_digit(struct sr_json_strings *strings, const char *p, const char *end)
{
    for (; p < end && !strings->numbers; p++)
        strings->numbers = *p >= '0' && *p <= '9';
}

/* The closing quote of the string whose content begins at `p`; `end` when the bytes end before. */
static const char *closing(const char *p, const char *end, bool *escaped)
{
    sr_simd_skip_fn *skip = sr_simd_skip();
    while (p < end) {
        p = (const char *)skip((const uint8_t *)p, (const uint8_t *)end, escaped);
        if (p == end || *p == '"')
            return p;
        *escaped |= *p == '\\';
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    }
    return end;
}

bool sr_json_strings_next(struct sr_json_strings *strings, struct sr_json_string *out)
{
    const char *base = strings->body.p, *end = base + strings->end, *from = base + strings->at;
    const char *quote = from < end ? memchr(from, '"', (size_t)(end - from)) : NULL;
    if (strings->find_numbers)
        look_for_digit(strings, from, quote ? quote : end);
    if (!quote) {
        strings->at = strings->end;
        return false;
    }
    *out = (struct sr_json_string){.start = (size_t)(quote + 1 - base)};
    const char *close = closing(quote + 1, end, &out->escaped);
    out->end = (size_t)(close - base);
    const char *next = close < end ? close + 1 : end;
    while (next < end && (*next == ' ' || *next == '\n' || *next == '\r' || *next == '\t'))
        next++;
    out->key = next < end && *next == ':';
    strings->at = (size_t)(next - base);
    return true;
}

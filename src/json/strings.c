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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool sr_json_is_long(struct sr_bytes number)
{
    if (number.n < SR_JSON_LONG_MIN || number.n > SR_JSON_LONG_MAX)
        return false;
    for (size_t i = 0; i < number.n; i++)
        if (!is_digit(number.p[i]))
            return false;
    return true;
}

/* The first long integer in what lies between two strings. One of every SR_JSON_LONG_MIN bytes of it is
 * looked at, unless that is a digit. */
static bool find_long(const char *begin, const char *end, const char **start, const char **stop)
{
    for (const char *p = begin; end - p >= SR_JSON_LONG_MIN;) {
        const char *from = p + SR_JSON_LONG_MIN - 1, *to = from;
        if (!is_digit(*from)) {
            p += SR_JSON_LONG_MIN;
            continue;
        }
        while (from > p && is_digit(from[-1]))
            from--;
        while (to < end && is_digit(*to))
            to++;
        bool part = (from > begin && strchr("-.+eE", from[-1])) || (to < end && strchr(".eE", *to));
        if (!part && sr_json_is_long(sr_bytes_of(from, (size_t)(to - from)))) {
            *start = from;
            *stop = to;
            return true;
        }
        p = to;
    }
    return false;
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
    const char *start, *stop;
    if (strings->find_long && find_long(from, quote ? quote : end, &start, &stop)) {
        *out = (struct sr_json_string){
            .start = (size_t)(start - base), .end = (size_t)(stop - base), .number = true};
        strings->at = out->end;
        return true;
    }
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

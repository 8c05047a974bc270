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

/* Reads an exponent with its e; false where the number does not end with it. */
static bool read_exponent(struct sr_bytes number, size_t at, long *exponent)
{
    *exponent = 0;
    if (at == number.n)
        return true;
    if (number.p[at] != 'e' && number.p[at] != 'E')
        return false;
    at++;
    bool down = at < number.n && number.p[at] == '-';
    at += down || (at < number.n && number.p[at] == '+');
    for (; at < number.n && is_digit(number.p[at]); at++)
        *exponent = *exponent < 1000 ? *exponent * 10 + (number.p[at] - '0') : *exponent;
    *exponent = down ? -*exponent : *exponent;
    return at == number.n;
}

size_t sr_json_long_digits(struct sr_bytes number, char out[SR_JSON_LONG_MAX])
{
    size_t at = number.n && number.p[0] == '-', n = 0;
    long shift = 0, exponent;
    for (bool point = false; at < number.n; at++) {
        char c = number.p[at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c))
            break;
        shift -= point;
        if (n == 0 && c == '0')
            continue;
        if (n < SR_JSON_LONG_MAX)
            out[n] = c;
        else if (c != '0')
            return 0;
        n++;
    }
    if (!read_exponent(number, at, &exponent))
        return 0;
    shift += exponent;
    for (; shift < 0 && n > 0 && (n > SR_JSON_LONG_MAX || out[n - 1] == '0'); shift++)
        n--;
    for (; shift > 0 && n > 0 && n < SR_JSON_LONG_MAX; shift--)
        out[n++] = '0';
    return shift == 0 && n >= SR_JSON_LONG_MIN && n <= SR_JSON_LONG_MAX ? n : 0;
}

static bool is_of_number(char c)
{
    return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/* The first long number in what lies between two strings. One of every SR_JSON_LONG_MIN bytes of it is looked
 * at, unless that is a part of a number. */
static bool find_long(const char *begin, const char *end, const char **start, const char **stop)
{
    char digits[SR_JSON_LONG_MAX];
    for (const char *p = begin; end - p >= SR_JSON_LONG_MIN;) {
        const char *from = p + SR_JSON_LONG_MIN - 1, *to = from;
        if (!is_of_number(*from)) {
            p += SR_JSON_LONG_MIN;
            continue;
        }
        while (from > p && is_of_number(from[-1]))
            from--;
        while (to < end && is_of_number(*to))
            to++;
        if (sr_json_long_digits(sr_bytes_of(from, (size_t)(to - from)), digits)) {
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

/*
 * Regular expressions of one class of characters, which normalizers replace: spaces as SentencePiece's
 * converters write them, and what guards remove so that a text cannot be torn apart. Others are refused when
 * the file is opened.
 */
#include "model/tokenizer/private.h"

#define LEAST_MAX 1000u

/* One character of the class at p[*at]: a plain one or an escape. */
static bool read_member(struct sr_bytes p, size_t *at, bool inside, struct sr_tok_class *out)
{
    static const char special[] = "\\.^$|?*+()[]{}", escapes[] = "nrtf", meant[] = "\n\r\t\f";
    int32_t point;
    *at += sr_utf8_decode_valid(p.p + *at, &point);
    if (point == '\\') {
        if (*at == p.n)
            return false;
        char c = p.p[(*at)++];
        const char *escape = memchr(escapes, c, sizeof escapes - 1);
        if (c == 's')
            return out->space = true;
        if (!escape && !memchr(special, c, sizeof special - 1) && c != '-' && c != ' ')
            return false;
        point = escape ? meant[escape - escapes] : c;
    } else if (inside ? point == '[' || point == '^' || point == '-' || point == '&'
                      : point < 0x80 && memchr(special, (int)point, sizeof special - 1)) {
        return false;
    }
    if (out->n == sizeof out->points / sizeof *out->points)
        return false;
    out->points[out->n++] = point;
    return true;
}

/* Behind the class: nothing, + or {n,}. */
static bool read_count(struct sr_bytes p, size_t at, struct sr_tok_class *out)
{
    out->least = 1;
    if (at == p.n)
        return true;
    out->more = true;
    if (p.p[at] == '+')
        return at + 1 == p.n;
    if (p.p[at++] != '{')
        return false;
    out->least = 0;
    for (; at < p.n && p.p[at] >= '0' && p.p[at] <= '9' && out->least <= LEAST_MAX; at++)
        out->least = out->least * 10 + (size_t)(p.p[at] - '0');
    return out->least >= 1 && out->least <= LEAST_MAX && p.n - at == 2 && p.p[at] == ',' &&
           p.p[at + 1] == '}';
}

static bool read_pattern(struct sr_bytes pattern, struct sr_tok_class *out)
{
    size_t at = 0;
    if (pattern.n == 0)
        return false;
    if (pattern.p[0] != '[')
        return read_member(pattern, &at, false, out) && read_count(pattern, at, out);
    for (at = 1; at < pattern.n && pattern.p[at] != ']';)
        if (!read_member(pattern, &at, true, out))
            return false;
    return at > 1 && at < pattern.n && read_count(pattern, at + 1, out);
}

bool sr_tok_class_read(struct sr_bytes pattern, struct sr_tok_class *out)
{
    *out = (struct sr_tok_class){.on = true};
    if (!read_pattern(pattern, out))
        return false;
    if (!out->space && out->n == 1 && out->points[0] < 0x80 && out->least <= sizeof out->needle) {
        memset(out->needle, (int)out->points[0], out->least);
        out->n_needle = out->least;
    }
    return true;
}

/* The length of the character at p when it is one of the class, else 0. */
static size_t member(const struct sr_tok_class *class, const char *p, size_t *length)
{
    int32_t point = (unsigned char)*p;
    *length = point < 0x80 ? 1 : sr_utf8_decode_valid(p, &point);
    if (class->space && sr_chars_flags(point) & SR_CHARS_SPACE)
        return *length;
    for (size_t i = 0; i < class->n; i++)
        if (class->points[i] == point)
            return *length;
    return 0;
}

bool sr_tok_class_find(const struct sr_tok_class *class, const char *p, size_t n, size_t *at, size_t *end)
{
    size_t length, i = *at;
    if (class->n_needle) {
        const char *hit = sr_tok_search(p + i, n - i, sr_bytes_of(class->needle, class->n_needle));
        if (!hit)
            return false;
        i = (size_t)(hit - p);
    }
    while (i < n) {
        size_t count = 0, to = i;
        while (to < n && (class->more || count < class->least) && member(class, p + to, &length)) {
            to += length;
            count++;
        }
        if (count >= class->least)
            return *at = i, *end = to, true;
        if (!count)
            (void)member(class, p + i, &length);
        i = count ? to : i + length;
    }
    return false;
}

/*
 * Recognises numbers, dates and identifiers by their form. Knows no language: of a number with one separator
 * it gives both readings.
 */
#include "cache/gate/scan.h"

#include "text/ascii.h"

#define CODE_MAX 256 /* bytes of an identifier; what follows is another one */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* ---- numbers ---- */

/* The value of s with `decimal` as decimal separator and the other one as separator of thousands. */
static double read_as(struct sr_bytes s, char decimal, unsigned *digits)
{
    double value = 0, scale = 1;
    bool behind = false;
    *digits = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (is_digit(s.p[i]) && behind) {
            scale /= 10;
            value += scale * (s.p[i] - '0');
            *digits += *digits < 15;
        } else if (is_digit(s.p[i])) {
            value = value * 10 + (s.p[i] - '0');
        } else if (s.p[i] == decimal) {
            behind = true;
        }
    }
    return value;
}

/* The end of digits with separators between them. */
static size_t number_end(struct sr_bytes text, size_t at)
{
    while (at < text.n && (is_digit(text.p[at]) || ((text.p[at] == '.' || text.p[at] == ',') &&
                                                    at + 1 < text.n && is_digit(text.p[at + 1]))))
        at++;
    return at;
}

/* Several separators of one kind stand before groups of three: 10.0.0.1 is no number. */
static bool is_grouped(struct sr_bytes s)
{
    size_t marks = 0;
    bool threes = true, mixed = false;
    char mark = 0;
    for (size_t i = 0; i < s.n; i++) {
        size_t n = 0;
        if (is_digit(s.p[i]))
            continue;
        while (i + n + 1 < s.n && is_digit(s.p[i + n + 1]))
            n++;
        threes = threes && n == 3;
        mixed = mixed || (mark && s.p[i] != mark);
        mark = s.p[i];
        marks++;
    }
    return marks < 2 || mixed || threes;
}

static void read_number(struct sr_bytes s, struct sr_gate_scanned *out)
{
    size_t dots = 0, commas = 0, last = 0;
    char mark = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (is_digit(s.p[i]))
            continue;
        dots += s.p[i] == '.';
        commas += s.p[i] == ',';
        mark = s.p[i];
        last = i;
    }
    if (dots && commas) { /* the last one is the decimal separator */
        out->number = out->other = read_as(s, mark, &out->digits);
    } else if (dots + commas > 1) { /* thousands */
        out->number = out->other = read_as(s, '\0', &out->digits);
    } else if (dots + commas == 1 && s.n - last - 1 == 3 && last <= 3 && s.p[0] != '0') {
        out->number = read_as(s, mark == '.' ? '.' : '\0', &out->digits); /* as in English */
        out->other = read_as(s, mark == ',' ? ',' : '\0', &out->digits);
        out->digits = 0;
    } else {
        out->number = out->other = read_as(s, mark, &out->digits);
    }
}

static bool date_of(int y, int m, int d, struct sr_gate_scanned *out)
{
    out->y = y;
    out->m = m;
    out->d = d;
    return m >= 1 && m <= 12 && d >= 1 && d <= 31;
}

/* 2023-04-01, 2023/04/01, 01.04.2023, and 13/4/2023 where the day cannot be a month. */
static bool read_date(struct sr_bytes text, size_t at, struct sr_gate_scanned *out)
{
    int part[3] = {0, 0, 0};
    size_t width[3] = {0, 0, 0};
    char mark = 0;
    for (int k = 0; k < 3; k++) {
        while (at < text.n && is_digit(text.p[at]) && width[k] < 5) {
            part[k] = part[k] * 10 + (text.p[at++] - '0');
            width[k]++;
        }
        if (width[k] == 0 || k == 2)
            break;
        if (at >= text.n ||
            (k ? text.p[at] != mark : text.p[at] != '-' && text.p[at] != '.' && text.p[at] != '/'))
            return false;
        mark = text.p[at++];
    }
    out->end = at;
    if (width[2] == 0 || (at < text.n && (sr_ascii_is_word((unsigned char)text.p[at]))))
        return false;
    if (width[0] == 4 && width[1] <= 2 && width[2] <= 2)
        return date_of(part[0], part[1], part[2], out);
    if (width[2] != 4 || width[0] > 2 || width[1] > 2)
        return false;
    if (mark == '/' && part[0] <= 12 && part[1] <= 12 && part[0] != part[1])
        return false; /* it depends on the country */
    if (mark == '/' && part[1] > 12)
        return date_of(part[2], part[0], part[1], out);
    return date_of(part[2], part[1], part[0], out);
}

/* ---- identifiers ---- */

static bool belongs(char c)
{
    return sr_ascii_is_word((unsigned char)c) || (c && strchr("./:\\@#+-%~=&?", c) != NULL);
}

struct form {
    size_t digits, letters, upper, slashes, dots, colons, marks;
};

static struct form form_of(struct sr_bytes s)
{
    struct form f = {0};
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        f.digits += is_digit(c);
        f.letters += is_letter(c);
        f.upper += is_upper(c);
        f.slashes += c == '/' || c == '\\';
        f.dots += c == '.';
        f.colons += c == ':';
        f.marks += c == '_' || c == '@' || c == '#' || c == '=' || c == '~' || c == '&';
    }
    return f;
}

/* "example.com", "main.c": not "end.Next sentence", not "e.g". */
static bool is_dotted(struct sr_bytes s)
{
    size_t dot = s.n;
    while (dot > 0 && s.p[dot - 1] != '.')
        dot--;
    if (dot < 2 || s.n - dot > 6 || s.n == dot)
        return false;
    for (size_t i = dot; i < s.n; i++)
        if (!sr_ascii_is_word((unsigned char)s.p[i]) || is_upper(s.p[i]))
            return false;
    return dot > 2;
}

static bool is_code(struct sr_bytes s, struct form f)
{
    if (f.letters == 0)
        return f.digits && (f.dots || f.slashes || f.colons || f.marks);
    if (f.marks || (f.digits && is_letter(s.p[0])) || s.p[0] == '/' || f.slashes > 1)
        return true;
    if (s.n > 2 && memcmp(s.p + s.n - 2, "++", 2) == 0)
        return true;
    return (f.colons && (f.colons > 1 || f.digits)) || (f.slashes && f.dots) || (f.dots && is_dotted(s)) ||
           (f.digits && is_digit(s.p[0]));
}

/* The run of characters that can be an identifier, without punctuation at its end. */
static struct sr_bytes chunk_at(struct sr_bytes text, size_t at)
{
    size_t end = at;
    while (end < text.n && end - at < CODE_MAX && belongs(text.p[end]))
        end++;
    while (end > at && strchr(".:?=-&~%", text.p[end - 1]))
        end--;
    return sr_bytes_of(text.p + at, end - at);
}

/* Letters behind a number are its unit or its ordinal, and are words of their own; more than letters is code.
 */
static bool ends_plainly(struct sr_bytes chunk, size_t n)
{
    if (n == chunk.n || chunk.p[n] == '%' || chunk.p[n] == '-')
        return chunk.n < n + 2 || chunk.p[n] != '-' || is_letter(chunk.p[n + 1]);
    for (size_t i = n; i < chunk.n; i++)
        if (!is_letter(chunk.p[i]))
            return chunk.p[i] == '.' || chunk.p[i] == '/' || chunk.p[i] == '-';
    return true;
}

enum sr_gate_scan sr_gate_scan(struct sr_bytes text, size_t at, struct sr_gate_scanned *out)
{
    struct sr_bytes chunk = chunk_at(text, at);
    out->end = at;
    if (chunk.n == 0)
        return SR_GATE_SCAN_WORD;
    if (is_digit(chunk.p[0])) {
        if (read_date(text, at, out))
            return SR_GATE_SCAN_DATE;
        size_t end = number_end(text, at), n = end - at;
        struct sr_bytes digits = sr_bytes_of(text.p + at, n);
        if (is_grouped(digits) && (n >= chunk.n || ends_plainly(chunk, n))) {
            read_number(digits, out);
            out->end = end;
            return SR_GATE_SCAN_NUMBER;
        }
    }
    if (!is_code(chunk, form_of(chunk)))
        return SR_GATE_SCAN_WORD;
    out->end = at + chunk.n;
    return SR_GATE_SCAN_CODE;
}

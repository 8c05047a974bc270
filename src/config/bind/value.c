/* Durations, sizes, endpoints and header names as users write them. Allocates nothing. */
#include "config/bind/value.h"

#include <math.h>
#include <stdlib.h>

struct unit {
    struct sr_bytes suffix;
    double factor;
};

/* A decimal number at the start of `s`, at most 18 characters; the rest stays in `s`. */
static bool take_number(struct sr_bytes *s, double *out)
{
    char text[20];
    size_t n = 0;
    bool dot = false, digit = false;
    for (; n < s->n && n < sizeof text - 1; n++) {
        char c = s->p[n];
        if (c == '.' ? dot : c < '0' || c > '9')
            break;
        dot = dot || c == '.';
        digit = digit || c != '.';
        text[n] = c;
    }
    text[n] = 0;
    if (!digit)
        return false;
    *out = strtod(text, NULL);
    s->p += n;
    s->n -= n;
    return true;
}

/* The unit that `s` starts with; longer suffixes come first. */
static bool take_unit(struct sr_bytes *s, const struct unit *units, size_t n_units, double *factor)
{
    for (size_t i = 0; i < n_units; i++) {
        if (!sr_bytes_starts_with(*s, units[i].suffix))
            continue;
        *factor = units[i].factor;
        s->p += units[i].suffix.n;
        s->n -= units[i].suffix.n;
        return true;
    }
    return false;
}

bool sr_value_duration(struct sr_bytes s, uint64_t *ms)
{
    static const struct unit units[] = {
        {{"ms", 2}, 1}, {{"s", 1}, 1e3}, {{"m", 1}, 60e3}, {{"h", 1}, 3600e3}};
    double sum = 0, number, factor;
    if (sr_bytes_eq(s, SR_LIT("0"))) {
        *ms = 0;
        return true;
    }
    if (s.n == 0)
        return false;
    while (s.n) {
        if (!take_number(&s, &number) || !take_unit(&s, units, 4, &factor))
            return false;
        sum += number * factor;
    }
    if (sum > 1000.0 * 24 * 3600e3)
        return false;
    *ms = (uint64_t)llround(sum);
    return true;
}

static bool scaled(struct sr_bytes s, const struct unit *units, size_t n_units, uint64_t *out)
{
    double number, factor = 1;
    if (!take_number(&s, &number) || (s.n && !take_unit(&s, units, n_units, &factor)) || s.n)
        return false;
    number *= factor;
    if (number > 1e15)
        return false;
    *out = (uint64_t)llround(number);
    return true;
}

bool sr_value_size(struct sr_bytes s, uint64_t *bytes)
{
    static const struct unit units[] = {{{"KiB", 3}, 0x1p10}, {{"MiB", 3}, 0x1p20}, {{"GiB", 3}, 0x1p30},
                                        {{"KB", 2}, 1e3},     {{"kB", 2}, 1e3},     {{"MB", 2}, 1e6},
                                        {{"GB", 2}, 1e9},     {{"K", 1}, 0x1p10},   {{"M", 1}, 0x1p20},
                                        {{"G", 1}, 0x1p30}};
    return scaled(s, units, sizeof units / sizeof *units, bytes);
}

bool sr_value_tokens(struct sr_bytes s, uint64_t *tokens)
{
    static const struct unit units[] = {{{"K", 1}, 1e3}, {{"k", 1}, 1e3}, {{"M", 1}, 1e6}, {{"m", 1}, 1e6}};
    return scaled(s, units, sizeof units / sizeof *units, tokens);
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c) != NULL;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (sr_ascii_lower(c) >= 'a' && sr_ascii_lower(c) <= 'z');
}

static bool host_ok(struct sr_bytes host, bool bracketed)
{
    if (host.n == 0 || host.n > 253)
        return false;
    bool colon = false;
    for (size_t i = 0; i < host.n; i++) {
        colon = colon || host.p[i] == ':';
        if (!is_alnum(host.p[i]) && !is_one_of(host.p[i], bracketed ? ":.%" : "-._"))
            return false;
    }
    return colon == bracketed;
}

static bool port_ok(struct sr_bytes s, int *port)
{
    unsigned long long value;
    if (s.n > 5 || !sr_bytes_to_u64(s, &value) || value < 1 || value > 65535)
        return false;
    *port = (int)value;
    return true;
}

/* host, host:port or [v6]:port; `port` stays when the text has none. */
static bool authority(struct sr_bytes s, struct sr_bytes *host, int *port)
{
    bool bracketed = s.n && s.p[0] == '[';
    const char *end = bracketed ? memchr(s.p, ']', s.n) : memchr(s.p, ':', s.n);
    if (bracketed && !end)
        return false;
    size_t n = end ? (size_t)(end - s.p) : s.n;
    *host = bracketed ? sr_bytes_of(s.p + 1, n - 1) : sr_bytes_of(s.p, n);
    struct sr_bytes rest = {s.p + n + bracketed, s.n - n - bracketed};
    if (!host_ok(*host, bracketed))
        return false;
    return rest.n == 0 || (rest.p[0] == ':' && port_ok(sr_bytes_of(rest.p + 1, rest.n - 1), port));
}

bool sr_value_endpoint(struct sr_bytes s, struct sr_value_endpoint *out)
{
    struct sr_value_endpoint e = {.port = 0};
    if (!authority(s, &e.host, &e.port) || e.port == 0)
        return false;
    *out = e;
    return true;
}

bool sr_value_is_path(struct sr_bytes path)
{
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] <= ' ' || path.p[i] == 0x7F || is_one_of(path.p[i], "?#\\\"<>"))
            return false;
    return true;
}

bool sr_value_url(struct sr_bytes s, struct sr_value_endpoint *out)
{
    struct sr_value_endpoint e = {.port = 80};
    if (sr_bytes_starts_with(s, SR_LIT("http://"))) {
        e.scheme = sr_bytes_of(s.p, 4);
    } else if (sr_bytes_starts_with(s, SR_LIT("https://"))) {
        e.scheme = sr_bytes_of(s.p, 5);
        e.port = 443;
    } else {
        return false;
    }
    struct sr_bytes rest = {s.p + e.scheme.n + 3, s.n - e.scheme.n - 3};
    const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
    size_t n = slash ? (size_t)(slash - rest.p) : rest.n;
    e.path = sr_bytes_of(rest.p + n, rest.n - n);
    while (e.path.n && e.path.p[e.path.n - 1] == '/')
        e.path.n--;
    if (!authority(sr_bytes_of(rest.p, n), &e.host, &e.port) || !sr_value_is_path(e.path))
        return false;
    *out = e;
    return true;
}

bool sr_value_is_header_name(struct sr_bytes s)
{
    if (s.n == 0 || s.n > 256)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && !is_one_of(s.p[i], "!#$%&'*+-.^_`|~"))
            return false;
    return true;
}

bool sr_value_is_header_value(struct sr_bytes s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7F)
            return false;
    return true;
}

bool sr_value_is_framing_header(struct sr_bytes s)
{
    static const char *const names[] = {"host",       "content-length", "transfer-encoding",
                                        "connection", "keep-alive",     "upgrade",
                                        "te",         "trailer",        "expect",
                                        NULL};
    for (const char *const *name = names; *name; name++)
        if (sr_bytes_eq_nocase(s, sr_bytes_str(*name)))
            return true;
    return false;
}

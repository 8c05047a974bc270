/* Makes the normal form of a path, segment by segment: escapes, parameters, dots, then case. */
#include "router/request/path.h"

#include "base/hex.h"

#include <stdint.h>

/* Ids of models and responses may have any characters, so they pass as they were sent; such a path is never
 * forwarded. */
static const struct sr_bytes ids[] = {{"/v1/models", 10}, {"/v1/responses", 13}};

struct normal {
    char *p; /* segments, each after its '/' */
    size_t n;
    const char *flaw;
};

/* True for a byte of a segment (RFC 3986, pchar) without '%' and ';'. */
static bool is_plain(unsigned char c)
{
    char lower = sr_ascii_lower((char)c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || (c && strchr("-._~!$&'()*+,=:@", c));
}

static const char *flaw_of_byte(unsigned char c, bool escaped)
{
    if (c < ' ' || c == 0x7f)
        return "the path has a control character";
    if (c == '\\')
        return "the path has a backslash";
    if (c == '/' && escaped)
        return "the path has an escaped slash";
    if (c == '%' && escaped)
        return "the path is escaped twice";
    return "the path has a character that no path of this server has";
}

/* Decodes one byte of a segment and moves `at` behind it; -1 for a broken escape. */
static int next_byte(struct sr_bytes segment, size_t *at)
{
    if (segment.p[*at] != '%')
        return (unsigned char)segment.p[(*at)++];
    int high = *at + 2 < segment.n ? sr_hex_digit(segment.p[*at + 1]) : -1;
    int low = high < 0 ? -1 : sr_hex_digit(segment.p[*at + 2]);
    *at += 3;
    return low < 0 ? -1 : high * 16 + low;
}

/* Appends the segment, decoded, up to its parameters. */
static void append_decoded(struct normal *out, struct sr_bytes segment)
{
    for (size_t at = 0; at < segment.n && segment.p[at] != ';' && !out->flaw;) {
        bool escaped = segment.p[at] == '%';
        int c = next_byte(segment, &at);
        if (c < 0)
            out->flaw = "the path has a broken escape";
        else if (!is_plain((unsigned char)c))
            out->flaw = flaw_of_byte((unsigned char)c, escaped);
        else
            out->p[out->n++] = sr_ascii_lower((char)c);
    }
}

/* Appends a segment of an id as it was sent, but dots, which are a dot segment in every spelling. */
static void append_id(struct normal *out, struct sr_bytes segment)
{
    size_t start = out->n, dots = 0;
    for (size_t at = 0; at < segment.n && !out->flaw;) {
        size_t from = at;
        int c = next_byte(segment, &at);
        if (c < 0)
            out->flaw = "the path has a broken escape";
        else if (c < ' ' || c == 0x7f || segment.p[from] == '\\')
            out->flaw = flaw_of_byte((unsigned char)c, false);
        else
            for (dots += c == '.'; from < at; from++)
                out->p[out->n++] = segment.p[from];
        if (c != '.')
            dots = SIZE_MAX / 2;
    }
    if (dots == 1 || dots == 2) {
        out->n = start + dots;
        memset(out->p + start, '.', dots);
    }
}

/* Is what follows an id? */
static bool is_below_ids(struct sr_bytes path)
{
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (sr_bytes_starts_with(path, ids[i]) && (path.n == ids[i].n || path.p[ids[i].n] == '/'))
            return true;
    return false;
}

/* Appends a segment and resolves it when it is empty or dots. */
static void append(struct normal *out, struct sr_bytes segment)
{
    size_t start = out->n;
    bool id = is_below_ids(sr_bytes_of(out->p, out->n));
    out->p[out->n++] = '/';
    if (id)
        append_id(out, segment);
    else
        append_decoded(out, segment);
    struct sr_bytes made = sr_bytes_of(out->p + start + 1, out->n - start - 1);
    if (sr_bytes_eq(made, SR_LIT("..")) && !out->flaw) {
        if (start == 0)
            out->flaw = "the path leaves its root";
        while (start > 0 && out->p[--start] != '/') {
        }
        out->n = start;
    } else if (made.n == 0 || sr_bytes_eq(made, SR_LIT("."))) {
        out->n = start;
    }
}

static void normalise(struct normal *out, struct sr_bytes path)
{
    for (size_t at = 0; at < path.n && !out->flaw;) {
        size_t start = ++at; /* behind a slash */
        while (at < path.n && path.p[at] != '/')
            at++;
        append(out, sr_bytes_of(path.p + start, at - start));
    }
    if (out->n == 0)
        out->p[out->n++] = '/';
}

/* The path and query of a target in absolute form; others unchanged. */
static struct sr_bytes origin_form(struct sr_bytes target)
{
    static const struct sr_bytes schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t at = schemes[i].n;
        if (target.n < at || !sr_bytes_eq_nocase(sr_bytes_of(target.p, at), schemes[i]))
            continue;
        while (at < target.n && target.p[at] != '/' && target.p[at] != '?')
            at++;
        return sr_bytes_of(target.p + at, target.n - at);
    }
    return target;
}

static const char *flaw_of_query(struct sr_bytes query)
{
    for (size_t i = 0; i < query.n; i++)
        if (query.p[i] <= ' ' || query.p[i] > '~' || query.p[i] == '#')
            return "the query has a character that no query may have";
    return NULL;
}

int sr_request_path_read(struct sr_request_path *out, struct sr_bytes target, struct sr_arena *arena)
{
    struct sr_bytes from = origin_form(target);
    const char *mark = from.n ? memchr(from.p, '?', from.n) : NULL;
    struct sr_bytes path = sr_bytes_of(from.p, mark ? (size_t)(mark - from.p) : from.n);
    struct sr_bytes query = sr_bytes_of(from.p + path.n, from.n - path.n);
    struct normal normal = {.p = sr_arena_alloc(arena, target.n + 2)}; /* a '/' and the whole target */
    if (!normal.p)
        return SR_ENOMEM;
    if (path.n ? path.p[0] != '/' : from.n == target.n)
        normal.flaw = "the request target is not a path";
    else
        normal.flaw = flaw_of_query(query);
    normalise(&normal, path);
    if (normal.flaw) {
        if (target.n)
            memcpy(normal.p, target.p, target.n);
        struct sr_bytes sent = sr_bytes_of(normal.p, target.n);
        *out = (struct sr_request_path){
            .path = sr_bytes_of(sent.p, sent.n - query.n), .target = sent, .flaw = normal.flaw};
        out->query = sr_bytes_of(sent.p + out->path.n, query.n);
        return SR_OK;
    }
    if (query.n)
        memcpy(normal.p + normal.n, query.p, query.n);
    *out = (struct sr_request_path){.path = sr_bytes_of(normal.p, normal.n),
                                    .query = sr_bytes_of(normal.p + normal.n, query.n),
                                    .target = sr_bytes_of(normal.p, normal.n + query.n)};
    return SR_OK;
}

/* Every place of the boundary is looked at, so none is taken for content that a lenient parser would split
 * at. */
#include "router/request/multipart.h"

#define FIRST_PARTS 8u

struct reader {
    struct sr_bytes body, boundary;
    size_t at;
    struct sr_err *err;
};

static int wrong(struct reader *r, const char *what)
{
    return sr_err_set_at(r->err, SR_EPARSE, r->at, "%s", what);
}

/* ---- the boundary ---- */

static bool is_plain(struct sr_bytes s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && !(c && strchr("-_.+'", c)))
            return false;
    }
    return s.n > 0;
}

static bool takes(struct sr_bytes *s, struct sr_bytes word)
{
    if (s->n < word.n || !sr_bytes_eq_nocase(sr_bytes_of(s->p, word.n), word))
        return false;
    *s = sr_bytes_of(s->p + word.n, s->n - word.n);
    return true;
}

static void skip_blanks(struct sr_bytes *s)
{
    while (s->n && (s->p[0] == ' ' || s->p[0] == '\t'))
        *s = sr_bytes_of(s->p + 1, s->n - 1);
}

int sr_multipart_boundary(struct sr_bytes content_type, struct sr_bytes *boundary)
{
    struct sr_bytes rest = sr_bytes_trim(content_type);
    if (!takes(&rest, SR_LIT("multipart/form-data")))
        return SR_ENOENT;
    skip_blanks(&rest);
    if (!takes(&rest, SR_LIT(";")))
        return SR_EPARSE;
    skip_blanks(&rest);
    if (!takes(&rest, SR_LIT("boundary=")))
        return SR_EPARSE;
    if (rest.n >= 2 && rest.p[0] == '"' && rest.p[rest.n - 1] == '"')
        rest = sr_bytes_of(rest.p + 1, rest.n - 2);
    *boundary = rest;
    return is_plain(rest) && rest.n <= SR_MULTIPART_BOUNDARY_MAX ? SR_OK : SR_EPARSE;
}

/* ---- delimiters ---- */

/* Takes `--boundary` at the reader's place. */
static bool takes_delimiter(struct reader *r)
{
    struct sr_bytes rest = sr_bytes_of(r->body.p + r->at, r->body.n - r->at);
    size_t n = r->boundary.n + 2;
    if (rest.n < n || memcmp(rest.p, "--", 2) != 0 || memcmp(rest.p + 2, r->boundary.p, r->boundary.n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool takes_text(struct reader *r, const char *text)
{
    size_t n = strlen(text);
    if (r->body.n - r->at < n || memcmp(r->body.p + r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* The next place of the boundary; the end of the body without one. */
static size_t next_boundary(const struct reader *r)
{
    const char *p = memmem(r->body.p + r->at, r->body.n - r->at, r->boundary.p, r->boundary.n);
    return p ? (size_t)(p - r->body.p) : r->body.n;
}

bool sr_multipart_is_whole(struct sr_bytes body, struct sr_bytes boundary)
{
    struct reader r = {.body = body, .boundary = boundary};
    size_t n = boundary.n + 4;
    if (body.n >= 2 && memcmp(body.p + body.n - 2, "\r\n", 2) == 0)
        r.body.n -= 2;
    if (r.body.n < n)
        return false;
    r.at = r.body.n - n;
    bool line = r.at == 0 || (r.at >= 2 && memcmp(body.p + r.at - 2, "\r\n", 2) == 0);
    return line && takes_delimiter(&r) && takes_text(&r, "--");
}

/* ---- the headers of a part ---- */

/* A value in quotes; no escapes, and no character by which parsers differ. */
static int take_quoted(struct reader *r, struct sr_bytes *rest, struct sr_bytes *out)
{
    if (!takes(rest, SR_LIT("\"")))
        return wrong(r, "a value that is not in quotes");
    const char *end = memchr(rest->p, '"', rest->n);
    if (!end)
        return wrong(r, "a quote without an end");
    *out = sr_bytes_of(rest->p, (size_t)(end - rest->p));
    for (size_t i = 0; i < out->n; i++)
        if (out->p[i] == '\\' || (unsigned char)out->p[i] < ' ' || out->p[i] == 0x7f)
            return wrong(r, "a backslash or a control character in quotes");
    *rest = sr_bytes_of(end + 1, rest->n - out->n - 1);
    return SR_OK;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char low = sr_ascii_lower(c);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Takes a character of an extended value, or an escaped byte; -1: it is none. */
static int take_extended(struct sr_bytes *rest)
{
    char c = rest->p[0];
    size_t n = 1;
    int byte = (unsigned char)c;
    if (c == '%') {
        int high = rest->n > 2 ? hex_of(rest->p[1]) : -1, low = rest->n > 2 ? hex_of(rest->p[2]) : -1;
        byte = high < 0 || low < 0 ? -1 : high << 4 | low;
        n = 3;
    } else if (hex_of(c) < 0 && !(sr_ascii_lower(c) >= 'g' && sr_ascii_lower(c) <= 'z') &&
               (c == '\0' || !strchr("!#$&+-.^_`|~", c))) {
        byte = -1;
    }
    if (byte >= 0)
        *rest = sr_bytes_of(rest->p + n, rest->n - n);
    return byte;
}

/* True when an extended value (RFC 8187: UTF-8'LANGUAGE'VALUE) says the same name: parsers take either. */
static bool says_same(struct sr_bytes extended, struct sr_bytes name)
{
    size_t n = 0;
    if (!takes(&extended, SR_LIT("UTF-8'")))
        return false;
    const char *quote = memchr(extended.p, '\'', extended.n);
    if (!quote)
        return false;
    extended = sr_bytes_of(quote + 1, extended.n - (size_t)(quote + 1 - extended.p));
    while (extended.n && n < name.n && take_extended(&extended) == (unsigned char)name.p[n])
        n++;
    return extended.n == 0 && n == name.n;
}

static int read_disposition(struct reader *r, struct sr_bytes rest, struct sr_multipart_part *part)
{
    if (part->name.p)
        return wrong(r, "content-disposition is given twice");
    if (!takes(&rest, SR_LIT("form-data")))
        return wrong(r, "content-disposition is not form-data");
    while (rest.n) {
        int rc;
        skip_blanks(&rest);
        if (!takes(&rest, SR_LIT(";")))
            return wrong(r, "content-disposition cannot be read");
        skip_blanks(&rest);
        if (!part->name.p && takes(&rest, SR_LIT("name="))) {
            rc = take_quoted(r, &rest, &part->name);
        } else if (!part->filename.p && takes(&rest, SR_LIT("filename="))) {
            rc = take_quoted(r, &rest, &part->filename);
        } else if (part->filename.p && takes(&rest, SR_LIT("filename*="))) {
            part->named_twice = true; /* nothing may follow */
            rc = says_same(rest, part->filename) ? SR_OK
                                                 : wrong(r, "filename* does not say what filename says");
            rest.n = 0;
        } else {
            return wrong(r, "content-disposition has a parameter that is not known, or twice");
        }
        if (rc)
            return rc;
    }
    if (part->name.n == 0 || memchr(part->name.p, '%', part->name.n))
        return wrong(r, "a part has no name, or one with escapes");
    return SR_OK;
}

static int read_type(struct reader *r, struct sr_bytes rest, struct sr_multipart_part *part, bool *typed)
{
    static const struct sr_bytes name = {"charset=", 8};
    if (*typed)
        return wrong(r, "content-type is given twice");
    *typed = true;
    for (size_t i = 0; i + name.n <= rest.n; i++)
        if (sr_bytes_eq_nocase(sr_bytes_of(rest.p + i, name.n), name)) {
            part->charset = sr_bytes_trim(sr_bytes_of(rest.p + i + name.n, rest.n - i - name.n));
            return part->charset.n ? SR_OK : wrong(r, "an empty charset");
        }
    return SR_OK;
}

/* A coding of the content: one that changes no byte. */
static int read_coding(struct reader *r, struct sr_bytes value)
{
    bool same = sr_bytes_eq_nocase(value, SR_LIT("binary")) || sr_bytes_eq_nocase(value, SR_LIT("8bit")) ||
                sr_bytes_eq_nocase(value, SR_LIT("7bit"));
    return same ? SR_OK : wrong(r, "a content-transfer-encoding that changes the content");
}

/* `length` receives the content-length of the part, which some clients send. */
static int read_header(struct reader *r, struct sr_bytes line, struct sr_multipart_part *part, bool *typed,
                       unsigned long long *length)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon)
        return wrong(r, "a header of a part without a colon");
    struct sr_bytes name = sr_bytes_of(line.p, (size_t)(colon - line.p));
    struct sr_bytes value = sr_bytes_trim(sr_bytes_of(colon + 1, line.n - name.n - 1));
    if (sr_bytes_eq_nocase(name, SR_LIT("content-disposition")))
        return read_disposition(r, value, part);
    if (sr_bytes_eq_nocase(name, SR_LIT("content-type")))
        return read_type(r, value, part, typed);
    if (sr_bytes_eq_nocase(name, SR_LIT("content-transfer-encoding")))
        return read_coding(r, value);
    if (sr_bytes_eq_nocase(name, SR_LIT("content-length")) && *length == UINT64_MAX &&
        sr_bytes_to_u64(value, length))
        return SR_OK;
    return wrong(r, "a header of a part that is not known");
}

/* Reads the headers up to the empty line. */
static int read_headers(struct reader *r, struct sr_multipart_part *part, unsigned long long *length)
{
    size_t start = r->at;
    bool typed = false;
    while (!takes_text(r, "\r\n")) {
        const char *p = r->body.p + r->at;
        const char *end = memmem(p, r->body.n - r->at, "\r\n", 2);
        if (!end)
            return wrong(r, "the headers of a part have no end");
        if ((size_t)(end - r->body.p) - start > SR_MULTIPART_HEADERS_MAX)
            return sr_err_set_at(r->err, SR_ELIMIT, start, "the headers of a part have more than %u bytes",
                                 SR_MULTIPART_HEADERS_MAX);
        struct sr_bytes line = sr_bytes_of(p, (size_t)(end - p));
        for (size_t i = 0; i < line.n; i++)
            if ((unsigned char)line.p[i] < ' ' && line.p[i] != '\t')
                return wrong(r, "a control character in the headers of a part");
        int rc = read_header(r, line, part, &typed, length);
        if (rc)
            return rc;
        r->at += line.n + 2;
    }
    return part->name.p ? SR_OK : wrong(r, "a part without content-disposition");
}

/* ---- parts ---- */

/* Reads a part; its delimiter was taken, and so is the next one. */
static int read_part(struct reader *r, struct sr_multipart_part *part)
{
    unsigned long long length = UINT64_MAX;
    *part = (struct sr_multipart_part){.charset = {"", 0}};
    int rc = read_headers(r, part, &length);
    if (rc)
        return rc;
    size_t start = r->at, found = next_boundary(r);
    if (found < start + 4 || memcmp(r->body.p + found - 4, "\r\n--", 4) != 0) {
        r->at = found;
        return wrong(r, found == r->body.n ? "the closing boundary is missing"
                                           : "the boundary stands where no part ends");
    }
    part->content = sr_bytes_of(r->body.p + start, found - 4 - start);
    r->at = found - 2;
    if (length != UINT64_MAX && length != part->content.n)
        return wrong(r, "the content-length of a part is not its length");
    return takes_delimiter(r) ? SR_OK : wrong(r, "the boundary stands where no part ends");
}

static int add_part(struct sr_multipart *out, size_t *room, struct sr_arena *arena)
{
    if (out->n < *room)
        return SR_OK;
    size_t more = *room ? *room * 2 : FIRST_PARTS;
    struct sr_multipart_part *parts = sr_arena_calloc(arena, more, sizeof *parts);
    if (!parts)
        return SR_ENOMEM;
    if (out->n)
        memcpy(parts, out->parts, out->n * sizeof *parts);
    out->parts = parts;
    *room = more;
    return SR_OK;
}

int sr_multipart_read(struct sr_bytes body, struct sr_bytes boundary, struct sr_arena *arena,
                      struct sr_multipart *out, struct sr_err *err)
{
    struct reader r = {.body = body, .boundary = boundary, .err = err};
    size_t room = 0;
    *out = (struct sr_multipart){.n = 0};
    if (!takes_delimiter(&r))
        return wrong(&r, "the body does not begin with the boundary");
    while (takes_text(&r, "\r\n")) {
        if (out->n == SR_MULTIPART_PARTS_MAX)
            return sr_err_set_at(err, SR_ELIMIT, r.at, "more than %u parts", SR_MULTIPART_PARTS_MAX);
        int rc = add_part(out, &room, arena);
        rc = rc ? rc : read_part(&r, &out->parts[out->n]);
        if (rc)
            return rc;
        out->n++;
    }
    if (!takes_text(&r, "--"))
        return wrong(&r, "the boundary stands where no part ends");
    (void)takes_text(&r, "\r\n");
    return r.at == body.n ? SR_OK : wrong(&r, "something follows the closing boundary");
}

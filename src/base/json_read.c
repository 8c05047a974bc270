/* Validation is iterative over one bit a level; all later functions rely on a valid text. */
#include "base/json_read.h"

#include "base/utf8.h"

#include <stdlib.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct sr_json_cursor *r)
{
    while (r->i < r->n && is_space(r->p[r->i]))
        r->i++;
}

static bool bad(struct sr_json_cursor *r, const char *what)
{
    r->what = what;
    return false;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads four hex digits at p; -1 when they are not hex digits. */
static int32_t hex4(const char *p, size_t n)
{
    int32_t value = 0;
    for (size_t k = 0; k < 4; k++) {
        int digit = k < n ? hex_digit(p[k]) : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The code point of the escape whose "\u" is at p; *used gets its length, 6 or 12. -1: malformed. */
static int32_t unicode_escape(const char *p, size_t n, size_t *used)
{
    int32_t c = n > 2 ? hex4(p + 2, n - 2) : -1;
    *used = 6;
    if (c < 0xD800 || c > 0xDFFF)
        return c;
    if (c > 0xDBFF || n < 12 || p[6] != '\\' || p[7] != 'u')
        return -1;
    int32_t low = hex4(p + 8, n - 8);
    *used = 12;
    return low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : -1;
}

static bool check_string(struct sr_json_cursor *r)
{
    r->i++;
    while (r->i < r->n) {
        unsigned char c = (unsigned char)r->p[r->i];
        size_t used = 1;
        bool valid = true;
        if (c == '"')
            return r->i++, true;
        if (c < 0x20)
            return bad(r, "a control character in a string");
        if (c == '\\') {
            char e = r->i + 1 < r->n ? r->p[r->i + 1] : 0;
            if (r->i + 1 == r->n) {
                break;
            } else if (e == 'u') {
                if (unicode_escape(r->p + r->i, r->n - r->i, &used) < 0)
                    return bad(r, "a bad \\u escape");
            } else if (!e || !strchr("\"\\/bfnrt", e)) {
                return bad(r, "an unknown escape");
            } else {
                used = 2;
            }
        } else if (c >= 0x80) {
            used = sr_utf8_unit(r->p + r->i, r->n - r->i, &valid);
            if (!valid)
                return bad(r, "bytes that are not UTF-8");
        }
        r->i += used;
    }
    r->i = r->n;
    return bad(r, "an unfinished string");
}

static bool digits(struct sr_json_cursor *r)
{
    size_t start = r->i;
    while (r->i < r->n && r->p[r->i] >= '0' && r->p[r->i] <= '9')
        r->i++;
    return r->i > start || bad(r, "a bad number");
}

static bool check_number(struct sr_json_cursor *r)
{
    if (r->p[r->i] == '-')
        r->i++;
    bool zero = r->i < r->n && r->p[r->i] == '0';
    size_t start = r->i;
    if (!digits(r))
        return false;
    if (zero && r->i > start + 1)
        return bad(r, "a number with a leading zero");
    if (r->i < r->n && r->p[r->i] == '.' && (r->i++, !digits(r)))
        return false;
    if (r->i < r->n && (r->p[r->i] | 32) == 'e') {
        r->i++;
        if (r->i < r->n && (r->p[r->i] == '+' || r->p[r->i] == '-'))
            r->i++;
        return digits(r);
    }
    return true;
}

size_t sr_json_cursor_next(struct sr_json_cursor *cursor)
{
    skip_space(cursor);
    return cursor->i;
}

bool sr_json_cursor_take(struct sr_json_cursor *cursor, char c)
{
    skip_space(cursor);
    if (cursor->i >= cursor->n || cursor->p[cursor->i] != c)
        return false;
    cursor->i++;
    return true;
}

bool sr_json_cursor_string(struct sr_json_cursor *cursor, sr_json_view *out)
{
    skip_space(cursor);
    size_t start = cursor->i;
    if (start >= cursor->n || cursor->p[start] != '"')
        return bad(cursor, "expected a string");
    if (!check_string(cursor))
        return false;
    *out = sr_bytes_of(cursor->p + start, cursor->i - start);
    return true;
}

bool sr_json_cursor_number(struct sr_json_cursor *cursor, sr_json_view *out)
{
    skip_space(cursor);
    size_t start = cursor->i;
    char c = start < cursor->n ? cursor->p[start] : 0;
    if (c != '-' && (c < '0' || c > '9'))
        return bad(cursor, "expected a number");
    if (!check_number(cursor))
        return false;
    *out = sr_bytes_of(cursor->p + start, cursor->i - start);
    return true;
}

static bool check_scalar(struct sr_json_cursor *r)
{
    static const char *const words[] = {"true", "false", "null"};
    char c = r->p[r->i];
    if (c == '"')
        return check_string(r);
    if (c == '-' || (c >= '0' && c <= '9'))
        return check_number(r);
    for (size_t k = 0; k < 3; k++) {
        size_t n = strlen(words[k]);
        if (r->n - r->i >= n && memcmp(r->p + r->i, words[k], n) == 0)
            return r->i += n, true;
    }
    return bad(r, "expected a value");
}

static bool check_name(struct sr_json_cursor *r)
{
    skip_space(r);
    if (r->i >= r->n || r->p[r->i] != '"')
        return bad(r, "expected a name");
    if (!check_string(r))
        return false;
    skip_space(r);
    if (r->i >= r->n || r->p[r->i] != ':')
        return bad(r, "expected `:`");
    r->i++;
    return true;
}

/* After a value: closes the objects and arrays that end here and skips one comma. False at a syntax error;
 * *depth 0: all are closed. */
static bool check_after(struct sr_json_cursor *r, const bool *object, int *depth)
{
    while (*depth > 0) {
        skip_space(r);
        char c = r->i < r->n ? r->p[r->i] : 0;
        bool in_object = object[*depth - 1];
        if (c == ',') {
            r->i++;
            return !in_object || check_name(r);
        }
        if (c != (in_object ? '}' : ']'))
            return bad(r, in_object ? "expected `,` or `}`" : "expected `,` or `]`");
        r->i++;
        --*depth;
    }
    return true;
}

static bool check_value(struct sr_json_cursor *r)
{
    bool object[SR_JSON_VIEW_DEPTH_MAX];
    int depth = 0;
    do {
        skip_space(r);
        char c = r->i < r->n ? r->p[r->i] : 0;
        if (c == '{' || c == '[') {
            if (depth == SR_JSON_VIEW_DEPTH_MAX)
                return bad(r, "nested too deep");
            object[depth++] = c == '{';
            r->i++;
            skip_space(r);
            bool empty = r->i < r->n && r->p[r->i] == (c == '{' ? '}' : ']');
            if (!empty) {
                if (c == '{' && !check_name(r))
                    return false;
                continue;
            }
        } else if (r->i >= r->n) {
            return bad(r, "the end, where a value was expected");
        } else if (!check_scalar(r)) {
            return false;
        }
        if (!check_after(r, object, &depth))
            return false;
    } while (depth > 0);
    return true;
}

int sr_json_view_open(sr_json_view *root, struct sr_bytes text, struct sr_err *err)
{
    struct sr_json_cursor r = {.p = text.p, .n = text.n};
    skip_space(&r);
    size_t start = r.i;
    bool ok = check_value(&r);
    size_t end = r.i;
    if (ok) {
        skip_space(&r);
        ok = r.i == r.n || bad(&r, "something after the end of the document");
    }
    *root = sr_bytes_of(text.p + start, end - start);
    if (ok)
        return SR_OK;
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < r.i && i < r.n; i++) {
        column = text.p[i] == '\n' ? 1 : column + 1;
        line += text.p[i] == '\n';
    }
    sr_err_set_at(err, SR_EPARSE, r.i, "line %u, column %u: %s", line, column, r.what);
    if (err) {
        err->line = line;
        err->column = column;
    }
    return SR_EPARSE;
}

static size_t string_end(const char *p)
{
    size_t i = 1;
    for (; p[i] != '"'; i++)
        i += p[i] == '\\';
    return i + 1;
}

/* Length of the valid value at p. */
static size_t value_length(const char *p, size_t n)
{
    size_t i = 0, depth = 0;
    if (p[0] != '{' && p[0] != '[' && p[0] != '"') {
        while (i < n && p[i] != ',' && p[i] != '}' && p[i] != ']' && !is_space(p[i]))
            i++;
        return i;
    }
    do {
        char c = p[i];
        if (c == '"') {
            i += string_end(p + i);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        i++;
    } while (depth);
    return i;
}

bool sr_json_view_next(sr_json_view container, size_t *at, sr_json_view *name, sr_json_view *value)
{
    if (!sr_json_view_is_object(container) && (name || !sr_json_view_is_array(container)))
        return false;
    struct sr_json_cursor r = {.p = container.p, .n = container.n, .i = *at ? *at : 1};
    skip_space(&r);
    if (r.p[r.i] == ',') {
        r.i++;
        skip_space(&r);
    }
    if (r.i + 1 >= r.n)
        return false;
    if (sr_json_view_is_object(container)) {
        size_t n = string_end(r.p + r.i);
        if (name)
            *name = sr_bytes_of(r.p + r.i, n);
        r.i += n;
        skip_space(&r);
        r.i++;
        skip_space(&r);
    }
    *value = sr_bytes_of(r.p + r.i, value_length(r.p + r.i, r.n - r.i));
    *at = r.i + value->n;
    return true;
}

bool sr_json_view_eq(sr_json_view v, const char *word)
{
    char text[128];
    if (!sr_json_view_is_string(v) || v.n > sizeof text)
        return false;
    size_t n = sr_json_view_decode(v, text);
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

sr_json_view sr_json_view_get(sr_json_view object, const char *name)
{
    sr_json_view key, value, found = {0};
    size_t at = 0;
    if (sr_json_view_is_object(object))
        while (sr_json_view_next(object, &at, &key, &value))
            if (sr_json_view_eq(key, name))
                found = value;
    return found;
}

size_t sr_json_view_decode(sr_json_view string, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t n = 0, used;
    for (size_t i = 1; i + 1 < string.n;) {
        if (string.p[i] != '\\') {
            out[n++] = string.p[i++];
        } else if (string.p[i + 1] == 'u') {
            n += sr_utf8_encode(unicode_escape(string.p + i, string.n - i, &used), out + n);
            i += used;
        } else {
            out[n++] = to[strchr(from, string.p[i + 1]) - from];
            i += 2;
        }
    }
    return n;
}

bool sr_json_view_dup(sr_json_view string, struct sr_arena *arena, struct sr_bytes *out)
{
    char *copy = sr_arena_alloc(arena, string.n + 1);
    if (!copy)
        return false;
    size_t n = sr_json_view_decode(string, copy);
    sr_arena_trim(arena, copy, string.n + 1, n + 1);
    copy[n] = '\0';
    *out = sr_bytes_of(copy, n);
    return true;
}

bool sr_json_view_int(sr_json_view v, int64_t *out)
{
    int64_t value = 0;
    size_t i = v.p && v.n && v.p[0] == '-';
    if (!v.p || v.n == i || v.n - i > 18)
        return false;
    for (size_t k = i; k < v.n; k++) {
        if (v.p[k] < '0' || v.p[k] > '9')
            return false;
        value = value * 10 + (v.p[k] - '0');
    }
    *out = i ? -value : value;
    return true;
}

bool sr_json_view_bool(sr_json_view v, bool fallback)
{
    return v.p && v.p[0] == 't' ? true : v.p && v.p[0] == 'f' ? false : fallback;
}

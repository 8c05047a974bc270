/* Every value is written in the same order: comma, name, value. */
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>

static void put(struct sr_json_writer *w, const char *p, size_t n)
{
    if (!w->rc)
        w->rc = sr_buf_append(w->out, p, n);
}

/* Writes the comma and the name that precede a value. */
static void begin(struct sr_json_writer *w, const char *key)
{
    if (w->comma)
        put(w, ",", 1);
    w->comma = true;
    if (!key)
        return;
    put(w, "\"", 1);
    put(w, key, strlen(key));
    put(w, "\":", 2);
}

static void open(struct sr_json_writer *w, const char *key, const char *bracket)
{
    begin(w, key);
    put(w, bracket, 1);
    w->comma = false;
}

static void close(struct sr_json_writer *w, const char *bracket)
{
    put(w, bracket, 1);
    w->comma = true;
}

void sr_json_object(struct sr_json_writer *w, const char *key)
{
    open(w, key, "{");
}

void sr_json_object_end(struct sr_json_writer *w)
{
    close(w, "}");
}

void sr_json_array(struct sr_json_writer *w, const char *key)
{
    open(w, key, "[");
}

void sr_json_array_end(struct sr_json_writer *w)
{
    close(w, "]");
}

void sr_json_string(struct sr_json_writer *w, const char *key)
{
    begin(w, key);
    put(w, "\"", 1);
}

void sr_json_string_part(struct sr_json_writer *w, struct sr_bytes part)
{
    if (!w->rc)
        w->rc = sr_buf_append_json(w->out, part);
}

void sr_json_string_end(struct sr_json_writer *w)
{
    put(w, "\"", 1);
}

void sr_json_bytes(struct sr_json_writer *w, const char *key, struct sr_bytes value)
{
    sr_json_string(w, key);
    sr_json_string_part(w, value);
    sr_json_string_end(w);
}

void sr_json_text(struct sr_json_writer *w, const char *key, const char *value)
{
    if (value)
        sr_json_bytes(w, key, sr_bytes_str(value));
    else
        sr_json_null(w, key);
}

void sr_json_name(struct sr_json_writer *w, struct sr_bytes name)
{
    sr_json_bytes(w, NULL, name);
    put(w, ":", 1);
    w->comma = false;
}

void sr_json_line(struct sr_json_writer *w, int indent)
{
    if (w->comma)
        put(w, ",", 1);
    w->comma = false;
    if (!w->rc)
        w->rc = sr_buf_printf(w->out, "\n%*s", indent, "");
}

void sr_json_raw(struct sr_json_writer *w, const char *key, struct sr_bytes json)
{
    begin(w, key);
    put(w, json.p, json.n);
}

void sr_json_bool(struct sr_json_writer *w, const char *key, bool value)
{
    sr_json_raw(w, key, value ? SR_LIT("true") : SR_LIT("false"));
}

void sr_json_null(struct sr_json_writer *w, const char *key)
{
    sr_json_raw(w, key, SR_LIT("null"));
}

void sr_json_uint(struct sr_json_writer *w, const char *key, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    sr_json_raw(w, key, sr_bytes_of(digits + at, sizeof digits - at));
}

void sr_json_int(struct sr_json_writer *w, const char *key, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)value);
    sr_json_raw(w, key, sr_bytes_of(text, (size_t)n));
}

void sr_json_real(struct sr_json_writer *w, const char *key, const char *fmt, double value)
{
    char text[352]; /* "%.6f" of the largest double has 316 characters */
    int n = isfinite(value) ? snprintf(text, sizeof text, fmt, value) : 0;
    if (n <= 0 || (size_t)n >= sizeof text)
        sr_json_null(w, key);
    else
        sr_json_raw(w, key, sr_bytes_of(text, (size_t)n));
}

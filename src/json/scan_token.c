/* Inside tokens: strings (content, escapes, UTF-8), numbers and words, split anywhere. */
#include "base/hex.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "json/scan_state.h"

/* ---- strings ---- */

/* A high surrogate in a key without its partner. */
static void key_flush_surrogate(struct sr_scan *s)
{
    if (s->high) {
        s->high = 0;
        sr_key_append(&s->key, s->paths, "\xEF\xBF\xBD", 3);
    }
}

static void key_append(struct sr_scan *s, const void *p, size_t n)
{
    if (n == 0)
        return;
    key_flush_surrogate(s);
    sr_key_append(&s->key, s->paths, p, n);
}

static void key_append_unit(struct sr_scan *s, uint16_t unit)
{
    char utf8[4];
    if (s->high && sr_is_low_surrogate(unit)) {
        uint32_t c = sr_surrogate_pair(s->high, unit);
        s->high = 0;
        sr_key_append(&s->key, s->paths, utf8, sr_utf8_encode((int32_t)c, utf8));
        return;
    }
    key_flush_surrogate(s);
    if (sr_is_high_surrogate(unit))
        s->high = unit;
    else
        sr_key_append(&s->key, s->paths, utf8,
                      sr_utf8_encode(sr_is_low_surrogate(unit) ? SR_UTF8_REPLACEMENT : unit, utf8));
}

static int end_string(struct sr_scan *s, struct sr_scan_cursor *c)
{
    c->p++;
    if (!s->in_key) {
        sr_scan_end_value(s, s->value.span, sr_scan_offset(s, c), s->escaped ? SR_SPAN_ESCAPED : 0);
        return SR_OK;
    }
    s->state = SR_SCAN_ST_COLON;
    s->member.key_end = sr_scan_offset(s, c);
    if (!s->collect)
        return SR_OK;
    key_flush_surrogate(s);
    return sr_scan_resolve_member(s);
}

static int begin_utf8(struct sr_scan *s, struct sr_scan_cursor *c)
{
    uint8_t b = *c->p;
    s->utf8_low = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
    s->utf8_high = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
    if (b >= 0xC2 && b < 0xE0)
        s->utf8_left = 1;
    else if (b >= 0xE0 && b < 0xF0)
        s->utf8_left = 2;
    else if (b >= 0xF0 && b < 0xF5)
        s->utf8_left = 3;
    else
        return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c), "invalid UTF-8 in a string (byte 0x%02X)", b);
    if (s->collect)
        key_append(s, &b, 1);
    c->p++;
    s->state = SR_SCAN_ST_UTF8;
    return SR_OK;
}

static int scan_utf8(struct sr_scan *s, struct sr_scan_cursor *c)
{
    uint8_t b = *c->p;
    if (b < s->utf8_low || b > s->utf8_high)
        return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c), "invalid UTF-8 in a string (byte 0x%02X)", b);
    if (s->collect)
        key_append(s, &b, 1);
    s->utf8_low = 0x80;
    s->utf8_high = 0xBF;
    c->p++;
    if (--s->utf8_left == 0)
        s->state = SR_SCAN_ST_STRING;
    return SR_OK;
}

static int scan_string(struct sr_scan *s, struct sr_scan_cursor *c)
{
    const uint8_t *q = s->skip(c->p, c->end, s->collect ? NULL : &s->escaped);
    if (s->collect)
        key_append(s, c->p, (size_t)(q - c->p));
    c->p = q;
    if (q == c->end)
        return SR_OK;
    if (*q == '"')
        return end_string(s, c);
    if (*q >= 0x80)
        return begin_utf8(s, c);
    if (*q != '\\')
        return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c),
                            "control character 0x%02X in a string, it has to be escaped", *q);
    s->escaped = true;
    c->p++;
    s->state = SR_SCAN_ST_ESCAPE;
    return SR_OK;
}

static int scan_escape(struct sr_scan *s, struct sr_scan_cursor *c)
{
    uint8_t b = *c->p;
    char value = sr_escape_value(b);
    if (b == 'u') {
        s->hex = 0;
        s->hex_left = 4;
        s->state = SR_SCAN_ST_HEX;
    } else if (value) {
        if (s->collect)
            key_append(s, &value, 1);
        s->state = SR_SCAN_ST_STRING;
    } else {
        return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c),
                            "unknown escape in a string, after a backslash comes one of \" \\ / b f n r t u");
    }
    c->p++;
    return SR_OK;
}

static int scan_hex(struct sr_scan *s, struct sr_scan_cursor *c)
{
    int digit = sr_hex_digit((char)*c->p);
    if (digit < 0)
        return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c),
                            "expected four hexadecimal digits after `\\u`");
    s->hex = (uint16_t)(s->hex << 4 | digit);
    c->p++;
    if (--s->hex_left == 0) {
        if (s->collect)
            key_append_unit(s, s->hex);
        s->state = SR_SCAN_ST_STRING;
    }
    return SR_OK;
}

/* ---- numbers and words ---- */

static int scan_literal(struct sr_scan *s, struct sr_scan_cursor *c)
{
    while (c->p < c->end && *s->literal_at) {
        if (*c->p != (uint8_t)*s->literal_at)
            return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c), "expected `%s`", s->literal);
        c->p++;
        s->literal_at++;
    }
    if (!*s->literal_at)
        sr_scan_end_value(s, s->value.span, sr_scan_offset(s, c), 0);
    return SR_OK;
}

bool sr_scan_number_may_end(const struct sr_scan *s)
{
    return s->number == SR_SCAN_NUM_ZERO || s->number == SR_SCAN_NUM_INT ||
           s->number == SR_SCAN_NUM_FRACTION || s->number == SR_SCAN_NUM_EXPONENT;
}

/* The part of a number that byte `b` leads to, -1 when it is not part of a number. */
static int number_step(enum sr_scan_number part, uint8_t b)
{
    if (b >= '0' && b <= '9') {
        switch (part) {
        case SR_SCAN_NUM_MINUS:
            return b == '0' ? SR_SCAN_NUM_ZERO : SR_SCAN_NUM_INT;
        case SR_SCAN_NUM_POINT:
            return SR_SCAN_NUM_FRACTION;
        case SR_SCAN_NUM_E:
        case SR_SCAN_NUM_SIGN:
            return SR_SCAN_NUM_EXPONENT;
        default:
            return part == SR_SCAN_NUM_ZERO ? -1 : (int)part;
        }
    }
    bool integer = part == SR_SCAN_NUM_ZERO || part == SR_SCAN_NUM_INT;
    if (b == '.' && integer)
        return SR_SCAN_NUM_POINT;
    if ((b == 'e' || b == 'E') && (integer || part == SR_SCAN_NUM_FRACTION))
        return SR_SCAN_NUM_E;
    return (b == '+' || b == '-') && part == SR_SCAN_NUM_E ? SR_SCAN_NUM_SIGN : -1;
}

static int scan_number(struct sr_scan *s, struct sr_scan_cursor *c)
{
    for (; c->p < c->end; c->p++) {
        int next = number_step((enum sr_scan_number)s->number, *c->p);
        if (next >= 0) {
            s->number = (uint8_t)next;
            continue;
        }
        size_t at = sr_scan_offset(s, c);
        if (s->number == SR_SCAN_NUM_ZERO && *c->p >= '0' && *c->p <= '9')
            return sr_scan_fail(s, SR_EPARSE, at, "a number may not start with `0` and another digit");
        if (!sr_scan_number_may_end(s))
            return sr_scan_fail(s, SR_EPARSE, at, "expected a digit %s",
                                s->number == SR_SCAN_NUM_MINUS   ? "after `-`"
                                : s->number == SR_SCAN_NUM_POINT ? "after the decimal point"
                                                                 : "in the exponent");
        sr_scan_end_value(s, s->value.span, at, 0);
        return SR_OK;
    }
    return SR_OK;
}

int sr_scan_token(struct sr_scan *s, struct sr_scan_cursor *c)
{
    switch ((enum sr_scan_state)s->state) {
    case SR_SCAN_ST_STRING:
        return scan_string(s, c);
    case SR_SCAN_ST_ESCAPE:
        return scan_escape(s, c);
    case SR_SCAN_ST_HEX:
        return scan_hex(s, c);
    case SR_SCAN_ST_UTF8:
        return scan_utf8(s, c);
    case SR_SCAN_ST_NUMBER:
        return scan_number(s, c);
    default:
        return scan_literal(s, c);
    }
}

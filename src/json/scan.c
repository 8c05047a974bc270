/*
 * The scanner: a state machine over bytes that can stop and go on anywhere.
 *
 * `state` says what may come next; a stack of bits says whether each open container is an object. Frames
 * exist only for containers on a path of the table (at most nine), so everything below them is validated
 * without being looked at. String content, the bulk of a body, goes through json/simd.h.
 */
#include "json/scan.h"

#include "json/escape.h"
#include "json/path.h"
#include "json/simd.h"

#define SCAN_FRAMES     (SR_PATH_STEPS_MAX + 1)
#define SCAN_FIRST_CAP  64u /* spans */
#define SCAN_NO_KIND    (-1)
#define SCAN_LIMIT_TEXT "the limit is %u"

enum state {
    ST_VALUE,         /* a value: the root, after `:`, after `,` in an array */
    ST_FIRST_ELEMENT, /* after `[` */
    ST_FIRST_KEY,     /* after `{` */
    ST_KEY,           /* after `,` in an object */
    ST_COLON,
    ST_AFTER, /* a value is complete inside a container */
    ST_DONE,
    /* Inside a token: */
    ST_STRING,
    ST_ESCAPE, /* after the backslash */
    ST_HEX,    /* `hex_left` digits of \u missing */
    ST_UTF8,   /* `utf8_left` continuation bytes missing, the next within utf8_low .. utf8_high */
    ST_NUMBER,
    ST_LITERAL,
};

enum number { NUM_MINUS, NUM_ZERO, NUM_INT, NUM_POINT, NUM_FRACTION, NUM_E, NUM_SIGN, NUM_EXPONENT };

/* An open container on a path, or the recorded one below which no path goes. */
struct frame {
    uint16_t node;
    bool is_array;
    bool duplicate;  /* recorded children are duplicates because an unrecorded container on the way is one */
    uint8_t arrays;  /* arrays on the way to this container, itself excluded */
    uint32_t span;   /* its own, or SR_SPAN_NONE */
    uint32_t parent; /* what its children have as parent */
    uint32_t serial; /* distinguishes objects in the set of seen keys */
    uint32_t position; /* of the next element */
    uint32_t index[2];
};

/* The value that comes next or is under way. */
struct value {
    uint16_t node;
    bool duplicate;
    uint32_t span;
};

struct member {
    uint16_t node;
    uint16_t id;
    bool recorded, duplicate;
    size_t key_start, key_end;
};

struct sr_scan {
    const struct sr_paths *paths;
    struct sr_arena *arena;
    sr_simd_skip_fn *skip;
    struct sr_scan_limits limits;
    struct sr_err err;

    size_t offset; /* bytes fed before the current chunk */
    uint8_t state, number, hex_left, utf8_left, utf8_low, utf8_high;
    bool in_key;  /* the string under way is a key */
    bool collect; /* and its decoded bytes are wanted */
    bool escaped;
    uint16_t hex, high; /* digits so far; a high surrogate that waits for its partner */
    const char *literal, *literal_at;
    int root_kind;
    size_t root_open;

    uint32_t depth, live, serial;
    struct value value;
    struct member member;
    struct sr_key key;
    struct frame frames[SCAN_FRAMES];
    uint64_t objects[SR_SCAN_DEPTH_MAX / 64];

    struct sr_span *spans;
    uint32_t n_spans, cap_spans;
    uint64_t *seen; /* hashes of keys, open addressing, 0 = free */
    uint32_t n_seen, cap_seen;
};

struct cursor {
    const uint8_t *p, *begin, *end;
};

static size_t offset_of(const struct sr_scan *s, const struct cursor *c)
{
    return s->offset + (size_t)(c->p - c->begin);
}

#define fail(s, code, at, ...) sr_err_set_at(&(s)->err, code, at, __VA_ARGS__)

static bool in_object(const struct sr_scan *s)
{
    return s->depth && (s->objects[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
}

/* ---- recording ---- */

static int add_span(struct sr_scan *s, struct sr_span span)
{
    if (s->n_spans == s->limits.max_spans)
        return fail(s, SR_ELIMIT, span.start, "too many values of interest, " SCAN_LIMIT_TEXT,
                    s->limits.max_spans);
    if (s->n_spans == s->cap_spans) {
        uint32_t cap = s->cap_spans ? s->cap_spans * 2 : SCAN_FIRST_CAP;
        struct sr_span *spans = sr_arena_alloc(s->arena, cap * sizeof *spans);
        if (!spans)
            return fail(s, SR_ENOMEM, span.start, "%s", sr_strerror(SR_ENOMEM));
        if (s->n_spans)
            memcpy(spans, s->spans, s->n_spans * sizeof *spans);
        s->spans = spans;
        s->cap_spans = cap;
    }
    s->value.span = s->n_spans;
    s->spans[s->n_spans++] = span;
    return SR_OK;
}

static void seen_put(uint64_t *table, uint32_t cap, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (cap - 1);
    while (table[i])
        i = (i + 1) & (cap - 1);
    table[i] = hash;
}

/* Adds a hash to the set; *known tells whether it was there. */
static int seen_add(struct sr_scan *s, uint64_t hash, bool *known)
{
    *known = false;
    if (s->n_seen * 2 >= s->cap_seen) {
        uint32_t cap = s->cap_seen ? s->cap_seen * 2 : 2 * SCAN_FIRST_CAP;
        uint64_t *table = sr_arena_calloc(s->arena, cap, sizeof *table);
        if (!table)
            return fail(s, SR_ENOMEM, s->member.key_start, "%s", sr_strerror(SR_ENOMEM));
        for (uint32_t i = 0; i < s->cap_seen; i++)
            if (s->seen[i])
                seen_put(table, cap, s->seen[i]);
        s->seen = table;
        s->cap_seen = cap;
    }
    for (uint32_t i = (uint32_t)hash & (s->cap_seen - 1); s->seen[i]; i = (i + 1) & (s->cap_seen - 1))
        if (s->seen[i] == hash) {
            *known = true;
            return SR_OK;
        }
    seen_put(s->seen, s->cap_seen, hash);
    s->n_seen++;
    return SR_OK;
}

/* Looks the finished key up in the frame's node. */
static int resolve_member(struct sr_scan *s)
{
    const struct frame *f = &s->frames[s->depth - 1];
    struct member *m = &s->member;
    m->node = sr_paths_member(s->paths, f->node, &s->key);
    const struct sr_path_node *node = &s->paths->nodes[m->node];
    m->recorded = s->depth == 1 || node->named;
    m->id = node->named ? node->id : SR_PATH_TOP;
    m->duplicate = false;
    if (!m->recorded && m->node == SR_PATH_DEAD)
        return SR_OK;
    if (s->n_seen >= 2 * s->limits.max_spans)
        return fail(s, SR_ELIMIT, m->key_start, "too many members of interest, " SCAN_LIMIT_TEXT,
                    2 * s->limits.max_spans);
    uint64_t hash = sr_key_hash(&s->key, s->paths);
    return seen_add(s, hash, &m->duplicate);
}

/* The first byte of a value was seen: where does it belong, and is it recorded? */
static int begin_value(struct sr_scan *s, enum sr_json_kind kind, size_t at)
{
    s->value = (struct value){.node = SR_PATH_DEAD, .span = SR_SPAN_NONE};
    if (s->depth == 0) {
        s->root_kind = kind;
        s->value.node = SR_PATH_ROOT;
        return SR_OK;
    }
    if (s->depth > s->live)
        return SR_OK;
    struct frame *f = &s->frames[s->depth - 1];
    struct sr_span span = {.kind = (uint8_t)kind, .flags = SR_SPAN_OPEN, .parent = f->parent};
    bool recorded;
    if (f->is_array) {
        s->value.node = s->paths->nodes[f->node].element;
        recorded = s->paths->nodes[s->value.node].named;
        span.id = s->paths->nodes[s->value.node].id;
        span.key_start = span.key_end = at;
        if (f->arrays < 2)
            f->index[f->arrays] = f->position;
        f->position += f->position != UINT32_MAX;
    } else {
        s->value.node = s->member.node;
        s->value.duplicate = s->member.duplicate;
        recorded = s->member.recorded;
        span.id = s->member.id;
        span.key_start = s->member.key_start;
        span.key_end = s->member.key_end;
    }
    if (!recorded)
        return SR_OK;
    if (s->value.duplicate || f->duplicate)
        span.flags |= SR_SPAN_DUPLICATE;
    if (f->span == SR_SPAN_NONE && s->depth > 1)
        span.flags |= SR_SPAN_NESTED;
    memcpy(span.index, f->index, sizeof span.index);
    span.start = span.end = at;
    return add_span(s, span);
}

/* A value is complete: `end` is one past its last byte. */
static void end_value(struct sr_scan *s, uint32_t span, size_t end, unsigned flags)
{
    if (span != SR_SPAN_NONE) {
        s->spans[span].end = end;
        s->spans[span].flags = (uint8_t)((s->spans[span].flags & ~SR_SPAN_OPEN) | flags);
    }
    s->state = s->depth ? ST_AFTER : ST_DONE;
}

static int open_container(struct sr_scan *s, enum sr_json_kind kind, size_t at)
{
    if (s->depth == s->limits.max_depth)
        return fail(s, SR_ELIMIT, at, "nested too deeply, " SCAN_LIMIT_TEXT, s->limits.max_depth);
    bool object = kind == SR_JSON_OBJECT;
    if (s->depth == s->live &&
        (s->depth == 0 || s->value.node != SR_PATH_DEAD || s->value.span != SR_SPAN_NONE)) {
        struct frame *f = &s->frames[s->live++];
        *f = (struct frame){.node = s->value.node,
                            .is_array = !object,
                            .span = s->value.span,
                            .parent = s->value.span,
                            .serial = s->serial++};
        if (s->depth) {
            const struct frame *outer = f - 1;
            f->arrays = (uint8_t)(outer->arrays + outer->is_array);
            memcpy(f->index, outer->index, sizeof f->index);
            if (f->span == SR_SPAN_NONE) {
                f->parent = outer->parent;
                f->duplicate = s->value.duplicate || outer->duplicate;
            }
        }
    }
    uint64_t bit = UINT64_C(1) << (s->depth % 64), *word = &s->objects[s->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    if (s->depth == 0 && object)
        s->root_open = at + 1;
    s->depth++;
    s->state = object ? ST_FIRST_KEY : ST_FIRST_ELEMENT;
    return SR_OK;
}

static void close_container(struct sr_scan *s, size_t end)
{
    uint32_t span = SR_SPAN_NONE;
    if (s->depth == s->live)
        span = s->frames[--s->live].span;
    s->depth--;
    end_value(s, span, end, s->state == ST_AFTER ? 0 : SR_SPAN_EMPTY);
}

/* ---- structure ---- */

static const char *missing_value(const struct sr_scan *s)
{
    if (s->depth == 0)
        return "expected a JSON value";
    if (s->state == ST_FIRST_ELEMENT)
        return "expected an element or `]`";
    return in_object(s) ? "expected a value after `:`" : "expected an element after `,`";
}

static int open_value(struct sr_scan *s, struct cursor *c, uint8_t b)
{
    size_t at = offset_of(s, c);
    const char *word = NULL;
    int kind;
    switch (b) {
    case '{':
        kind = SR_JSON_OBJECT;
        break;
    case '[':
        kind = SR_JSON_ARRAY;
        break;
    case '"':
        kind = SR_JSON_STRING;
        break;
    case 't':
        kind = SR_JSON_TRUE;
        word = "true";
        break;
    case 'f':
        kind = SR_JSON_FALSE;
        word = "false";
        break;
    case 'n':
        kind = SR_JSON_NULL;
        word = "null";
        break;
    default:
        if (b != '-' && (b < '0' || b > '9'))
            return fail(s, SR_EPARSE, at, "%s", missing_value(s));
        kind = SR_JSON_NUMBER;
    }
    int rc = begin_value(s, (enum sr_json_kind)kind, at);
    if (rc)
        return rc;
    c->p++;
    if (kind >= SR_JSON_ARRAY)
        return open_container(s, (enum sr_json_kind)kind, at);
    if (word) {
        s->literal = word;
        s->literal_at = word + 1;
        s->state = ST_LITERAL;
    } else if (kind == SR_JSON_STRING) {
        s->in_key = s->collect = s->escaped = false;
        s->state = ST_STRING;
    } else {
        s->number = b == '-' ? NUM_MINUS : b == '0' ? NUM_ZERO : NUM_INT;
        s->state = ST_NUMBER;
    }
    return SR_OK;
}

static int open_key(struct sr_scan *s, struct cursor *c, uint8_t b)
{
    size_t at = offset_of(s, c);
    if (b != '"')
        return fail(s, SR_EPARSE, at, "%s",
                    s->state == ST_KEY ? "expected a name in quotes after `,`"
                                       : "expected a name in quotes or `}`");
    c->p++;
    s->state = ST_STRING;
    s->in_key = true;
    s->escaped = s->collect = false;
    s->member.key_start = at;
    if (s->depth > s->live)
        return SR_OK;
    const struct frame *f = &s->frames[s->depth - 1];
    s->member.node = SR_PATH_DEAD;
    s->member.recorded = s->member.duplicate = false;
    s->collect = s->depth == 1 || sr_path_has_members(&s->paths->nodes[f->node]);
    if (s->collect)
        sr_key_init(&s->key, f->serial);
    return SR_OK;
}

static int after_value(struct sr_scan *s, struct cursor *c, uint8_t b)
{
    bool object = in_object(s);
    if (b == ',') {
        s->state = object ? ST_KEY : ST_VALUE;
    } else if (b == (object ? '}' : ']')) {
        close_container(s, offset_of(s, c) + 1);
    } else {
        return fail(s, SR_EPARSE, offset_of(s, c), "%s",
                    object ? "expected `,` or `}` after a member" : "expected `,` or `]` after an element");
    }
    c->p++;
    return SR_OK;
}

/* Between tokens: up to the first byte inside a token, or the end of the chunk. */
static int scan_structure(struct sr_scan *s, struct cursor *c)
{
    int rc = SR_OK;
    while (rc == SR_OK && c->p < c->end && s->state < ST_STRING) {
        uint8_t b = *c->p;
        if (b == ' ' || b == '\n' || b == '\r' || b == '\t') {
            c->p++;
            continue;
        }
        switch ((enum state)s->state) {
        case ST_FIRST_ELEMENT:
        case ST_FIRST_KEY:
            if (b == (s->state == ST_FIRST_KEY ? '}' : ']')) {
                close_container(s, offset_of(s, c) + 1);
                c->p++;
            } else {
                rc = s->state == ST_FIRST_KEY ? open_key(s, c, b) : open_value(s, c, b);
            }
            break;
        case ST_KEY:
            rc = open_key(s, c, b);
            break;
        case ST_VALUE:
            rc = open_value(s, c, b);
            break;
        case ST_COLON:
            if (b != ':')
                return fail(s, SR_EPARSE, offset_of(s, c), "expected `:` after the name");
            c->p++;
            s->state = ST_VALUE;
            break;
        case ST_AFTER:
            rc = after_value(s, c, b);
            break;
        default:
            return fail(s, SR_EPARSE, offset_of(s, c), "unexpected data after the end of the document");
        }
    }
    return rc;
}

/* ---- strings ---- */

/* A high surrogate of a key that found no partner. */
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
        sr_key_append(&s->key, s->paths, utf8, sr_utf8_put(utf8, c));
        return;
    }
    key_flush_surrogate(s);
    if (sr_is_high_surrogate(unit))
        s->high = unit;
    else
        sr_key_append(&s->key, s->paths, utf8, sr_utf8_put(utf8, sr_is_low_surrogate(unit) ? 0xFFFD : unit));
}

static int end_string(struct sr_scan *s, struct cursor *c)
{
    c->p++;
    if (!s->in_key) {
        end_value(s, s->value.span, offset_of(s, c), s->escaped ? SR_SPAN_ESCAPED : 0);
        return SR_OK;
    }
    s->state = ST_COLON;
    s->member.key_end = offset_of(s, c);
    if (!s->collect)
        return SR_OK;
    key_flush_surrogate(s);
    return resolve_member(s);
}

static int begin_utf8(struct sr_scan *s, struct cursor *c)
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
        return fail(s, SR_EPARSE, offset_of(s, c), "invalid UTF-8 in a string (byte 0x%02X)", b);
    if (s->collect)
        key_append(s, &b, 1);
    c->p++;
    s->state = ST_UTF8;
    return SR_OK;
}

static int scan_utf8(struct sr_scan *s, struct cursor *c)
{
    uint8_t b = *c->p;
    if (b < s->utf8_low || b > s->utf8_high)
        return fail(s, SR_EPARSE, offset_of(s, c), "invalid UTF-8 in a string (byte 0x%02X)", b);
    if (s->collect)
        key_append(s, &b, 1);
    s->utf8_low = 0x80;
    s->utf8_high = 0xBF;
    c->p++;
    if (--s->utf8_left == 0)
        s->state = ST_STRING;
    return SR_OK;
}

/* Over the whole escapes from the backslash at `p` on; returns where that ends. */
static const uint8_t *skip_escapes(const uint8_t *p, const uint8_t *end)
{
    while (end - p >= 2 && *p == '\\') {
        if (sr_escape_value(p[1])) {
            p += 2;
            continue;
        }
        if (p[1] != 'u' || end - p < 6)
            break;
        int digits = sr_hex_value(p[2]) | sr_hex_value(p[3]) | sr_hex_value(p[4]) | sr_hex_value(p[5]);
        if (digits < 0)
            break;
        p += 6;
    }
    return p;
}

static int scan_string(struct sr_scan *s, struct cursor *c)
{
    for (;;) {
        const uint8_t *q = s->skip(c->p, c->end);
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
            return fail(s, SR_EPARSE, offset_of(s, c),
                        "control character 0x%02X in a string, it has to be escaped", *q);
        s->escaped = true;
        if (!s->collect)
            c->p = skip_escapes(q, c->end);
        if (c->p == q) {
            c->p++;
            s->state = ST_ESCAPE;
            return SR_OK;
        }
    }
}

static int scan_escape(struct sr_scan *s, struct cursor *c)
{
    uint8_t b = *c->p;
    char value = sr_escape_value(b);
    if (b == 'u') {
        s->hex = 0;
        s->hex_left = 4;
        s->state = ST_HEX;
    } else if (value) {
        if (s->collect)
            key_append(s, &value, 1);
        s->state = ST_STRING;
    } else {
        return fail(s, SR_EPARSE, offset_of(s, c),
                    "unknown escape in a string, after a backslash comes one of \" \\ / b f n r t u");
    }
    c->p++;
    return SR_OK;
}

static int scan_hex(struct sr_scan *s, struct cursor *c)
{
    int digit = sr_hex_value(*c->p);
    if (digit < 0)
        return fail(s, SR_EPARSE, offset_of(s, c), "expected four hexadecimal digits after `\\u`");
    s->hex = (uint16_t)(s->hex << 4 | digit);
    c->p++;
    if (--s->hex_left == 0) {
        if (s->collect)
            key_append_unit(s, s->hex);
        s->state = ST_STRING;
    }
    return SR_OK;
}

/* ---- numbers and words ---- */

static int scan_literal(struct sr_scan *s, struct cursor *c)
{
    while (c->p < c->end && *s->literal_at) {
        if (*c->p != (uint8_t)*s->literal_at)
            return fail(s, SR_EPARSE, offset_of(s, c), "expected `%s`", s->literal);
        c->p++;
        s->literal_at++;
    }
    if (!*s->literal_at)
        end_value(s, s->value.span, offset_of(s, c), 0);
    return SR_OK;
}

static bool number_may_end(const struct sr_scan *s)
{
    return s->number == NUM_ZERO || s->number == NUM_INT || s->number == NUM_FRACTION ||
           s->number == NUM_EXPONENT;
}

/* The part of a number that byte `b` leads to, -1 when it does not belong to the number. */
static int number_step(enum number part, uint8_t b)
{
    if (b >= '0' && b <= '9') {
        switch (part) {
        case NUM_MINUS:
            return b == '0' ? NUM_ZERO : NUM_INT;
        case NUM_POINT:
            return NUM_FRACTION;
        case NUM_E:
        case NUM_SIGN:
            return NUM_EXPONENT;
        default:
            return part == NUM_ZERO ? -1 : (int)part;
        }
    }
    bool integer = part == NUM_ZERO || part == NUM_INT;
    if (b == '.' && integer)
        return NUM_POINT;
    if ((b == 'e' || b == 'E') && (integer || part == NUM_FRACTION))
        return NUM_E;
    return (b == '+' || b == '-') && part == NUM_E ? NUM_SIGN : -1;
}

static int scan_number(struct sr_scan *s, struct cursor *c)
{
    for (; c->p < c->end; c->p++) {
        int next = number_step((enum number)s->number, *c->p);
        if (next >= 0) {
            s->number = (uint8_t)next;
            continue;
        }
        size_t at = offset_of(s, c);
        if (s->number == NUM_ZERO && *c->p >= '0' && *c->p <= '9')
            return fail(s, SR_EPARSE, at, "a number may not start with `0` and another digit");
        if (!number_may_end(s))
            return fail(s, SR_EPARSE, at, "expected a digit %s",
                        s->number == NUM_MINUS   ? "after `-`"
                        : s->number == NUM_POINT ? "after the decimal point"
                                                 : "in the exponent");
        end_value(s, s->value.span, at, 0);
        return SR_OK;
    }
    return SR_OK;
}

/* ---- the interface ---- */

struct sr_scan_limits sr_scan_limits_defaults(void)
{
    return (struct sr_scan_limits){.max_depth = 128, .max_spans = 262144};
}

int sr_scan_new(struct sr_scan **out, const struct sr_paths *paths, struct sr_scan_limits limits,
                struct sr_arena *arena)
{
    *out = NULL;
    if (limits.max_depth > SR_SCAN_DEPTH_MAX || limits.max_spans >= SR_SPAN_NONE / 4)
        return SR_EINVAL;
    struct sr_scan *s = sr_arena_calloc(arena, 1, sizeof *s);
    if (!s)
        return SR_ENOMEM;
    s->paths = paths;
    s->arena = arena;
    s->limits = limits;
    s->skip = sr_simd_skip();
    s->state = ST_VALUE;
    s->root_kind = SCAN_NO_KIND;
    *out = s;
    return SR_OK;
}

static int run(struct sr_scan *s, struct cursor *c)
{
    int rc = SR_OK;
    while (rc == SR_OK && c->p < c->end) {
        switch ((enum state)s->state) {
        case ST_STRING:
            rc = scan_string(s, c);
            break;
        case ST_ESCAPE:
            rc = scan_escape(s, c);
            break;
        case ST_HEX:
            rc = scan_hex(s, c);
            break;
        case ST_UTF8:
            rc = scan_utf8(s, c);
            break;
        case ST_NUMBER:
            rc = scan_number(s, c);
            break;
        case ST_LITERAL:
            rc = scan_literal(s, c);
            break;
        default:
            rc = scan_structure(s, c);
        }
    }
    return rc;
}

static int report(const struct sr_scan *s, struct sr_err *err)
{
    if (err)
        *err = s->err;
    return s->err.code;
}

int sr_scan_feed(struct sr_scan *s, const void *p, size_t n, struct sr_err *err)
{
    if (s->err.code)
        return report(s, err);
    if (n) {
        struct cursor c = {.p = p, .begin = p, .end = (const uint8_t *)p + n};
        if (run(s, &c))
            return report(s, err);
        s->offset += n;
    }
    return s->state == ST_DONE ? SR_OK : SR_MORE;
}

int sr_scan_finish(struct sr_scan *s, struct sr_err *err)
{
    if (s->err.code)
        return report(s, err);
    if (s->state == ST_NUMBER && s->depth == 0 && number_may_end(s))
        end_value(s, SR_SPAN_NONE, s->offset, 0);
    if (s->state == ST_DONE)
        return SR_OK;
    const char *where = s->root_kind == SCAN_NO_KIND                      ? ": there is no JSON value"
                        : s->state >= ST_STRING && s->state <= ST_UTF8    ? " inside a string"
                        : s->state == ST_NUMBER || s->state == ST_LITERAL ? " inside a value"
                        : in_object(s)                                    ? " inside an object"
                                                                          : " inside an array";
    fail(s, SR_EPARSE, s->offset, "unexpected end of input%s", where);
    return report(s, err);
}

const struct sr_span *sr_scan_spans(const struct sr_scan *s, size_t *count)
{
    *count = s->n_spans;
    return s->spans;
}

int sr_scan_root_kind(const struct sr_scan *s)
{
    return s->root_kind;
}

size_t sr_scan_root_open(const struct sr_scan *s)
{
    return s->root_open;
}

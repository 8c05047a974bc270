/*
 * The scanner: a state machine over bytes that can stop and continue at any byte.
 *
 * `state` tells which bytes may follow; a stack of bits tells whether each open container is an object.
 * Frames exist only for containers on a path of the table (at most nine); all content below them is only
 * validated. This file steps from token to token and holds the interface.
 */
#include "json/scan.h"

#include "json/scan_state.h"

static const char *missing_value(const struct sr_scan *s)
{
    if (s->depth == 0)
        return "expected a JSON value";
    if (s->state == SR_SCAN_ST_FIRST_ELEMENT)
        return "expected an element or `]`";
    return sr_scan_in_object(s) ? "expected a value after `:`" : "expected an element after `,`";
}

static int open_value(struct sr_scan *s, struct sr_scan_cursor *c, uint8_t b)
{
    size_t at = sr_scan_offset(s, c);
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
            return sr_scan_fail(s, SR_EPARSE, at, "%s", missing_value(s));
        kind = SR_JSON_NUMBER;
    }
    int rc = sr_scan_begin_value(s, (enum sr_json_kind)kind, at);
    if (rc)
        return rc;
    c->p++;
    if (kind >= SR_JSON_ARRAY)
        return sr_scan_open_container(s, (enum sr_json_kind)kind, at);
    if (word) {
        s->literal = word;
        s->literal_at = word + 1;
        s->state = SR_SCAN_ST_LITERAL;
    } else if (kind == SR_JSON_STRING) {
        s->in_key = s->collect = s->escaped = false;
        s->state = SR_SCAN_ST_STRING;
    } else {
        s->number = b == '-' ? SR_SCAN_NUM_MINUS : b == '0' ? SR_SCAN_NUM_ZERO : SR_SCAN_NUM_INT;
        s->state = SR_SCAN_ST_NUMBER;
    }
    return SR_OK;
}

static int open_key(struct sr_scan *s, struct sr_scan_cursor *c, uint8_t b)
{
    size_t at = sr_scan_offset(s, c);
    if (b != '"')
        return sr_scan_fail(s, SR_EPARSE, at, "%s",
                            s->state == SR_SCAN_ST_KEY ? "expected a name in quotes after `,`"
                                                       : "expected a name in quotes or `}`");
    c->p++;
    s->state = SR_SCAN_ST_STRING;
    s->in_key = true;
    s->escaped = s->collect = false;
    s->member.key_start = at;
    if (s->depth > s->live)
        return SR_OK;
    const struct sr_scan_frame *f = &s->frames[s->depth - 1];
    s->member.node = SR_PATH_DEAD;
    s->member.recorded = s->member.duplicate = s->member.alike = false;
    s->collect = s->depth == 1 || sr_path_has_members(&s->paths->nodes[f->node]);
    if (s->collect)
        sr_key_init(&s->key, f->serial);
    return SR_OK;
}

static int after_value(struct sr_scan *s, struct sr_scan_cursor *c, uint8_t b)
{
    bool object = sr_scan_in_object(s);
    if (b == ',') {
        s->state = object ? SR_SCAN_ST_KEY : SR_SCAN_ST_VALUE;
    } else if (b == (object ? '}' : ']')) {
        sr_scan_close_container(s, sr_scan_offset(s, c) + 1);
    } else {
        return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c), "%s",
                            object ? "expected `,` or `}` after a member"
                                   : "expected `,` or `]` after an element");
    }
    c->p++;
    return SR_OK;
}

/* Between tokens: advances to the first byte inside a token, or to the end of the chunk. */
static int scan_structure(struct sr_scan *s, struct sr_scan_cursor *c)
{
    int rc = SR_OK;
    while (rc == SR_OK && c->p < c->end && s->state < SR_SCAN_ST_STRING) {
        uint8_t b = *c->p;
        if (b == ' ' || b == '\n' || b == '\r' || b == '\t') {
            c->p++;
            continue;
        }
        switch ((enum sr_scan_state)s->state) {
        case SR_SCAN_ST_FIRST_ELEMENT:
        case SR_SCAN_ST_FIRST_KEY:
            if (b == (s->state == SR_SCAN_ST_FIRST_KEY ? '}' : ']')) {
                sr_scan_close_container(s, sr_scan_offset(s, c) + 1);
                c->p++;
            } else {
                rc = s->state == SR_SCAN_ST_FIRST_KEY ? open_key(s, c, b) : open_value(s, c, b);
            }
            break;
        case SR_SCAN_ST_KEY:
            rc = open_key(s, c, b);
            break;
        case SR_SCAN_ST_VALUE:
            rc = open_value(s, c, b);
            break;
        case SR_SCAN_ST_COLON:
            if (b != ':')
                return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c), "expected `:` after the name");
            c->p++;
            s->state = SR_SCAN_ST_VALUE;
            break;
        case SR_SCAN_ST_AFTER:
            rc = after_value(s, c, b);
            break;
        default:
            return sr_scan_fail(s, SR_EPARSE, sr_scan_offset(s, c),
                                "unexpected data after the end of the document");
        }
    }
    return rc;
}

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
    s->state = SR_SCAN_ST_VALUE;
    s->root_kind = -1;
    *out = s;
    return SR_OK;
}

static int run(struct sr_scan *s, struct sr_scan_cursor *c)
{
    int rc = SR_OK;
    while (rc == SR_OK && c->p < c->end)
        rc = s->state >= SR_SCAN_ST_STRING ? sr_scan_token(s, c) : scan_structure(s, c);
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
        struct sr_scan_cursor c = {.p = p, .begin = p, .end = (const uint8_t *)p + n};
        if (run(s, &c))
            return report(s, err);
        s->offset += n;
    }
    return s->state == SR_SCAN_ST_DONE ? SR_OK : SR_MORE;
}

int sr_scan_finish(struct sr_scan *s, struct sr_err *err)
{
    if (s->err.code)
        return report(s, err);
    if (s->state == SR_SCAN_ST_NUMBER && s->depth == 0 && sr_scan_number_may_end(s))
        sr_scan_end_value(s, SR_SPAN_NONE, s->offset, 0);
    if (s->state == SR_SCAN_ST_DONE)
        return SR_OK;
    const char *where = s->root_kind == -1 ? ": there is no JSON value"
                        : s->state >= SR_SCAN_ST_STRING && s->state <= SR_SCAN_ST_UTF8    ? " inside a string"
                        : s->state == SR_SCAN_ST_NUMBER || s->state == SR_SCAN_ST_LITERAL ? " inside a value"
                        : sr_scan_in_object(s) ? " inside an object"
                                               : " inside an array";
    sr_scan_fail(s, SR_EPARSE, s->offset, "unexpected end of input%s", where);
    return report(s, err);
}

const struct sr_span *sr_scan_spans(const struct sr_scan *s, size_t *count)
{
    *count = s->n_spans;
    return s->spans;
}

bool sr_scan_is_full(const struct sr_scan *s)
{
    return s->n_spans == s->limits.max_spans || s->n_seen >= 2 * s->limits.max_spans;
}

int sr_scan_root_kind(const struct sr_scan *s)
{
    return s->root_kind;
}

size_t sr_scan_root_open(const struct sr_scan *s)
{
    return s->root_open;
}

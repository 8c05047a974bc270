/*
 * The scanner's state, shared by its three files; private to the json layer.
 *
 * scan.c steps from token to token, scan_token.c reads inside a token, scan_record.c keeps frames and spans.
 */
#ifndef SR_JSON_SCAN_STATE_H
#define SR_JSON_SCAN_STATE_H

#include "json/path.h"
#include "json/scan.h"
#include "json/simd.h"

#define SR_SCAN_FRAMES     (SR_PATH_STEPS_MAX + 1)
#define SR_SCAN_LIMIT_TEXT "the limit is %u"

enum sr_scan_state {
    SR_SCAN_ST_VALUE,         /* a value: the root, after `:`, after `,` in an array */
    SR_SCAN_ST_FIRST_ELEMENT, /* after `[` */
    SR_SCAN_ST_FIRST_KEY,     /* after `{` */
    SR_SCAN_ST_KEY,           /* after `,` in an object */
    SR_SCAN_ST_COLON,
    SR_SCAN_ST_AFTER, /* a value is complete inside a container */
    SR_SCAN_ST_DONE,
    /* Inside a token: */
    SR_SCAN_ST_STRING,
    SR_SCAN_ST_ESCAPE, /* after the backslash */
    SR_SCAN_ST_HEX,    /* `hex_left` digits of \u missing */
    SR_SCAN_ST_UTF8,   /* `utf8_left` continuation bytes missing, the next within utf8_low .. utf8_high */
    SR_SCAN_ST_NUMBER,
    SR_SCAN_ST_LITERAL,
};

enum sr_scan_number {
    SR_SCAN_NUM_MINUS,
    SR_SCAN_NUM_ZERO,
    SR_SCAN_NUM_INT,
    SR_SCAN_NUM_POINT,
    SR_SCAN_NUM_FRACTION,
    SR_SCAN_NUM_E,
    SR_SCAN_NUM_SIGN,
    SR_SCAN_NUM_EXPONENT
};

/* An open container on a path, or the recorded one below which no path continues. */
struct sr_scan_frame {
    uint16_t node;
    bool is_array;
    bool duplicate;  /* recorded children are duplicates because an unrecorded container above them is one */
    uint8_t arrays;  /* number of arrays above this container */
    uint32_t span;   /* its own, or SR_SPAN_NONE */
    uint32_t parent; /* the `parent` of its children */
    uint32_t serial; /* distinguishes objects in the set of seen keys */
    uint32_t position; /* of the next element */
    uint32_t index[2];
};

/* The value that is next or in progress. */
struct sr_scan_value {
    uint16_t node;
    bool duplicate;
    uint32_t span;
};

struct sr_scan_member {
    uint16_t node;
    uint16_t id;
    bool recorded, duplicate, alike;
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
    bool in_key;  /* the string in progress is a key */
    bool collect; /* and its decoded bytes are needed */
    bool escaped;
    uint16_t hex, high; /* digits so far; a high surrogate that waits for its partner */
    const char *literal, *literal_at;
    int root_kind;
    size_t root_open;

    uint32_t depth, live, serial;
    struct sr_scan_value value;
    struct sr_scan_member member;
    struct sr_key key;
    struct sr_scan_frame frames[SR_SCAN_FRAMES];
    uint64_t objects[SR_SCAN_DEPTH_MAX / 64];

    struct sr_span *spans;
    uint32_t n_spans, cap_spans;
    uint64_t *seen; /* hashes of keys, open addressing, 0 = free */
    uint32_t n_seen, cap_seen;
};

struct sr_scan_cursor {
    const uint8_t *p, *begin, *end;
};

static inline size_t sr_scan_offset(const struct sr_scan *s, const struct sr_scan_cursor *c)
{
    return s->offset + (size_t)(c->p - c->begin);
}

static inline bool sr_scan_in_object(const struct sr_scan *s)
{
    return s->depth && (s->objects[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1);
}

/* Records the error that every later call returns. */
#define sr_scan_fail(s, code, at, ...) sr_err_set_at(&(s)->err, code, at, __VA_ARGS__)

/* ---- scan_record.c ---- */

/* The decoded key of the member in progress is complete: looks it up and marks duplicates. */
int sr_scan_resolve_member(struct sr_scan *s) SR_WARN_UNUSED;

/* The first byte of a value was seen: finds its path and decides whether to record it. */
int sr_scan_begin_value(struct sr_scan *s, enum sr_json_kind kind, size_t at) SR_WARN_UNUSED;

/* A value is complete: `end` is one past its last byte. */
void sr_scan_end_value(struct sr_scan *s, uint32_t span, size_t end, unsigned flags);

/* After sr_scan_begin_value of an object or array, and at its closing bracket. */
int sr_scan_open_container(struct sr_scan *s, enum sr_json_kind kind, size_t at) SR_WARN_UNUSED;
void sr_scan_close_container(struct sr_scan *s, size_t end);

/* ---- scan_token.c ---- */

/* Continues inside the token of s->state until the token or the chunk ends. */
int sr_scan_token(struct sr_scan *s, struct sr_scan_cursor *c) SR_WARN_UNUSED;

/* True when the number so far would be complete. */
bool sr_scan_number_may_end(const struct sr_scan *s);

#endif

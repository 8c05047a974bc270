/*
 * A strict reader of whole JSON texts in memory, for model files. json/scan reads request and response
 * bodies.
 *
 * The text is validated once; after that a value is a span of it, and members and elements are visited
 * without building a tree, which saves memory for a vocabulary of 30 MB. Spans live as long as the text. Of
 * repeated names the last one counts.
 */
#ifndef SR_BASE_JSON_READ_H
#define SR_BASE_JSON_READ_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_JSON_VIEW_DEPTH_MAX 64

/* One value without the white space around it; p NULL: no value. */
typedef struct sr_bytes sr_json_view;

/* Validates RFC 8259 JSON in UTF-8, no lone surrogates, at most SR_JSON_VIEW_DEPTH_MAX levels. SR_EPARSE with
 * offset, line and column. */
int sr_json_view_open(sr_json_view *root, struct sr_bytes text, struct sr_err *err) SR_WARN_UNUSED;

static inline bool sr_json_view_is_object(sr_json_view v)
{
    return v.p && v.p[0] == '{';
}

static inline bool sr_json_view_is_array(sr_json_view v)
{
    return v.p && v.p[0] == '[';
}

static inline bool sr_json_view_is_string(sr_json_view v)
{
    return v.p && v.p[0] == '"';
}

/* True for an absent value or null. */
static inline bool sr_json_view_is_null(sr_json_view v)
{
    return !v.p || v.p[0] == 'n';
}

/* The member `name` (plain ASCII), p NULL when there is none or `object` is not an object. */
sr_json_view sr_json_view_get(sr_json_view object, const char *name);

/* Visits an object or, without `name`, an array too: *at starts at 0; false after the last, and at once for
 * anything else. `name` gets the member's name as a string value. */
bool sr_json_view_next(sr_json_view container, size_t *at, sr_json_view *name, sr_json_view *value);

/* True when it is the string `word` (plain ASCII). */
bool sr_json_view_eq(sr_json_view v, const char *word);

/* Decodes a string into out[v.n]; returns the length. */
size_t sr_json_view_decode(sr_json_view string, char *out);

/* A decoded copy; false when out of memory. */
bool sr_json_view_dup(sr_json_view string, struct sr_arena *arena, struct sr_bytes *out);

bool sr_json_view_int(sr_json_view v, int64_t *out);

/* Returns `fallback` when it is absent, null or not a boolean. */
bool sr_json_view_bool(sr_json_view v, bool fallback);

/* ---- for a parser of one fixed shape, which reads token by token ---- */

/* `what` describes the error at p[i] after a function below has returned false. */
struct sr_json_cursor {
    const char *p;
    size_t n, i;
    const char *what;
};

/* Skips white space; returns where the next token begins. */
size_t sr_json_cursor_next(struct sr_json_cursor *cursor);

/* Skips white space and then `c`; false at any other byte, without setting `what`. */
bool sr_json_cursor_take(struct sr_json_cursor *cursor, char c);

/* A string with its quotes, validated as sr_json_view_open does. For an unterminated string `i` is `n`. */
bool sr_json_cursor_string(struct sr_json_cursor *cursor, sr_json_view *out);

bool sr_json_cursor_number(struct sr_json_cursor *cursor, sr_json_view *out);

#endif

/*
 * A strict reader of whole JSON texts in memory, for tokenizer.json.
 *
 * The text is validated once; after that a value is a span of it, and members and elements are visited in
 * place: a vocabulary of 30 MB costs no tree. Spans live as long as the text. Of repeated names the last one
 * counts.
 */
#ifndef SR_MODEL_TOKENIZER_JSON_H
#define SR_MODEL_TOKENIZER_JSON_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_TJSON_DEPTH_MAX 64

/* One value without the white space around it; p NULL: no value. */
typedef struct sr_bytes sr_tjson;

/* Validates RFC 8259 JSON in UTF-8, no lone surrogates, at most SR_TJSON_DEPTH_MAX levels. SR_EPARSE with
 * offset, line and column. */
int sr_tjson_open(sr_tjson *root, struct sr_bytes text, struct sr_err *err) SR_WARN_UNUSED;

static inline bool sr_tjson_is_object(sr_tjson v)
{
    return v.p && v.p[0] == '{';
}

static inline bool sr_tjson_is_array(sr_tjson v)
{
    return v.p && v.p[0] == '[';
}

static inline bool sr_tjson_is_string(sr_tjson v)
{
    return v.p && v.p[0] == '"';
}

/* Absent or null. */
static inline bool sr_tjson_is_null(sr_tjson v)
{
    return !v.p || v.p[0] == 'n';
}

/* The member `name` (plain ASCII), p NULL when there is none or `object` is no object. */
sr_tjson sr_tjson_get(sr_tjson object, const char *name);

/* Visits an object or array: *at starts at 0; false after the last. `name` (NULL for arrays) gets the
 * member's name as a string value. */
bool sr_tjson_next(sr_tjson container, size_t *at, sr_tjson *name, sr_tjson *value);

/* Is it the string `word` (plain ASCII)? */
bool sr_tjson_eq(sr_tjson v, const char *word);

/* Decodes a string into out[v.n]; returns the length. */
size_t sr_tjson_decode(sr_tjson string, char *out);

/* A decoded copy; false when memory is out. */
bool sr_tjson_dup(sr_tjson string, struct sr_arena *arena, struct sr_bytes *out);

bool sr_tjson_int(sr_tjson v, int64_t *out);

/* `fallback` when it is absent, null or no boolean. */
bool sr_tjson_bool(sr_tjson v, bool fallback);

#endif

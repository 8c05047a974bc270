/*
 * Writes one JSON value into a buffer, with its commas, quotes and escapes. White space is written only where
 * sr_json_line asks for it.
 *
 * The first failure stays in `rc` and makes every later call do nothing, so a caller checks it once, at the
 * end. Does not check nesting: the caller must end each object and array that it begins. Members are written
 * in the order of the calls; a `key` is plain ASCII without quotes, and NULL for the root and for elements of
 * an array.
 */
#ifndef SR_BASE_JSON_WRITE_H
#define SR_BASE_JSON_WRITE_H

#include "base/buf.h"

#include <stdint.h>

struct sr_json_writer {
    struct sr_buf *out; /* content already in it is not changed */
    int rc;             /* SR_OK, SR_ELIMIT, SR_ENOMEM */
    bool comma;         /* the next value of this level needs a comma before it */
};

static inline struct sr_json_writer sr_json_writer_of(struct sr_buf *out)
{
    return (struct sr_json_writer){.out = out};
}

void sr_json_object(struct sr_json_writer *w, const char *key);
void sr_json_object_end(struct sr_json_writer *w);
void sr_json_array(struct sr_json_writer *w, const char *key);
void sr_json_array_end(struct sr_json_writer *w);

/* A string; bytes that are not valid UTF-8 become U+FFFD. */
void sr_json_bytes(struct sr_json_writer *w, const char *key, struct sr_bytes value);

/* The same for a C string; NULL gives null. */
void sr_json_text(struct sr_json_writer *w, const char *key, const char *value);

/* A string in pieces of whole characters: begin, any number of parts, end. */
void sr_json_string(struct sr_json_writer *w, const char *key);
void sr_json_string_part(struct sr_json_writer *w, struct sr_bytes part);
void sr_json_string_end(struct sr_json_writer *w);

void sr_json_bool(struct sr_json_writer *w, const char *key, bool value);
void sr_json_null(struct sr_json_writer *w, const char *key);
void sr_json_uint(struct sr_json_writer *w, const char *key, uint64_t value);
void sr_json_int(struct sr_json_writer *w, const char *key, int64_t value);

/* A number as `fmt` prints it ("%.6f"); infinity and NaN give null. */
void sr_json_real(struct sr_json_writer *w, const char *key, const char *fmt, double value);

/* A value that is JSON already. */
void sr_json_raw(struct sr_json_writer *w, const char *key, struct sr_bytes json);

/* The next value begins a new line, after `indent` spaces: for files that people read. */
void sr_json_line(struct sr_json_writer *w, int indent);

/* The name of a member that is not a plain ASCII word; the value follows with key NULL. */
void sr_json_name(struct sr_json_writer *w, struct sr_bytes name);

#endif

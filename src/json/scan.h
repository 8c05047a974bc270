/*
 * The streaming JSON scanner: finds the values that routing needs in the bytes of a body, as they arrive.
 *
 * It validates the whole document (RFC 8259, UTF-8 included) and records a span for each value whose path is
 * in a compiled table, and for every top-level member. Nothing is parsed into a tree and nothing is allocated
 * per token: spans go to one array that grows in the caller's arena up to a limit. Chunks may be split
 * anywhere, also inside an escape or a UTF-8 sequence. Offsets count from the first byte ever fed, so they
 * index the caller's body.
 */
#ifndef SR_JSON_SCAN_H
#define SR_JSON_SCAN_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum sr_json_kind {
    SR_JSON_NULL,
    SR_JSON_FALSE,
    SR_JSON_TRUE,
    SR_JSON_NUMBER,
    SR_JSON_STRING,
    SR_JSON_ARRAY,
    SR_JSON_OBJECT,
};

/* A path and the number that its spans will carry. Syntax: members joined by dots, `[]` for every element
 * of an array, `*` for every member: "messages[].content[].text", "metadata.*". At most 8 steps.
 * `id` must not be SR_PATH_TOP. Where several paths name one value, the one with fewer stars gives the id and
 * the tag. */
struct sr_path_spec {
    const char *path;
    uint16_t id;
    uint8_t tag; /* at most SR_TAG_MAX: the table's mark for such a value, handed on with its span */
};

#define SR_TAG_MAX 31u

#define SR_PATH_TOP 0u /* a member that is recorded though no path of the table names it */

/* A compiled table: immutable, shared by reference between threads. SR_EINVAL for a malformed or repeated
 * path (with the offset in it), SR_ELIMIT for more than 1,024 paths, SR_ENOMEM. Copies the specs. */
struct sr_paths;
int sr_paths_new(struct sr_paths **out, const struct sr_path_spec *specs, size_t count,
                 struct sr_err *err) SR_WARN_UNUSED;
/* The same, for tables that account for every value. Where paths name members of an object, all its members
 * are recorded, and where a path names elements of an array, all elements; so a container whose content has
 * no span is one that no path enters. A member is marked SR_SPAN_ALIKE, and is taken for the named one, when
 * its key is a named one in another case or in compatibility forms (NFKC_Casefold), or continues after a NUL:
 * parsers differ about such keys. */
int sr_paths_new_complete(struct sr_paths **out, const struct sr_path_spec *specs, size_t count,
                          struct sr_err *err) SR_WARN_UNUSED;
struct sr_paths *sr_paths_ref(struct sr_paths *paths);
void sr_paths_unref(struct sr_paths *paths);

enum {
    SR_SPAN_ESCAPED = 1,   /* a string with at least one backslash: sr_json_unescape it */
    SR_SPAN_OPEN = 2,      /* `end` is not known yet (more input needed) */
    SR_SPAN_DUPLICATE = 4, /* the same member of the same object was seen before (or an unrecorded container
                              above it was): the last one counts */
    SR_SPAN_EMPTY = 8,     /* an object or array without members */
    SR_SPAN_NESTED = 16,   /* there are unrecorded containers between it and `parent` */
    SR_SPAN_ALIKE = 32,    /* its key is only alike to the one that the path names (complete tables) */
};

#define SR_SPAN_NONE UINT32_MAX

/* The position of a value in the body. Spans are in order of `start`. */
struct sr_span {
    uint16_t id;
    uint8_t kind : 3;  /* enum sr_json_kind */
    uint8_t tag : 5;   /* of its path; 0 without one */
    uint8_t flags;     /* SR_SPAN_* */
    uint32_t index[2]; /* positions in the first and second array on the path (messages[i].content[j]) */
    uint32_t parent;   /* index of the nearest enclosing recorded span, or SR_SPAN_NONE */
    size_t key_start;  /* the opening quote of the member's key; equals `start` for elements and the root */
    size_t key_end;    /* one past its closing quote; equals `start` for elements and the root */
    size_t start;      /* first byte of the value, the opening quote of a string included */
    size_t end;        /* one past its last byte */
};

struct sr_scan_limits {
    uint32_t max_depth; /* nesting of objects and arrays; at most SR_SCAN_DEPTH_MAX */
    uint32_t max_spans;
};

#define SR_SCAN_DEPTH_MAX 1024

/* Depth 128, 262,144 spans. */
struct sr_scan_limits sr_scan_limits_defaults(void);

struct sr_scan;

/* Allocates the scanner in `arena`, which also receives the spans and must outlive it; borrows `paths`, which
 * must outlive it too. SR_EINVAL for limits beyond the maximum, SR_ENOMEM. One thread at a time. */
int sr_scan_new(struct sr_scan **out, const struct sr_paths *paths, struct sr_scan_limits limits,
                struct sr_arena *arena) SR_WARN_UNUSED;

/* Feeds the next `n` bytes. SR_MORE: valid so far; SR_OK: the document is complete (only white space may
 * follow). SR_EPARSE with the offset of the offending byte, SR_ELIMIT for depth or spans, SR_ENOMEM. After
 * an error every further call returns the same error. */
int sr_scan_feed(struct sr_scan *scan, const void *p, size_t n, struct sr_err *err) SR_WARN_UNUSED;

/* Ends the document: SR_OK, or SR_EPARSE "unexpected end of input". */
int sr_scan_finish(struct sr_scan *scan, struct sr_err *err) SR_WARN_UNUSED;

/* The spans found so far; the array may move with the next feed. */
const struct sr_span *sr_scan_spans(const struct sr_scan *scan, size_t *count);

/* After SR_ELIMIT: there were too many values; else they were nested too deeply. */
bool sr_scan_is_full(const struct sr_scan *scan);

/* Kind of the root value once its first byte was seen; -1 before. */
int sr_scan_root_kind(const struct sr_scan *scan);

/* Offset one past the opening brace of a root object; 0 while there is none. */
size_t sr_scan_root_open(const struct sr_scan *scan);

/* Decodes the inside of a JSON string (the span's bytes without the quotes) to UTF-8. Returns the bytes
 * themselves when there is no backslash, else a copy in `arena`. A lone surrogate becomes U+FFFD.
 * `p` is NULL when the arena is full. The input must have passed the scanner. */
struct sr_bytes sr_json_unescape(struct sr_bytes inside, struct sr_arena *arena);

/* The same for a string that is still arriving: decodes the beginning of `inside` into `out` (room for
 * inside.n bytes) and returns how many of its bytes were consumed. Unless `last`, an incomplete escape and a
 * high surrogate whose partner may follow are not consumed: at most 11 bytes. `*n`: bytes written. */
size_t sr_json_unescape_part(struct sr_bytes inside, bool last, char *out, size_t *n);

/* The value of a string span inside `body`, decoded; empty for other kinds. */
struct sr_bytes sr_span_text(const struct sr_span *span, struct sr_bytes body, struct sr_arena *arena);

/* The raw bytes of a value. */
static inline struct sr_bytes sr_span_raw(const struct sr_span *span, struct sr_bytes body)
{
    return (struct sr_bytes){body.p + span->start, span->end - span->start};
}

#endif

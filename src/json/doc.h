/*
 * A small whole JSON document as a tree, for tools and tests; never for bodies of requests in progress.
 *
 * Opaque over jansson, which only doc.c uses. Values are borrowed from their document and valid as long as
 * it. Of a repeated member the last one counts. Not for concurrent use.
 */
#ifndef SR_JSON_DOC_H
#define SR_JSON_DOC_H

#include "base/buf.h"
#include "json/scan.h"

struct sr_doc;
typedef struct sr_doc_value sr_doc_value;

/* Parses one JSON text (any kind of root) of at most `max_bytes`: SR_ELIMIT beyond. SR_EPARSE with offset,
 * line and column. The text is not kept. In addition to RFC 8259's rules it refuses lone surrogates, NULs in
 * names, numbers beyond the range of a double, and more than 2,048 levels. */
int sr_doc_parse(struct sr_doc **out, struct sr_bytes text, size_t max_bytes,
                 struct sr_err *err) SR_WARN_UNUSED;
void sr_doc_free(struct sr_doc *doc);

const sr_doc_value *sr_doc_root(const struct sr_doc *doc);

/* The functions below accept NULL as an absent value, so that look-ups can be chained. */

/* enum sr_json_kind, -1 for NULL. */
int sr_doc_kind(const sr_doc_value *value);

/* A member by name, NULL when there is none or `value` is not an object. */
const sr_doc_value *sr_doc_get(const sr_doc_value *value, const char *name);

/* Number of elements or members; 0 for all other kinds. */
size_t sr_doc_size(const sr_doc_value *value);
const sr_doc_value *sr_doc_at(const sr_doc_value *array, size_t i);

/* Decoded bytes of a string, `p` is NULL for other kinds. */
struct sr_bytes sr_doc_string(const sr_doc_value *value);

/* False when it is not an integer or does not fit: *out is unchanged. 1.0 is not an integer. */
bool sr_doc_int(const sr_doc_value *value, int64_t *out);

/* Any number; false for other kinds. */
bool sr_doc_number(const sr_doc_value *value, double *out);
bool sr_doc_is_true(const sr_doc_value *value);

/* Appends `value` without white space. SR_ELIMIT when the buffer's maximum is reached. */
int sr_doc_dump(const sr_doc_value *value, struct sr_buf *out) SR_WARN_UNUSED;

#endif

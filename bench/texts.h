/*
 * Real texts for the measurements: fields of JSON Lines files below a data folder that the user names.
 */
#ifndef SR_BENCH_TEXTS_H
#define SR_BENCH_TEXTS_H

#include "base/buf.h"

#define SR_BENCH_TEXT_MAX ((size_t)4 << 20)

/* Calls `row` with each document of a JSON Lines file until it returns false. SR_EIO when the file cannot be
 * read; lines that are no JSON are passed over. */
struct sr_doc_value;
int sr_bench_rows(const char *folder, const char *file,
                  bool (*row)(void *ctx, const struct sr_doc_value *value), void *ctx) SR_WARN_UNUSED;

/* Appends a whole file of at most `max` bytes. SR_EIO, SR_ENOMEM; what is beyond the bound is left out. */
int sr_bench_file(const char *path, struct sr_buf *out, size_t max) SR_WARN_UNUSED;

/* Appends the member `field` of the rows whose member `where` is `is` (NULL: of all), two line breaks
 * between, until `max` bytes are there. */
int sr_bench_texts(const char *folder, const char *file, const char *field, const char *where, const char *is,
                   struct sr_buf *out, size_t max) SR_WARN_UNUSED;

/* The shortest prefix of `text` with `tokens` tokens by the published estimate; all of it when it has less.
 */
struct sr_bytes sr_bench_cut(struct sr_bytes text, size_t tokens);

#endif

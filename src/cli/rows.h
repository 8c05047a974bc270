/*
 * Rows of a JSON Lines file for classify, embed and eval: one object a line with `text`, and where wanted
 * `label`, `id`, `lang` and one more member of the caller's choice.
 */
#ifndef SR_CLI_ROWS_H
#define SR_CLI_ROWS_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>

struct sr_rows;

struct sr_row {
    size_t line;           /* from 1 */
    struct sr_bytes text;  /* decoded UTF-8 */
    struct sr_bytes label; /* decoded; p is NULL when there is none */
    struct sr_bytes raw;   /* the whole line */
    struct sr_bytes id;    /* raw JSON value; p is NULL when there is none */
    struct sr_bytes lang;  /* decoded string; p is NULL when there is none */
    struct sr_bytes group; /* the chosen member: a string decoded, else raw; p is NULL when there is none */
};

/* "-" is standard input. SR_ENOENT, SR_EIO, SR_ENOMEM with a message. */
int sr_rows_open(struct sr_rows **out, const char *path, struct sr_err *err) SR_WARN_UNUSED;

/* The same; `group` names the member that becomes the row's group ("kind", "a.b"; NULL: none). SR_EINVAL when
 * it is no name, or one that is read anyway. */
int sr_rows_open_grouped(struct sr_rows **out, const char *path, const char *group,
                         struct sr_err *err) SR_WARN_UNUSED;
void sr_rows_close(struct sr_rows *rows); /* NULL is allowed */

/* The next row, valid until the next call; empty lines are skipped. SR_ECLOSED at the end; SR_EPARSE,
 * SR_ELIMIT (a line over 64 MiB), SR_EIO with a message of the form FILE:LINE: what. */
int sr_rows_next(struct sr_rows *rows, struct sr_row *row, struct sr_err *err) SR_WARN_UNUSED;

/* Bytes read so far and in all, for a progress bar; the total is 0 where it is not known. */
void sr_rows_progress(const struct sr_rows *rows, size_t *done, size_t *total);

#endif

/*
 * JSON Lines, read with the scanner: the line is validated, a few members are looked at.
 */
#include "cli/rows.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/scan.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES ((size_t)64 << 20)
#define ARENA_MAX      ((size_t)256 << 20)

enum { PATH_TEXT = 1, PATH_LABEL, PATH_ID, PATH_LANG, PATH_GROUP };

struct sr_rows {
    FILE *file;
    const char *path;
    struct sr_paths *paths;
    struct sr_arena arena;
    struct sr_buf line;
    size_t number, done, total;
    size_t at, filled; /* of `piece` */
    char piece[65536];
};

int sr_rows_open(struct sr_rows **out, const char *path, struct sr_err *err)
{
    return sr_rows_open_grouped(out, path, NULL, err);
}

int sr_rows_open_grouped(struct sr_rows **out, const char *path, const char *group, struct sr_err *err)
{
    const struct sr_path_spec specs[] = {{"text", PATH_TEXT},
                                         {"label", PATH_LABEL},
                                         {"id", PATH_ID},
                                         {"lang", PATH_LANG},
                                         {group, PATH_GROUP}};
    size_t n_specs = sizeof specs / sizeof specs[0] - (group == NULL);
    bool standard = strcmp(path, "-") == 0;
    struct stat st;
    *out = NULL;
    struct sr_rows *rows = sr_mem_calloc(1, sizeof *rows);
    if (!rows)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    rows->path = standard ? "standard input" : path;
    sr_arena_init(&rows->arena, ARENA_MAX);
    sr_buf_init(&rows->line, LINE_MAX_BYTES);
    rows->file = standard ? stdin : fopen(path, "re");
    int rc = SR_OK;
    if (!rows->file)
        rc = sr_err_set(err, errno == ENOENT ? SR_ENOENT : SR_EIO, "%s: %s", path, strerror(errno));
    else if (fstat(fileno(rows->file), &st) == 0 && S_ISREG(st.st_mode))
        rows->total = (size_t)st.st_size;
    if (rc == SR_OK)
        rc = sr_paths_new(&rows->paths, specs, n_specs, err);
    if (rc != SR_OK)
        sr_rows_close(rows);
    else
        *out = rows;
    return rc;
}

void sr_rows_close(struct sr_rows *rows)
{
    if (!rows)
        return;
    if (rows->file && rows->file != stdin)
        fclose(rows->file);
    sr_paths_unref(rows->paths);
    sr_arena_dispose(&rows->arena);
    sr_buf_dispose(&rows->line);
    sr_mem_free(rows);
}

/* Appends one line with its end to `line`; shorter only at the end of the file. */
static int read_line(struct sr_rows *rows)
{
    for (;;) {
        if (rows->at == rows->filled) {
            rows->at = 0;
            rows->filled = fread(rows->piece, 1, sizeof rows->piece, rows->file);
            if (rows->filled == 0)
                return ferror(rows->file) ? SR_EIO : SR_OK;
        }
        const char *from = rows->piece + rows->at;
        const char *end = memchr(from, '\n', rows->filled - rows->at);
        size_t n = end ? (size_t)(end - from) + 1 : rows->filled - rows->at;
        rows->at += n;
        rows->done += n;
        int rc = sr_buf_append(&rows->line, from, n);
        if (rc != SR_OK || end)
            return rc;
    }
}

/* The next line that is not empty. */
static int next_line(struct sr_rows *rows, struct sr_err *err)
{
    do {
        sr_buf_clear(&rows->line);
        int rc = read_line(rows);
        if (rc != SR_OK)
            return sr_err_set(err, rc, "%s:%zu: %s", rows->path, rows->number + 1,
                              rc == SR_EIO ? strerror(errno) : sr_strerror(rc));
        if (rows->line.len == 0)
            return SR_ECLOSED;
        rows->number++;
    } while (sr_bytes_trim(sr_buf_view(&rows->line)).n == 0);
    return SR_OK;
}

static int scan_line(struct sr_rows *rows, const struct sr_span **spans, size_t *n, struct sr_err *err)
{
    struct sr_scan *scan = NULL;
    struct sr_err what = {0};
    int rc = sr_scan_new(&scan, rows->paths, sr_scan_limits_defaults(), &rows->arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, rows->line.data, rows->line.len, &what);
    if (rc == SR_OK || rc == SR_MORE)
        rc = sr_scan_finish(scan, &what);
    if (rc == SR_OK && sr_scan_root_kind(scan) != SR_JSON_OBJECT)
        rc = sr_err_set(&what, SR_EPARSE, "expected an object with `text`");
    if (rc != SR_OK)
        return sr_err_set(err, rc, "%s:%zu: %.200s", rows->path, rows->number,
                          what.message[0] ? what.message : sr_strerror(rc));
    *spans = sr_scan_spans(scan, n);
    return SR_OK;
}

/* Takes one member into the row. */
static void take_member(struct sr_rows *rows, const struct sr_span *span, struct sr_bytes line,
                        struct sr_row *row)
{
    bool string = span->kind == SR_JSON_STRING;
    if (span->id == PATH_ID)
        row->id = sr_span_raw(span, line);
    else if (span->id == PATH_GROUP)
        row->group = string ? sr_span_text(span, line, &rows->arena) : sr_span_raw(span, line);
    else if (!string)
        return;
    else if (span->id == PATH_TEXT)
        row->text = sr_span_text(span, line, &rows->arena);
    else if (span->id == PATH_LABEL)
        row->label = sr_span_text(span, line, &rows->arena);
    else if (span->id == PATH_LANG)
        row->lang = sr_span_text(span, line, &rows->arena);
}

int sr_rows_next(struct sr_rows *rows, struct sr_row *row, struct sr_err *err)
{
    const struct sr_span *spans = NULL;
    size_t n = 0;
    sr_arena_dispose(&rows->arena);
    int rc = next_line(rows, err);
    if (rc == SR_OK)
        rc = scan_line(rows, &spans, &n, err);
    if (rc != SR_OK)
        return rc;
    struct sr_bytes line = sr_buf_view(&rows->line);
    *row = (struct sr_row){.line = rows->number, .raw = line};
    for (size_t i = 0; i < n; i++)
        take_member(rows, &spans[i], line, row);
    if (!row->text.p)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: no string `text`", rows->path, rows->number);
    return SR_OK;
}

void sr_rows_progress(const struct sr_rows *rows, size_t *done, size_t *total)
{
    *done = rows->done;
    *total = rows->total;
}

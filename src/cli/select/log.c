/* Reads lines in the order of the log: the file of vectors has one for each of them. */
#include "cli/select/log.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/term.h"
#include "infer/embed.h"
#include "select/model/number.h"
#include "select/model/predictor.h"

#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)2 << 30)
#define GROUP_TEXTS    256u
#define GROUP_IDS      65536u
#define WINDOWS        16 /* as a server reads by default: global.semroute.inference.max_windows */

/* ---- lines ---- */

/* The next line that is not empty; false at the end. */
static bool next_line(struct sr_bytes *rest, size_t *number, struct sr_bytes *line)
{
    while (rest->n) {
        const char *end = memchr(rest->p, '\n', rest->n);
        *line = sr_bytes_of(rest->p, end ? (size_t)(end - rest->p) : rest->n);
        *rest = sr_bytes_of(rest->p + line->n + (end != NULL), rest->n - line->n - (end != NULL));
        ++*number;
        if (sr_bytes_trim(*line).n)
            return true;
    }
    return false;
}

/* Adds all lines; `of_line` [lines] gets the text of each, for the file of vectors. */
static int read_lines(struct sr_cli_log *log, const char *path, struct sr_bytes text, uint32_t **of_line,
                      size_t *lines, struct sr_err *err)
{
    struct sr_bytes rest = text, line;
    size_t number = 0, cap = 0;
    while (next_line(&rest, &number, &line)) {
        struct sr_err what = {0};
        size_t before = log->outcomes.n;
        int rc = sr_outcomes_add(&log->outcomes, line, &what);
        if (rc)
            return sr_err_set(err, rc, "%.160s:%zu: %.120s", path, number,
                              what.message[0] ? what.message : sr_strerror(rc));
        if (*lines == cap) {
            cap = cap ? 2 * cap : 1024;
            uint32_t *more = sr_mem_realloc(*of_line, cap * sizeof *more);
            if (!more)
                return sr_err_set(err, SR_ENOMEM, "out of memory");
            *of_line = more;
        }
        (*of_line)[(*lines)++] = log->outcomes.n > before ? log->outcomes.rows[before].text : UINT32_MAX;
    }
    return log->outcomes.n ? SR_OK : sr_err_set(err, SR_EPARSE, "%.160s: no rows", path);
}

/* ---- vectors of a file ---- */

static int take_vector(struct sr_cli_log *log, struct sr_bytes line, uint32_t text, struct sr_err *err)
{
    sr_json_view root, value;
    struct sr_bytes name = {0};
    char encoder[sizeof log->encoder];
    int64_t dimensions = 0;
    size_t at = 0, d = 0;
    if (sr_json_view_open(&root, line, err))
        return SR_EPARSE;
    sr_json_view model = sr_json_view_get(root, "model"), list = sr_json_view_get(root, "embedding");
    if (!sr_json_view_is_string(model) || model.n >= sizeof encoder || !sr_json_view_is_array(list) ||
        !sr_json_view_int(sr_json_view_get(root, "dimensions"), &dimensions) || dimensions < 1 ||
        dimensions > SR_PREDICTOR_WIDE)
        return sr_err_set(err, SR_EPARSE, "expected a line of `semroute embed --json --jsonl LOG`");
    name.n = sr_json_view_decode(model, encoder);
    encoder[name.n] = '\0';
    if (!log->vectors) {
        memcpy(log->encoder, encoder, name.n + 1);
        log->dimensions = (size_t)dimensions;
        log->vectors = sr_mem_calloc(log->outcomes.n_texts, log->dimensions * sizeof *log->vectors);
        if (!log->vectors)
            return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    if (strcmp(encoder, log->encoder) != 0 || (size_t)dimensions != log->dimensions)
        return sr_err_set(err, SR_EPARSE, "vectors of another model than before");
    for (double number; sr_json_view_next(list, &at, NULL, &value); d++) {
        if (d == log->dimensions || !sr_number_read(value, &number))
            return sr_err_set(err, SR_EPARSE, "`embedding` is not a list of %zu numbers", log->dimensions);
        if (text != UINT32_MAX)
            log->vectors[text * log->dimensions + d] = (float)number;
    }
    return d == log->dimensions ? SR_OK : sr_err_set(err, SR_EPARSE, "`embedding` has another length");
}

static int read_vectors(struct sr_cli_log *log, const char *path, const uint32_t *of_line, size_t lines,
                        struct sr_err *err)
{
    struct sr_buf file;
    struct sr_bytes line;
    size_t number = 0, i = 0;
    sr_buf_init(&file, FILE_MAX_BYTES);
    int rc = sr_cmd_read(path, &file, err);
    struct sr_bytes rest = sr_buf_view(&file);
    while (rc == SR_OK && next_line(&rest, &number, &line)) {
        struct sr_err what = {0};
        if (i == lines)
            rc = sr_err_set(err, SR_EPARSE, "%.160s: more vectors than the log has lines", path);
        else if ((rc = take_vector(log, line, of_line[i++], &what)) != SR_OK)
            sr_err_set(err, rc, "%.160s:%zu: %.120s", path, number, what.message);
    }
    if (rc == SR_OK && i < lines)
        rc = sr_err_set(err, SR_EPARSE, "%.160s: %zu vectors for %zu lines of the log", path, i, lines);
    sr_buf_dispose(&file);
    return rc;
}

/* ---- vectors of an encoder ---- */

static int embed_some(struct sr_cli_log *log, const struct sr_cli_encoder *encoder, size_t from, size_t *n,
                      size_t ids, struct sr_err *err)
{
    struct sr_embed_options o = sr_embed_defaults(encoder->encoder);
    struct sr_embed *group = NULL;
    o.windows.max_windows = WINDOWS;
    o.max_texts = *n;
    o.max_ids = ids ? ids : o.max_ids;
    int rc = sr_embed_new(&group, encoder->encoder, &o, err);
    size_t taken = 0;
    while (rc == SR_OK && taken < *n && from + taken < log->outcomes.n_texts &&
           sr_embed_add(group, log->outcomes.texts[from + taken]) == SR_OK)
        taken++;
    *n = taken;
    if (rc == SR_OK && taken)
        rc = sr_embed_run(group, encoder->infer);
    if (rc == SR_OK && !log->vectors) {
        log->dimensions = sr_embed_dimensions(group);
        log->vectors = sr_mem_calloc(log->outcomes.n_texts, log->dimensions * sizeof *log->vectors);
        rc = log->vectors ? SR_OK : SR_ENOMEM;
    }
    for (size_t i = 0; rc == SR_OK && i < taken; i++)
        sr_embed_vector(group, i, log->vectors + (from + i) * log->dimensions);
    sr_embed_free(group);
    return rc;
}

static int embed_all(struct sr_cli_log *log, const struct sr_cli_encoder *encoder, struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t at = 0, n; rc == SR_OK && at < log->outcomes.n_texts; at += n) {
        n = GROUP_TEXTS;
        rc = embed_some(log, encoder, at, &n, GROUP_IDS, err);
        if (rc == SR_OK && n == 0) { /* a text that is too long for a group of many */
            n = 1;
            rc = embed_some(log, encoder, at, &n, 0, err);
        }
        if (rc == SR_OK && n == 0)
            rc = sr_err_set(err, SR_ELIMIT, "text %zu of the log is too long, or empty", at + 1);
        sr_term_progress("embed", at + n, log->outcomes.n_texts + 1);
    }
    sr_term_progress("embed", 1, 1);
    if (rc && !err->message[0])
        sr_err_set(err, rc, "%s", sr_strerror(rc));
    snprintf(log->encoder, sizeof log->encoder, "%s", sr_cli_encoder_name(encoder->encoder));
    return rc;
}

/* ---- both ---- */

static bool add_vectors(const struct sr_usage *usage, struct sr_cli_log_args *args, struct sr_cli_log *out,
                        const uint32_t *of_line, size_t lines, int *code)
{
    struct sr_cli_encoder encoder = {0};
    struct sr_err err = {0};
    char path[SR_LOCATE_MAX];
    int rc;
    if (args->vectors) {
        rc = read_vectors(out, args->vectors, of_line, lines, &err);
    } else if (!sr_cli_encoder_choose(usage, &args->encoder, "embedding", path, code) ||
               !sr_cli_encoder_open(usage, &args->encoder, NULL, NULL, &encoder, code)) {
        return false;
    } else {
        rc = embed_all(out, &encoder, &err);
        sr_cli_encoder_close(&encoder);
    }
    if (rc)
        *code = sr_cmd_fail(usage, rc == SR_EPARSE || rc == SR_ELIMIT ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                            err.message);
    return rc == SR_OK;
}

bool sr_cli_log_read(const struct sr_usage *usage, struct sr_cli_log_args *args, const char *path,
                     struct sr_cli_log *out, int *code)
{
    struct sr_buf file;
    struct sr_err err = {0};
    uint32_t *of_line = NULL;
    size_t lines = 0;
    *out = (struct sr_cli_log){0};
    sr_outcomes_init(&out->outcomes);
    sr_buf_init(&file, FILE_MAX_BYTES);
    int rc = sr_cmd_read(path, &file, &err);
    if (rc == SR_OK)
        rc = read_lines(out, strcmp(path, "-") == 0 ? "standard input" : path, sr_buf_view(&file), &of_line,
                        &lines, &err);
    sr_buf_dispose(&file);
    bool good = rc == SR_OK;
    if (!good)
        *code = sr_cmd_fail(usage, rc == SR_EPARSE || rc == SR_ELIMIT ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                            err.message);
    good = good && add_vectors(usage, args, out, of_line, lines, code);
    sr_mem_free(of_line);
    if (!good)
        sr_cli_log_dispose(out);
    return good;
}

void sr_cli_log_dispose(struct sr_cli_log *log)
{
    sr_outcomes_dispose(&log->outcomes);
    sr_mem_free(log->vectors);
    *log = (struct sr_cli_log){0};
}

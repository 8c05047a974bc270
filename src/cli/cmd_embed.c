/*
 * semroute embed: the vector of one text, or of each row of a JSON Lines file.
 */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cli/classify/encoder.h"
#include "cli/rows.h"
#include "cli/term.h"
#include "infer/embed.h"

#include <unistd.h>

#define GROUP_TEXTS 256u
#define GROUP_IDS   16384u /* of one group of rows, where no text alone has more */
#define OUT_MAX     ((size_t)64 << 20)
#define SHOWN       8 /* numbers on a line for people */

static struct sr_cli_encoder_args args;
static const char *jsonl;
static long dimensions, layers;
static bool json;
static const struct sr_option options[] = {
    {"model", SR_OPTION_TEXT, &args.model, "DIR", "a model folder instead of the default one"},
    {"dimensions", SR_OPTION_NUMBER, &dimensions, "N", "keep the first N numbers, at length 1 again"},
    {"layers", SR_OPTION_NUMBER, &layers, "N", "stop after N layers"},
    SR_CLI_ENCODER_OPTIONS(args),
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
    {"jsonl", SR_OPTION_TEXT, &jsonl, "FILE",
     "embed `text` of each line; one JSON line each; - is standard input"},
};
const struct sr_usage sr_embed_usage = {
    .name = "embed",
    .synopsis = "[--model DIR] [--json] TEXT | --jsonl FILE",
    .summary = "Prints the embedding of a text, a vector of length 1.",
    .text = "Without TEXT it reads standard input. Texts longer than the model reads at once go through it "
            "in\noverlapping windows; the vector is the mean of theirs.\n",
    SR_OPTIONS(options),
};

static int put_json(struct sr_buf *out, const struct sr_embed *group, size_t i, const char *model,
                    const float *vector, struct sr_bytes id, double us)
{
    const struct sr_windows *windows = sr_embed_windows(group, i);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    if (id.p)
        sr_json_raw(&w, "id", id);
    sr_json_text(&w, "model", model);
    sr_json_uint(&w, "dimensions", sr_embed_dimensions(group));
    sr_json_uint(&w, "tokens", windows->tokens);
    sr_json_uint(&w, "tokens_read", windows->read);
    sr_json_uint(&w, "windows", windows->n);
    sr_json_array(&w, "embedding");
    for (size_t k = 0; k < sr_embed_dimensions(group); k++)
        sr_json_real(&w, NULL, "%.8g", (double)vector[k]);
    sr_json_array_end(&w);
    sr_json_real(&w, "us", "%.1f", us);
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}

static int put_picture(struct sr_buf *out, const struct sr_embed *group, const char *model,
                       const float *vector, double us)
{
    const struct sr_windows *w = sr_embed_windows(group, 0);
    size_t n = sr_embed_dimensions(group);
    int rc = sr_buf_printf(out, "%s  %zu numbers  (%zu of %zu tokens read, %zu window%s, %.0f us)\n", model,
                           n, w->read, w->tokens, w->n, w->n == 1 ? "" : "s", us);
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        rc = sr_buf_printf(out, "%9.5f%s", (double)vector[i], (i + 1) % SHOWN && i + 1 < n ? " " : "\n");
    return rc;
}

static int new_group(const struct sr_cli_encoder *encoder, size_t max_texts, size_t max_ids,
                     struct sr_embed **out, struct sr_err *err)
{
    struct sr_embed_options o = sr_embed_defaults(encoder->encoder);
    o.max_texts = max_texts;
    o.max_ids = max_ids ? max_ids : o.max_ids;
    o.layers = layers < UINT16_MAX ? (uint16_t)layers : UINT16_MAX;
    o.dimensions = dimensions < UINT16_MAX ? (uint16_t)dimensions : UINT16_MAX;
    return sr_embed_new(out, encoder->encoder, &o, err);
}

/* ---- one text ---- */

static int embed_text(const struct sr_cli_encoder *encoder, struct sr_bytes text, struct sr_buf *out,
                      struct sr_err *err)
{
    struct sr_embed *group = NULL;
    const char *model = sr_cli_encoder_name(encoder->encoder);
    uint64_t start = sr_clock_ns();
    int rc = new_group(encoder, 1, 0, &group, err);
    if (rc == SR_OK && (rc = sr_embed_add(group, text)) != SR_OK)
        sr_err_set(err, rc, rc == SR_ELIMIT ? "the text is too long" : "the text cannot be read: %s",
                   sr_strerror(rc));
    if (rc == SR_OK && (rc = sr_embed_run(group, encoder->infer)) != SR_OK)
        sr_err_set(err, rc, "%s", sr_strerror(rc));
    double us = (double)(sr_clock_ns() - start) / 1e3;
    float *vector = rc == SR_OK ? sr_mem_calloc(sr_embed_dimensions(group), sizeof *vector) : NULL;
    if (rc == SR_OK && !vector)
        rc = sr_err_set(err, SR_ENOMEM, "out of memory");
    if (rc == SR_OK && vector) {
        sr_embed_vector(group, 0, vector);
        rc = json ? put_json(out, group, 0, model, vector, (struct sr_bytes){0}, us)
                  : put_picture(out, group, model, vector, us);
    }
    sr_mem_free(vector);
    sr_embed_free(group);
    return rc;
}

static int one_text(const struct sr_cli_encoder *encoder, const struct sr_operands *operands)
{
    struct sr_buf input, out;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE, rc = SR_OK;
    sr_buf_init(&input, SR_TOKENIZER_TEXT_MAX + 2);
    sr_buf_init(&out, OUT_MAX);
    if (operands->count == 0)
        rc = sr_cmd_read("-", &input, &err);
    struct sr_bytes text =
        operands->count ? sr_bytes_str(operands->items[0]) : sr_bytes_trim(sr_buf_view(&input));
    if (rc == SR_OK)
        rc = embed_text(encoder, text, &out, &err);
    if (rc != SR_OK)
        code = sr_cmd_fail(&sr_embed_usage,
                           rc == SR_EINVAL   ? SR_EXIT_USAGE
                           : rc == SR_ELIMIT ? SR_EXIT_NO
                                             : SR_EXIT_FAILED,
                           "%s", err.message[0] ? err.message : sr_strerror(rc));
    else if (!sr_cmd_put(sr_buf_view(&out)))
        code = sr_cmd_fail(&sr_embed_usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_buf_dispose(&input);
    sr_buf_dispose(&out);
    return code;
}

/* ---- rows, in groups ---- */

struct rows {
    const struct sr_cli_encoder *encoder;
    struct sr_rows *file;
    struct sr_embed *group; /* rows that are not computed yet */
    struct sr_arena ids;    /* their ids */
    struct sr_bytes row_ids[GROUP_TEXTS];
    float *vector;
    struct sr_buf out;
};

/* Computes and prints the group; there is none afterwards. */
static int flush(struct rows *r, struct sr_err *err)
{
    size_t n = r->group ? sr_embed_count(r->group) : 0, all = 0;
    uint64_t start = sr_clock_ns();
    int rc = n ? sr_embed_run(r->group, r->encoder->infer) : SR_OK;
    double us = (double)(sr_clock_ns() - start) / 1e3;
    if (rc != SR_OK)
        sr_err_set(err, rc, "%s", sr_strerror(rc));
    for (size_t i = 0; i < n; i++)
        all += sr_embed_windows(r->group, i)->total_ids;
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        double share = (double)sr_embed_windows(r->group, i)->total_ids / (double)all;
        sr_embed_vector(r->group, i, r->vector);
        sr_buf_clear(&r->out);
        rc = put_json(&r->out, r->group, i, sr_cli_encoder_name(r->encoder->encoder), r->vector,
                      r->row_ids[i], us * share);
        if (rc == SR_OK && fwrite(r->out.data, 1, r->out.len, stdout) != r->out.len)
            rc = sr_err_set(err, SR_EIO, "cannot write to standard output");
    }
    sr_embed_free(r->group);
    r->group = NULL;
    sr_arena_dispose(&r->ids);
    return rc;
}

/* A row to the group; when that is full, to a new one; a text that is too long for it has one of its own. */
static int add(struct rows *r, const struct sr_row *row, struct sr_err *err)
{
    int rc = SR_ELIMIT;
    for (int attempt = 0; attempt < 3 && rc == SR_ELIMIT; attempt++) {
        if (attempt && (rc = flush(r, err)) != SR_OK)
            return rc;
        if (!r->group &&
            (rc = new_group(r->encoder, GROUP_TEXTS, attempt == 2 ? 0 : GROUP_IDS, &r->group, err)) != SR_OK)
            return rc;
        rc = sr_embed_add(r->group, row->text);
    }
    if (rc != SR_OK)
        return sr_err_set(err, rc, "%s:%zu: %s", jsonl, row->line,
                          rc == SR_ELIMIT ? "the text is too long" : sr_strerror(rc));
    struct sr_bytes *id = &r->row_ids[sr_embed_count(r->group) - 1];
    *id = row->id.p ? sr_arena_dup(&r->ids, row->id) : row->id;
    return row->id.p && !id->p ? sr_err_set(err, SR_ENOMEM, "out of memory") : SR_OK;
}

static size_t vector_size(const struct sr_encoder *encoder)
{
    int head = sr_encoder_find_head(encoder, "embedding");
    return head < 0 ? 1 : sr_encoder_info(encoder)->heads[head].n_labels;
}

static int embed_rows(const struct sr_cli_encoder *encoder)
{
    struct rows r = {.encoder = encoder};
    struct sr_row row;
    struct sr_err err = {0};
    size_t done, total;
    int code = SR_EXIT_DONE;
    sr_arena_init(&r.ids, OUT_MAX);
    sr_buf_init(&r.out, OUT_MAX);
    r.vector = sr_mem_calloc(vector_size(encoder->encoder), sizeof *r.vector);
    int rc = r.vector ? sr_rows_open(&r.file, jsonl, &err) : SR_ENOMEM;
    while (rc == SR_OK && (rc = sr_rows_next(r.file, &row, &err)) == SR_OK &&
           (rc = add(&r, &row, &err)) == SR_OK) {
        sr_rows_progress(r.file, &done, &total);
        if (!isatty(STDOUT_FILENO))
            sr_term_progress("embed", done / 1024, total / 1024 + 1);
    }
    struct sr_err flushed = {0};
    if (rc == SR_ECLOSED)
        rc = flush(&r, &err);
    else if (rc == SR_EPARSE || rc == SR_ELIMIT) /* the rows before the bad one have their vectors */
        (void)flush(&r, &flushed);
    sr_term_progress("embed", 1, 1);
    if (rc == SR_OK && fflush(stdout) != 0)
        rc = sr_err_set(&err, SR_EIO, "cannot write to standard output");
    if (rc != SR_OK)
        code = sr_cmd_fail(&sr_embed_usage,
                           rc == SR_EPARSE || rc == SR_ELIMIT ? SR_EXIT_NO
                           : rc == SR_EINVAL                  ? SR_EXIT_USAGE
                                                              : SR_EXIT_FAILED,
                           "%s", err.message[0] ? err.message : sr_strerror(rc));
    sr_embed_free(r.group);
    sr_rows_close(r.file);
    sr_mem_free(r.vector);
    sr_arena_dispose(&r.ids);
    sr_buf_dispose(&r.out);
    return code;
}

int sr_cmd_embed(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_cli_encoder encoder;
    char path[SR_LOCATE_MAX];
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_embed_usage, argc, argv, 1, &operands, &code))
        return code;
    if (jsonl && operands.count)
        return sr_cmd_misuse(&sr_embed_usage, "give TEXT or --jsonl, not both");
    if (!sr_cli_encoder_choose(&sr_embed_usage, &args, "embedding", path, &code) ||
        !sr_cli_encoder_open(&sr_embed_usage, &args, NULL, NULL, &encoder, &code))
        return code;
    code = jsonl ? embed_rows(&encoder) : one_text(&encoder, &operands);
    sr_cli_encoder_close(&encoder);
    return code;
}

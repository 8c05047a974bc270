/*
 * semroute cache calibrate: from pairs of questions to a threshold. Counting and drawing are curve.c's and
 * svg.c's.
 */
#include "cli/cache/calibrate.h"

#include "base/json_write.h"
#include "cli/cache/curve.h"
#include "cli/cmd.h"

#include <stdlib.h>

#define OUT_MAX ((size_t)256 << 20)

static int code_of(int rc)
{
    return rc == SR_EPARSE || rc == SR_ELIMIT ? SR_EXIT_NO : SR_EXIT_FAILED;
}

static bool read_limit(const struct sr_usage *usage, const char *given, double *limit, int *code)
{
    char *end = NULL;
    *limit = 0.005;
    if (!given)
        return true;
    double percent = strtod(given, &end);
    if (end != given && *end == '%')
        end++;
    if (end != given && *end == '\0' && percent >= 0 && percent <= 100) {
        *limit = percent / 100;
        return true;
    }
    *code = sr_cmd_misuse(usage, "`--max-false-hits` needs percent from 0 to 100, not `%.40s`", given);
    return false;
}

/* Each pair as a line: what vectors and gate say of it. */
static int list_pairs(const struct sr_pairs *pairs, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < pairs->n && rc == SR_OK; i++) {
        const struct sr_pair *pair = &pairs->items[i];
        struct sr_json_writer w = sr_json_writer_of(out);
        sr_json_object(&w, NULL);
        sr_json_bytes(&w, "a", pairs->texts[pair->a]);
        sr_json_bytes(&w, "b", pairs->texts[pair->b]);
        sr_json_bool(&w, "same", pair->same);
        sr_json_real(&w, "similarity", "%.5f", (double)pair->cosine);
        sr_json_text(&w, "gate", sr_gate_reason_names[pair->reason]);
        sr_json_object_end(&w);
        rc = w.rc ? w.rc : sr_buf_append(out, "\n", 1);
    }
    return rc;
}

static int report(const struct sr_usage *usage, const struct sr_calibrate_options *o,
                  const struct sr_pairs *pairs, const struct sr_curve *curve, const char *model)
{
    struct sr_buf out;
    int code = SR_EXIT_DONE;
    sr_buf_init(&out, OUT_MAX);
    int rc = o->json ? sr_curve_json(curve, pairs, model, &out) : sr_curve_print(curve, pairs, &out);
    if (rc == SR_OK && !sr_cmd_put(sr_buf_view(&out)))
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_buf_clear(&out);
    if (rc == SR_OK && code == SR_EXIT_DONE && o->svg && (rc = sr_curve_svg(curve, &out)) == SR_OK)
        (void)sr_cmd_save(usage, o->svg, sr_buf_view(&out), &code);
    sr_buf_clear(&out);
    if (rc == SR_OK && code == SR_EXIT_DONE && o->pairs && (rc = list_pairs(pairs, &out)) == SR_OK)
        (void)sr_cmd_save(usage, o->pairs, sr_buf_view(&out), &code);
    sr_buf_dispose(&out);
    return rc == SR_OK ? code : sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", sr_strerror(rc));
}

static int compare(const struct sr_usage *usage, struct sr_calibrate_options *o, struct sr_pairs *pairs,
                   double limit)
{
    struct sr_cli_encoder encoder = {0};
    struct sr_curve curve;
    struct sr_err err = {0};
    char path[SR_LOCATE_MAX];
    int code = SR_EXIT_DONE;
    if (!sr_cli_encoder_choose(usage, &o->encoder, "embedding", path, &code) ||
        !sr_cli_encoder_open(usage, &o->encoder, NULL, NULL, &encoder, &code))
        return code;
    int rc = sr_pairs_compare(pairs, encoder.encoder, encoder.infer, &err);
    if (rc != SR_OK) {
        code = sr_cmd_fail(usage, code_of(rc), "%s", err.message);
    } else {
        sr_curve_measure(&curve, pairs, limit);
        if (curve.same && curve.different)
            code = report(usage, o, pairs, &curve, sr_cli_encoder_name(encoder.encoder));
        else
            code =
                sr_cmd_fail(usage, SR_EXIT_NO, "%zu pairs ask the same and %zu do not: it needs both kinds",
                            curve.same, curve.different);
    }
    sr_cli_encoder_close(&encoder);
    return code;
}

int sr_cache_calibrate(const struct sr_usage *usage, struct sr_calibrate_options *options, const char *path)
{
    struct sr_pairs pairs;
    struct sr_err err = {0};
    double limit;
    int code = SR_EXIT_DONE;
    if (!read_limit(usage, options->max_false_hits, &limit, &code))
        return code;
    sr_pairs_init(&pairs);
    int rc = sr_pairs_read(&pairs, path, &err);
    code = rc == SR_OK ? compare(usage, options, &pairs, limit)
                       : sr_cmd_fail(usage, code_of(rc), "%s", err.message);
    sr_pairs_dispose(&pairs);
    return code;
}

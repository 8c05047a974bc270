/* Reads an outcome, links it, and teaches the arms. */
#include "serve/admin/outcomes.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "history/report.h"
#include "history/select.h"
#include "serve/local.h"
#include "json/doc.h"

#include <math.h>

#define BODY_MAX ((size_t)16 << 10)

static int refuse(struct sr_buf *out, int status, const char *message)
{
    sr_buf_clear(out);
    (void)sr_local_error(out, status, NULL, NULL, message);
    return status;
}

/* A short text of the body; false: it is something else, or too long. */
static bool read_text(const sr_doc_value *root, const char *name, struct sr_bytes *out)
{
    const sr_doc_value *value = sr_doc_get(root, name);
    *out = value ? sr_doc_string(value) : SR_LIT("");
    return out->p && out->n <= SR_HISTORY_TEXT_MAX;
}

struct report {
    struct sr_history_outcome outcome;
    struct sr_bytes id;
    bool by_request;
};

static bool read_score(const sr_doc_value *root, double *out)
{
    const sr_doc_value *value = sr_doc_get(root, "score");
    *out = NAN;
    return !value || (sr_doc_number(value, out) && *out >= 0 && *out <= 1);
}

static bool read(const sr_doc_value *root, struct report *out)
{
    struct sr_history_outcome *o = &out->outcome;
    struct sr_bytes replay, request;
    if (!read_text(root, "replay_id", &replay) || !read_text(root, "request_id", &request) ||
        !read_text(root, "source", &o->source) || !read_text(root, "target", &o->target) ||
        !read_text(root, "target_ref", &o->target_ref) || !read_text(root, "verdict", &o->verdict) ||
        !read_text(root, "reason", &o->reason) || !read_score(root, &o->score))
        return false;
    out->by_request = !replay.n;
    out->id = replay.n ? replay : request;
    return out->id.n && (o->verdict.n || !isnan(o->score));
}

/* How good the model was; NAN: the outcome does not say. */
static double quality_of(const struct sr_history_outcome *o)
{
    if (!isnan(o->score))
        return o->score;
    if (sr_bytes_eq(o->verdict, SR_LIT("good_fit")))
        return 1;
    bool bad = sr_bytes_eq(o->verdict, SR_LIT("underpowered")) || sr_bytes_eq(o->verdict, SR_LIT("failed"));
    return bad ? 0 : (double)NAN;
}

/* Teaches the arm of the model that answered. */
static bool teach(sr_runtime *runtime, const struct report *report, const struct sr_history_entry *entry)
{
    const struct sr_history_outcome *o = &report->outcome;
    struct sr_bytes model = entry->f.texts[SR_HISTORY_SELECTED_MODEL];
    double quality = quality_of(o);
    bool of_model = !o->target.n || sr_bytes_eq(o->target, SR_LIT("model"));
    if (isnan(quality) || !of_model || (o->target_ref.n && !sr_bytes_eq(o->target_ref, model)))
        return false;
    return sr_arms_feedback(sr_runtime_arms(runtime), entry->f.texts[SR_HISTORY_REQUEST_ID], quality) ==
           SR_OK;
}

static int64_t now_us(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US);
}

static int answer(const struct sr_history_entry *entry, bool learned, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "router.outcome");
    sr_json_bytes(&w, "replay_id", entry->f.texts[SR_HISTORY_ID]);
    sr_json_bool(&w, "recorded", true);
    sr_json_bool(&w, "learned", learned);
    sr_json_object_end(&w);
    return w.rc ? refuse(out, 503, "The server is out of memory.") : 200;
}

static int link_outcome(sr_runtime *runtime, const struct report *report, struct sr_buf *out)
{
    struct sr_history *kept = sr_runtime_kept(runtime);
    int rc = sr_history_report(kept, report->id, report->by_request, &report->outcome);
    struct sr_history_entry *entry =
        rc ? NULL
           : sr_history_find(kept, report->by_request ? SR_HISTORY_REQUEST_ID : SR_HISTORY_ID, report->id);
    if (!entry)
        return rc == SR_ENOMEM ? refuse(out, 503, "The server is out of memory.")
                               : refuse(out, 404, "replay record not found");
    int status = answer(entry, teach(runtime, report, entry), out);
    sr_history_entry_unref(entry);
    return status;
}

int sr_api_outcomes(sr_runtime *runtime, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    struct report report = {.outcome.time_us = now_us()};
    int rc = sr_doc_parse(&doc, body, BODY_MAX, &err);
    bool valid = !rc && read(sr_doc_root(doc), &report);
    int status =
        valid ? link_outcome(runtime, &report, out)
              : refuse(out, 400,
                       err.message[0] ? err.message
                                      : "The body must have `replay_id` or `request_id`, and `verdict` "
                                        "or a `score` of 0 to 1; texts have at most 256 bytes.");
    struct sr_bytes result = status == 200   ? SR_LIT("taken")
                             : status == 404 ? SR_LIT("unknown")
                                             : SR_LIT("invalid");
    sr_metrics_add(sr_runtime_metrics_table(runtime), SR_METRIC_FEEDBACK, 1, &result);
    sr_doc_free(doc);
    return status;
}

int sr_api_outcome_score(sr_runtime *runtime, struct sr_bytes request_id, double score)
{
    struct sr_bytes none = SR_LIT("");
    struct sr_history_outcome outcome = {now_us(), score, SR_LIT("feedback"), SR_LIT("model"), none,
                                         none,     none};
    return sr_history_report(sr_runtime_kept(runtime), request_id, true, &outcome);
}

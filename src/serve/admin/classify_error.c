/* Codes and messages of errors; each replaces what was written of an answer. */
#include "serve/admin/classify_error.h"

#include "base/clock.h"
#include "serve/admin/classify_batch.h"

#include <time.h>

int sr_api_classify_error(struct sr_buf *out, int status, const char *code, const char *message)
{
    time_t now = (time_t)(sr_clock_wall_ns() / SR_NS_PER_S);
    struct tm tm;
    char text[40];
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    sr_buf_clear(out);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_object(&w, "error");
    sr_json_text(&w, "code", code);
    sr_json_text(&w, "message", message);
    sr_json_text(&w, "timestamp", text);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc ? 503 : status;
}

/* The error of a body; NULL when it is valid. */
static const char *complaint(const sr_doc_value *root, enum sr_api_classify_kind kind)
{
    if (kind != SR_API_CLASSIFY_BATCH) {
        struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
        return text.p && text.n ? NULL : "text must be a string that is not empty";
    }
    const sr_doc_value *texts = sr_doc_get(root, "texts");
    size_t n = sr_doc_kind(texts) == SR_JSON_ARRAY ? sr_doc_size(texts) : 0;
    if (n == 0)
        return "texts must be a list that is not empty";
    if (n > SR_API_CLASSIFY_BATCH_MAX)
        return "texts may have at most 100 entries";
    for (size_t i = 0; i < n; i++)
        if (!sr_doc_string(sr_doc_at(texts, i)).p)
            return "texts must be a list of strings";
    return NULL;
}

int sr_api_classify_check(const sr_doc_value *root, enum sr_api_classify_kind kind, struct sr_buf *out)
{
    const char *wrong = complaint(root, kind);
    if (wrong)
        return sr_api_classify_error(out, 400, "INVALID_INPUT", wrong);
    if (kind == SR_API_CLASSIFY_BATCH && sr_api_batch_task(root) == SR_API_BATCH_NONE)
        return sr_api_classify_error(out, 400, "INVALID_TASK_TYPE",
                                     "task_type must be intent, pii, security or all");
    return 200;
}

int sr_api_classify_end(const struct sr_api_classify_call *call)
{
    if (call->missing)
        return sr_api_classify_error(call->json.out, 503, "UNIFIED_CLASSIFIER_UNAVAILABLE",
                                     "the classifier is not available");
    if (call->json.rc == SR_EINVAL)
        return sr_api_classify_error(call->json.out, 400, "INVALID_INPUT",
                                     "entity_types names an unknown type");
    if (call->json.rc == SR_ELIMIT)
        return sr_api_classify_error(call->json.out, 413, "REQUEST_BODY_TOO_LARGE",
                                     "the text has more findings than one answer can hold");
    return call->json.rc ? sr_api_classify_error(call->json.out, 500, "CLASSIFICATION_ERROR",
                                                 "the text could not be classified")
                         : 200;
}

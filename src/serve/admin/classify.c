/* Checks a body, has the classifiers read it and ends the call; docs/http.md describes the numbers. */
#include "serve/admin/classify.h"

#include "base/clock.h"
#include "serve/admin/classify_batch.h"
#include "serve/admin/classify_error.h"
#include "serve/admin/classify_text.h"

#define SCRATCH_MAX ((size_t)256 << 20)

static void put_combined(struct sr_api_classify_call *call, struct sr_bytes text, const sr_doc_value *root)
{
    uint64_t start = sr_clock_ns();
    sr_json_object(&call->json, NULL);
    sr_api_put_intent(call, "intent", text, sr_doc_get(root, "intent_options"));
    sr_api_put_pii(call, "pii", text, sr_doc_get(root, "pii_options"));
    sr_api_put_security(call, "security", text, sr_doc_get(root, "security_options"));
    sr_api_put_time(call, start);
    sr_json_object_end(&call->json);
}

static void run(struct sr_api_classify_call *call, enum sr_api_classify_kind kind, const sr_doc_value *root)
{
    struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
    const sr_doc_value *options = sr_doc_get(root, "options");
    switch (kind) {
    case SR_API_CLASSIFY_INTENT:
        sr_api_put_intent(call, NULL, text, options);
        break;
    case SR_API_CLASSIFY_PII:
        sr_api_put_pii(call, NULL, text, options);
        break;
    case SR_API_CLASSIFY_SECURITY:
        sr_api_put_security(call, NULL, text, options);
        break;
    case SR_API_CLASSIFY_COMBINED:
        put_combined(call, text, root);
        break;
    case SR_API_CLASSIFY_BATCH:
        sr_api_put_batch(call, root);
        break;
    }
}

int sr_api_classify(const struct sr_router *router, enum sr_api_classify_kind kind, struct sr_bytes body,
                    struct sr_buf *out)
{
    struct sr_api_classify_call call = {.router = router, .json = sr_json_writer_of(out)};
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    if (sr_doc_parse(&doc, body, body.n, &err))
        return sr_api_classify_error(out, 400, "INVALID_INPUT", err.message);
    const sr_doc_value *root = sr_doc_root(doc);
    sr_arena_init(&call.arena, SCRATCH_MAX);
    int status = sr_api_classify_check(root, kind, out);
    if (status == 200) {
        run(&call, kind, root);
        status = sr_api_classify_end(&call);
    }
    sr_arena_dispose(&call.arena);
    sr_doc_free(doc);
    return status;
}

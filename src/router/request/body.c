/* Reads a body chunk by chunk: checks limits, scans, finds the model and checks the complete body. */
#include "router/request/body.h"

#include "base/clock.h"
#include "router/request/multipart.h"

/* First reservation for a body with a content-length. */
#define RESERVE_MAX ((size_t)1 << 20)

/* Bytes of a client's model name that an error shows. */
#define NAME_MAX_SHOWN 128

void sr_body_init(struct sr_body *body, size_t max)
{
    *body = (struct sr_body){.model = -1};
    sr_buf_init(&body->bytes, max);
    sr_upload_init(&body->upload, (struct sr_bytes){"", 0}, max);
}

void sr_body_dispose(struct sr_body *body)
{
    sr_buf_dispose(&body->bytes);
    sr_upload_dispose(&body->upload);
}

int sr_body_begin(struct sr_body *body, const struct sr_router *router, const struct sr_head *head,
                  struct sr_arena *arena)
{
    const struct sr_config_gateway *limits = &router->config->global.gateway;
    struct sr_scan_limits scan = sr_scan_limits_defaults();
    int rc = SR_OK;
    scan.max_spans = limits->max_body_values;
    body->doc.max_strings = limits->max_body_strings;
    body->router = router;
    body->head = head;
    body->arena = arena;
    body->upload.boundary = head->boundary;
    if (head->content_length && !head->boundary.n)
        rc = sr_buf_reserve(&body->bytes,
                            head->content_length < RESERVE_MAX ? (size_t)head->content_length : RESERVE_MAX);
    return rc ? rc
              : sr_scan_new(&body->scan, sr_dialect_request_paths(router->paths, body->doc.dialect), scan,
                            arena);
}

void sr_body_pass(struct sr_body *body)
{
    body->passing = true;
    body->is_stream = body->head->wants_sse;
}

/* ---- refusals ---- */

static bool refuse_json(const struct sr_body *body, const struct sr_err *err, struct sr_refusal *refusal)
{
    if (err->code == SR_ENOMEM)
        sr_refuse_memory(refusal);
    else if (err->code == SR_ELIMIT && sr_scan_is_full(body->scan))
        sr_refuse(refusal, 413, "request_too_large", NULL,
                  "the body has %s, at byte %zu (global.semroute.gateway.max_body_values)", err->message,
                  err->offset);
    else
        sr_refuse(refusal, 400, "invalid_json", NULL, "malformed JSON body: %s at byte %zu", err->message,
                  err->offset);
    refusal->reason = "parse_error";
    return false;
}

static bool refuse_complaint(struct sr_refusal *refusal, const struct sr_complaint *complaint)
{
    sr_refuse(refusal, 400, complaint->code, complaint->param, "%s", complaint->message);
    refusal->reason = "parse_error";
    return false;
}

/* Refuses a member whose key some parsers take for another one. */
static bool refuse_alike(struct sr_body *body, const struct sr_span *span, struct sr_refusal *refusal)
{
    struct sr_request kept = {.body = sr_buf_view(&body->bytes)};
    struct sr_bytes key = SR_LIT("");
    if (span->key_end <= kept.body.n)
        key = sr_request_key(&kept, span, body->arena);
    int shown = (int)(key.n < NAME_MAX_SHOWN ? key.n : NAME_MAX_SHOWN);
    const char *param = key.n ? sr_arena_printf(body->arena, "%.*s", shown, key.p) : NULL;
    sr_refuse(refusal, 400, "ambiguous_field", param,
              "field \"%.*s\" is not spelled as the API spells it: parsers differ about it", shown, key.p);
    refusal->reason = "parse_error";
    return false;
}

/* ---- the model ---- */

/* Is this the name of the encoder, or an automatic one where the encoder alone can be meant? A configured
 * model of that name comes first. */
static bool is_builtin(const struct sr_body *body, struct sr_bytes name)
{
    const char *embeds = body->router->embeds;
    return embeds && body->doc.dialect->embeds && sr_config_find_model(body->router->config, name) < 0 &&
           (sr_bytes_eq(name, sr_bytes_str(embeds)) || sr_config_is_auto(body->router->config, name));
}

/* Takes the client's model name: automatic, a configured model, or neither. */
static bool take_model(struct sr_body *body, const struct sr_span *span, struct sr_refusal *refusal)
{
    const struct sr_config *config = body->router->config;
    const struct sr_dialect_ops *dialect = body->doc.dialect;
    if (span->kind != SR_JSON_STRING) {
        sr_refuse(refusal, 400, "invalid_type", "model", "field model must be string, got %s",
                  sr_request_kind_name(span->kind));
        refusal->reason = "parse_error";
        return false;
    }
    struct sr_bytes name = sr_span_text(span, sr_buf_view(&body->bytes), body->arena);
    if (!name.p) {
        sr_refuse_memory(refusal);
        return false;
    }
    if (is_builtin(body, name)) {
        body->builtin = true;
        return true;
    }
    if (sr_config_is_auto(config, name)) {
        body->automatic = true;
        body->recipe = sr_config_recipe_of(config, name);
        if (!dialect->routes_auto)
            sr_refuse(refusal, dialect->path ? 400 : 404, "model_not_automatic", "model",
                      "%s is not routed automatically: name a model",
                      dialect->path ? dialect->path : "this endpoint");
        return dialect->routes_auto;
    }
    body->model = sr_config_find_model(config, name);
    if (body->model < 0) {
        sr_refuse(refusal, 404, "model_not_found", "model", "model \"%.*s\" is not available",
                  (int)(name.n < NAME_MAX_SHOWN ? name.n : NAME_MAX_SHOWN), name.p);
        refusal->reason = "model_not_found";
    }
    return body->model >= 0;
}

/* Searches the spans added since the last call. */
static bool find_model(struct sr_body *body, struct sr_refusal *refusal)
{
    size_t count;
    const struct sr_span *spans = sr_scan_spans(body->scan, &count);
    for (; body->next_span < count; body->next_span++) {
        const struct sr_span *span = &spans[body->next_span];
        if (span->id != SR_AT_MODEL)
            continue;
        if (span->flags & SR_SPAN_ALIKE)
            return refuse_alike(body, span, refusal);
        if (span->flags & SR_SPAN_DUPLICATE) {
            sr_refuse(refusal, 400, "duplicate_field", "model", "field model is given more than once");
            return false;
        }
        if (span->flags & SR_SPAN_OPEN && span->kind <= SR_JSON_STRING)
            return true;
        if (!take_model(body, span, refusal))
            return false;
    }
    return true;
}

/* ---- chunks ---- */

/* Counts a chunk. False: the body is too large. */
static bool count_chunk(struct sr_body *body, size_t n, struct sr_refusal *refusal)
{
    uint64_t passing_max = body->passing ? body->head->passing_max : 0;
    uint64_t limit = passing_max ? passing_max : body->router->max_body;
    if (body->arrived > limit || n > limit - body->arrived) {
        sr_refuse_size(refusal, limit);
        return false;
    }
    body->arrived += n;
    return true;
}

static bool scan_chunk(struct sr_body *body, const void *p, size_t n, bool last, struct sr_refusal *refusal)
{
    struct sr_err err = {0};
    uint64_t start = sr_clock_ns();
    int rc = SR_OK;
    if (n) {
        rc = sr_scan_feed(body->scan, p, n, &err);
        body->whole = rc == SR_OK;
    }
    if ((rc == SR_OK || rc == SR_MORE) && last)
        rc = sr_scan_finish(body->scan, &err);
    body->scan_ns += sr_clock_ns() - start;
    if (rc == SR_OK || rc == SR_MORE)
        return true;
    err.code = rc;
    return refuse_json(body, &err, refusal);
}

/* Points the document to the kept bytes and their spans. */
static void see(struct sr_body *body)
{
    body->doc.body = sr_buf_view(&body->bytes);
    body->doc.spans = sr_scan_spans(body->scan, &body->doc.n_spans);
}

/* Handles the end of a body that was kept. */
static bool complete(struct sr_body *body, struct sr_refusal *refusal)
{
    struct sr_request *doc = &body->doc;
    struct sr_complaint complaint;
    sr_request_index(doc);
    body->is_stream = body->head->wants_sse || sr_request_is_true(doc, doc->at.stream);
    if (sr_scan_root_kind(body->scan) != SR_JSON_OBJECT) {
        complaint = (struct sr_complaint){NULL, "invalid_type", "the request body must be a JSON object"};
        return refuse_complaint(refusal, &complaint);
    }
    if (doc->at.model == SR_SPAN_NONE && !doc->dialect->path) {
        sr_refuse(refusal, 404, "endpoint_not_found", NULL, "endpoint not found: its body names no model");
        return false;
    }
    if (doc->at.model == SR_SPAN_NONE) {
        complaint = (struct sr_complaint){"model", "missing_required_field",
                                          "invalid request body: missing required field: model"};
        return refuse_complaint(refusal, &complaint);
    }
    return sr_request_check_shape(doc, &complaint) || refuse_complaint(refusal, &complaint);
}

/* Handles the end of a body that passed through: only its spans are kept. */
static bool complete_passed(struct sr_body *body, struct sr_refusal *refusal)
{
    struct sr_complaint complaint;
    body->doc.spans = sr_scan_spans(body->scan, &body->doc.n_spans);
    sr_request_index(&body->doc);
    body->is_stream = body->head->wants_sse || sr_request_is_true(&body->doc, body->doc.at.stream);
    return sr_request_check_shape(&body->doc, &complaint) || refuse_complaint(refusal, &complaint);
}

/* What the files of a form are for. */
static enum sr_unread_kind files_of(const struct sr_head *head)
{
    return sr_bytes_starts_with(head->path.path, SR_LIT("/v1/audio/"))    ? SR_UNREAD_AUDIO
           : sr_bytes_starts_with(head->path.path, SR_LIT("/v1/images/")) ? SR_UNREAD_IMAGES
                                                                          : SR_UNREAD_FILES;
}

static enum sr_body_step refuse_form(int rc, const struct sr_err *err, struct sr_refusal *refusal)
{
    if (rc == SR_EPARSE)
        sr_refuse(refusal, 400, "invalid_form", NULL, "the multipart body has %s, at byte %zu", err->message,
                  err->offset);
    else if (rc == SR_ELIMIT)
        sr_refuse(refusal, 413, SR_CODE_TOO_LARGE, NULL, "the multipart body has %s",
                  err->message[0] ? err->message : "more text than a request may have");
    else
        sr_refuse_memory(refusal);
    refusal->reason = "parse_error";
    return SR_BODY_REFUSED;
}

/* Keeps a piece of a form; with the last one reads its document. */
static enum sr_body_step feed_form(struct sr_body *body, const void *p, size_t n, bool last,
                                   struct sr_refusal *refusal)
{
    struct sr_err err = {0};
    struct sr_upload *upload = &body->upload;
    if (n && sr_buf_append(&upload->raw, p, n)) {
        sr_refuse_memory(refusal);
        return SR_BODY_REFUSED;
    }
    body->whole = sr_multipart_is_whole(sr_buf_view(&upload->raw), upload->boundary);
    if (!last)
        return SR_BODY_MORE;
    int rc = sr_upload_read(upload, files_of(body->head), body->arena, &body->bytes, &err);
    if (rc)
        return refuse_form(rc, &err, refusal);
    body->doc.beside = &upload->unread;
    if (!scan_chunk(body, body->bytes.data, body->bytes.len, true, refusal) || !find_model(body, refusal))
        return SR_BODY_REFUSED;
    see(body);
    body->complete_ns = sr_clock_ns();
    return complete(body, refusal) ? SR_BODY_COMPLETE : SR_BODY_REFUSED;
}

enum sr_body_step sr_body_feed(struct sr_body *body, const void *p, size_t n, bool last,
                               struct sr_refusal *refusal)
{
    if (!count_chunk(body, n, refusal))
        return SR_BODY_REFUSED;
    if (sr_body_is_upload(body))
        return feed_form(body, p, n, last, refusal);
    if (!scan_chunk(body, p, n, last, refusal))
        return SR_BODY_REFUSED;
    if (n && !body->passing && sr_buf_append(&body->bytes, p, n)) {
        sr_refuse_memory(refusal);
        return SR_BODY_REFUSED;
    }
    if (!find_model(body, refusal))
        return SR_BODY_REFUSED;
    if (!body->passing && body->automatic && body->head->content_length > body->router->max_body) {
        sr_refuse_size(refusal, body->router->max_body);
        return SR_BODY_REFUSED;
    }
    if (!body->passing)
        see(body);
    if (!last)
        return SR_BODY_MORE;
    body->complete_ns = sr_clock_ns();
    bool good = body->passing ? complete_passed(body, refusal) : complete(body, refusal);
    return good ? SR_BODY_COMPLETE : SR_BODY_REFUSED;
}

bool sr_body_check(struct sr_body *body, struct sr_refusal *refusal)
{
    struct sr_complaint complaint;
    uint32_t alike = sr_request_find_alike(&body->doc);
    if (alike != SR_SPAN_NONE)
        return refuse_alike(body, &body->doc.spans[alike], refusal);
    return (sr_request_check_once(&body->doc, &complaint) &&
            sr_request_check_metadata(&body->doc, body->arena, &complaint)) ||
           refuse_complaint(refusal, &complaint);
}

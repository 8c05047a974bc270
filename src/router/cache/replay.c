/* Verdicts as small JSON objects, and streams without their usage. */
#include "router/cache/replay.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "router/response/answer.h"

#define MILLION 1e6 /* confidence is stored as a whole number */

int sr_replay_write_verdict(const struct sr_record *r, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "category", r->category);
    sr_json_int(&w, "confidence", (int64_t)(r->confidence * MILLION));
    sr_json_bool(&w, "reasoning", r->reasoning);
    sr_json_text(&w, "effort", r->effort);
    sr_json_object_end(&w);
    return w.rc;
}

/* A string member, with a NUL; "" when it is missing, NULL when out of memory. */
static const char *text_of(sr_json_view object, const char *name, struct sr_arena *arena)
{
    struct sr_bytes text;
    sr_json_view value = sr_json_view_get(object, name);
    if (!sr_json_view_is_string(value))
        return "";
    return sr_json_view_dup(value, arena, &text) ? sr_arena_dup(arena, text).p : NULL;
}

int sr_replay_read_verdict(const struct sr_cache_fields *fields, const struct sr_config *config,
                           struct sr_arena *arena, struct sr_record *r)
{
    sr_json_view root;
    int64_t confidence;
    int model = sr_config_find_model(config, fields->model);
    if (model < 0)
        return SR_ENOENT;
    if (sr_json_view_open(&root, fields->verdict, NULL) || !sr_json_view_is_object(root))
        return SR_EPARSE;
    struct sr_bytes decision = sr_arena_dup(arena, fields->decision);
    const char *category = text_of(root, "category", arena), *effort = text_of(root, "effort", arena);
    if (!decision.p || !category || !effort)
        return SR_ENOMEM;
    r->model = model;
    r->model_name = config->models[model].name;
    r->decision_name = decision.p;
    r->category = category;
    r->effort = effort;
    bool told = sr_json_view_int(sr_json_view_get(root, "confidence"), &confidence);
    r->confidence = told ? (double)confidence / MILLION : 0;
    r->reasoning = sr_json_view_bool(sr_json_view_get(root, "reasoning"), false);
    return SR_OK;
}

/* Passes a stream through the stage that removes usage. */
static int strip(const struct sr_cache_fields *fields, const struct sr_request *doc,
                 const struct sr_router *router, struct sr_buf *out)
{
    struct sr_answer answer = {0};
    struct sr_answer_head head = {
        .status = 200,
        .mode = SR_ANSWER_SSE,
        .dialect = doc->dialect,
        .paths = sr_dialect_answer_paths(router->paths, doc->dialect),
        .strip_usage = true,
    };
    int rc = SR_OK;
    sr_answer_init(&answer);
    sr_answer_begin(&answer, &head);
    (void)sr_answer_body(&answer, fields->answer, true);
    for (size_t i = 0; !rc && i < answer.out.n; i++)
        rc = sr_buf_append_bytes(out, answer.out.slices[i]);
    sr_answer_dispose(&answer);
    return rc;
}

int sr_replay_answer(const struct sr_cache_fields *fields, const struct sr_request *doc,
                     const struct sr_router *router, struct sr_buf *out)
{
    bool asked = sr_request_is_true(doc, doc->at.include_usage);
    if (fields->form == SR_CACHE_SSE && doc->dialect->takes_usage_option && !asked)
        return strip(fields, doc, router, out);
    return sr_buf_append_bytes(out, fields->answer);
}

const char *sr_replay_content_type(enum sr_cache_form form)
{
    return form == SR_CACHE_SSE ? "text/event-stream" : "application/json";
}

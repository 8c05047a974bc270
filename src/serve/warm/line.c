/* Each member by its name; a known question is strict, a log may have members of its own. */
#include "serve/warm/line.h"

#define TTL_MAX  1000000000 /* as `ttl_seconds` of the configuration */
#define NAME_MAX 1024

#define CHAT_PATH "/v1/chat/completions"

/* What is read so far. */
struct reader {
    struct sr_warm_line *line;
    struct sr_arena *arena;
    struct sr_err *err;
    sr_json_view name, value; /* of the member that is read */
    bool stream_said, stream;
};

static int wrong(struct reader *r, const char *what)
{
    return sr_err_set(r->err, SR_EPARSE, "`%.*s` %s", (int)(r->name.n > 42 ? 40 : r->name.n - 2),
                      r->name.p + 1, what);
}

static int no_memory(struct reader *r)
{
    return sr_err_set(r->err, SR_ENOMEM, "out of memory");
}

static int take_text(struct reader *r, struct sr_bytes *out)
{
    if (!sr_json_view_is_string(r->value) || r->value.n == 2)
        return wrong(r, "must be a text that is not empty");
    return sr_json_view_dup(r->value, r->arena, out) ? SR_OK : no_memory(r);
}

/* What becomes the value of a header. */
static int take_name(struct reader *r, struct sr_bytes *out)
{
    int rc = take_text(r, out);
    if (rc)
        return rc;
    bool clean = out->n <= NAME_MAX && sr_bytes_trim(*out).n == out->n;
    for (size_t i = 0; i < out->n; i++)
        clean &= (unsigned char)out->p[i] >= ' ' && out->p[i] != 0x7f;
    return clean ? SR_OK : wrong(r, "must be a name without line ends, at most 1,024 bytes");
}

static int take_object(struct reader *r, sr_json_view *out)
{
    *out = r->value;
    return sr_json_view_is_object(r->value) ? SR_OK : wrong(r, "must be a JSON object");
}

/* An object, or the same as the text of a string. */
static int take_body(struct reader *r, sr_json_view *out)
{
    struct sr_bytes text;
    if (!sr_json_view_is_string(r->value))
        return take_object(r, out);
    if (!sr_json_view_dup(r->value, r->arena, &text))
        return no_memory(r);
    if (sr_json_view_open(out, text, NULL) || !sr_json_view_is_object(*out))
        return wrong(r, "must be a JSON object, or its text");
    return SR_OK;
}

/* A body, or the events of a stream. */
static int take_response(struct reader *r)
{
    struct sr_bytes text;
    if (!sr_json_view_is_string(r->value))
        return take_object(r, &r->line->response);
    if (!sr_json_view_dup(r->value, r->arena, &text))
        return no_memory(r);
    if (!sr_json_view_open(&r->line->response, text, NULL) && sr_json_view_is_object(r->line->response))
        return SR_OK;
    r->line->response = sr_bytes_of(NULL, 0);
    r->line->events = text;
    return text.n ? SR_OK : wrong(r, "is empty");
}

static int take_stream(struct reader *r)
{
    r->stream = sr_json_view_bool(r->value, false);
    r->stream_said = true;
    return r->value.p[0] == 't' || r->value.p[0] == 'f' ? SR_OK : wrong(r, "must be true or false");
}

static int take_ttl(struct reader *r)
{
    bool good =
        sr_json_view_int(r->value, &r->line->ttl_s) && r->line->ttl_s >= 0 && r->line->ttl_s <= TTL_MAX;
    return good ? SR_OK : wrong(r, "must be a whole number of seconds; 0 = for ever");
}

static int take_status(struct reader *r)
{
    int64_t status;
    if (!sr_json_view_int(r->value, &status) || status < 100 || status > 599)
        return wrong(r, "must be an HTTP status");
    r->line->status = (int)status;
    return SR_OK;
}

static int take_path(struct reader *r)
{
    int rc = take_name(r, &r->line->path);
    return rc || r->line->path.p[0] == '/' ? rc : wrong(r, "must begin with /");
}

static int take_member(struct reader *r, bool strict)
{
    struct sr_warm_line *line = r->line;
    static const char *const texts[] = {"question", "answer", "model", "system"};
    static const char *const names[] = {"tenant", "user", "team"};
    struct sr_bytes *text_at[] = {&line->question, &line->answer, &line->model, &line->system};
    struct sr_bytes *name_at[] = {&line->tenant, &line->user, &line->team};
    if (sr_json_view_is_null(r->value))
        return SR_OK;
    for (size_t i = 0; i < 3; i++)
        if (sr_json_view_eq(r->name, names[i]))
            return take_name(r, name_at[i]);
    if (sr_json_view_eq(r->name, "ttl_seconds"))
        return take_ttl(r);
    if (sr_json_view_eq(r->name, "response") || sr_json_view_eq(r->name, "response_body"))
        return take_response(r);
    if (sr_json_view_eq(r->name, "answer"))
        return take_text(r, &line->answer);
    if (!strict && (sr_json_view_eq(r->name, "request") || sr_json_view_eq(r->name, "request_body")))
        return take_body(r, &line->request);
    if (!strict && sr_json_view_eq(r->name, "path"))
        return take_path(r);
    if (!strict && sr_json_view_eq(r->name, "status"))
        return take_status(r);
    for (size_t i = 0; strict && i < 4; i++)
        if (sr_json_view_eq(r->name, texts[i]))
            return take_text(r, text_at[i]);
    if (strict && sr_json_view_eq(r->name, "parameters"))
        return take_object(r, &line->parameters);
    if (strict && sr_json_view_eq(r->name, "stream"))
        return take_stream(r);
    return strict ? wrong(r, "is no member of a known question (docs/cache.md)") : SR_OK;
}

/* `parameters` may not say what other members of the line say. */
static int check_parameters(struct reader *r)
{
    static const char *const own[] = {"model", "messages", "stream"};
    for (size_t i = 0; i < 3; i++)
        if (sr_json_view_get(r->line->parameters, own[i]).p)
            return sr_err_set(r->err, SR_EPARSE, "`parameters` may not have `%s`", own[i]);
    return SR_OK;
}

/* Which forms are kept, and whether there is one answer. */
static int complete(struct reader *r, bool strict)
{
    struct sr_warm_line *line = r->line;
    int answers = (line->answer.p != NULL) + (line->response.p != NULL) + (line->events.p != NULL);
    if (strict ? !line->question.p : !line->request.p)
        return sr_err_set(r->err, SR_EPARSE, "there is no `question` and no `request`");
    if (answers != 1)
        return sr_err_set(r->err, SR_EPARSE,
                          answers ? "`answer` and `response`: give one"
                                  : "there is no `answer` or `response`");
    if (!strict) {
        line->streamed = sr_json_view_bool(sr_json_view_get(line->request, "stream"), false);
        line->plain = !line->streamed;
    } else {
        line->streamed = line->events.p || !r->stream_said || r->stream;
        line->plain = !line->events.p && (!r->stream_said || !r->stream);
    }
    if (line->events.p && !line->streamed)
        return sr_err_set(r->err, SR_EPARSE, "`response` has events, and the request asked for no stream");
    return strict ? check_parameters(r) : SR_OK;
}

int sr_warm_line_read(struct sr_warm_line *out, struct sr_bytes text, struct sr_arena *arena,
                      struct sr_err *err)
{
    struct sr_bytes none = sr_bytes_of(NULL, 0), empty = SR_LIT("");
    sr_json_view root;
    size_t at = 0;
    *out = (struct sr_warm_line){.request = none,
                                 .question = none,
                                 .model = none,
                                 .system = none,
                                 .parameters = none,
                                 .answer = none,
                                 .response = none,
                                 .events = none,
                                 .path = SR_LIT(CHAT_PATH),
                                 .tenant = empty,
                                 .user = empty,
                                 .team = empty,
                                 .ttl_s = -1,
                                 .status = 200};
    struct reader r = {.line = out, .arena = arena, .err = err};
    if (text.n > SR_WARM_LINE_MAX)
        return sr_err_set(err, SR_ELIMIT, "the line is longer than 2 MiB");
    int rc = sr_json_view_open(&root, text, err);
    if (rc)
        return rc;
    if (!sr_json_view_is_object(root))
        return sr_err_set(err, SR_EPARSE, "a line is a JSON object");
    bool strict = !sr_json_view_get(root, "request").p && !sr_json_view_get(root, "request_body").p;
    while (!rc && sr_json_view_next(root, &at, &r.name, &r.value))
        rc = take_member(&r, strict);
    return rc ? rc : complete(&r, strict);
}

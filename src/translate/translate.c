/* The entries for whole documents: requests, answers, errors. */
#include "translate/translate.h"

#include "translate/api.h"
#include "translate/tools.h"

/* ---- requests and answers ---- */

static int open_root(struct sr_tr *tr, struct sr_bytes body, sr_json_view *root)
{
    struct sr_err err = {0};
    if (body.n > SR_TRANSLATE_BODY_MAX)
        return SR_ELIMIT;
    if (sr_json_view_open(root, body, &err))
        return sr_tr_wrong(tr, "the body is no JSON that can be translated: %s", err.message);
    return sr_json_view_is_object(*root) ? SR_OK : sr_tr_wrong(tr, "the body is no JSON object");
}

/* A failed writer leaves nothing behind. */
static int close_out(struct sr_json_writer *w, size_t before, int rc)
{
    rc = rc ? rc : w->rc;
    if (rc)
        w->out->len = before;
    return rc;
}

int sr_translate_request(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                         const struct sr_translate_settings *settings, struct sr_arena *arena,
                         struct sr_buf *out, struct sr_translate_warnings *warnings, struct sr_err *err)
{
    struct sr_tr tr = {from, to, arena, settings, warnings, err};
    struct sr_tr_request request = {.turns = NULL};
    struct sr_json_writer w = sr_json_writer_of(out);
    size_t before = out->len;
    sr_json_view root;
    int rc = open_root(&tr, body, &root);
    if (!rc)
        rc = sr_tr_api_of(from)->read_request(&tr, root, &request);
    if (!rc)
        sr_tr_check_choice(&tr, &request);
    if (settings->counts)
        sr_tr_request_keep_counted(&request);
    if (!rc)
        rc = sr_buf_reserve(out, body.n + 256);
    if (!rc)
        rc = sr_tr_api_of(to)->write_request(&tr, &request, &w);
    return close_out(&w, before, rc);
}

/* Adds to an answer what its upstream has not said. SR_ENOMEM. */
static int complete(struct sr_tr *tr, struct sr_tr_answer *answer)
{
    for (const struct sr_tr_part *p = answer->parts.first; p; p = p->next)
        if (p->kind == SR_TR_CALL)
            answer->stop = sr_tr_stop_of_call(answer->stop);
    answer->id = sr_tr_answer_id(tr, answer->id);
    return answer->id.p ? SR_OK : SR_ENOMEM;
}

int sr_translate_answer(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                        const struct sr_translate_settings *settings, struct sr_arena *arena,
                        struct sr_buf *out, struct sr_translate_warnings *warnings, struct sr_err *err)
{
    struct sr_tr tr = {from, to, arena, settings, warnings, err};
    struct sr_tr_answer answer = {.created = 0};
    struct sr_json_writer w = sr_json_writer_of(out);
    size_t before = out->len;
    sr_json_view root;
    int rc = open_root(&tr, body, &root);
    if (!rc)
        rc = sr_tr_api_of(from)->read_answer(&tr, root, &answer);
    if (!rc)
        rc = complete(&tr, &answer);
    if (!rc && sr_tr_api_of(to)->name_lost)
        sr_tr_api_of(to)->name_lost(&tr, &answer);
    if (!rc)
        rc = sr_tr_api_of(to)->write_answer(&tr, &answer, &w);
    return close_out(&w, before, rc);
}

int sr_translate_count(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                       struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    const struct sr_tr_api *writer = sr_tr_api_of(to);
    size_t before = out->len;
    sr_json_view root;
    int64_t n;
    if (body.n > SR_TRANSLATE_BODY_MAX)
        return SR_ELIMIT;
    if (sr_json_view_open(&root, body, NULL) ||
        !sr_json_view_int(sr_json_view_get(root, sr_tr_api_of(from)->count_member), &n) || n < 0)
        return SR_EPARSE;
    sr_json_object(&w, NULL);
    if (writer->count_object)
        sr_json_text(&w, "object", writer->count_object);
    sr_json_int(&w, writer->count_member, n);
    sr_json_object_end(&w);
    return close_out(&w, before, SR_OK);
}

/* ---- errors ---- */

#define ERROR_TEXT_MAX 2048

static sr_json_view string_of(sr_json_view object, const char *name)
{
    sr_json_view value = sr_json_view_get(object, name);
    return sr_json_view_is_string(value) ? value : (sr_json_view){0};
}

int sr_translate_error(enum sr_translate_api to, int status, struct sr_bytes body, struct sr_arena *arena,
                       struct sr_buf *out)
{
    struct sr_tr tr = {.arena = arena};
    struct sr_json_writer w = sr_json_writer_of(out);
    size_t before = out->len;
    sr_json_view root = {0}, error, message;
    if (sr_json_view_open(&root, body, NULL))
        root = (sr_json_view){0};
    error = sr_json_view_get(root, "error");
    message = sr_json_view_is_string(error) ? error : string_of(error, "message");
    if (!message.p) /* servers that say it without the object around it */
        message = string_of(root, "message").p ? string_of(root, "message") : string_of(root, "detail");
    if (!message.p) {
        struct sr_buf text;
        sr_buf_init(&text, 8 * ERROR_TEXT_MAX);
        struct sr_bytes cut =
            sr_bytes_trim(sr_bytes_of(body.p, body.n < ERROR_TEXT_MAX ? body.n : ERROR_TEXT_MAX));
        int rc =
            cut.n ? sr_buf_append_json(&text, cut) : sr_buf_printf(&text, "the upstream answered %d", status);
        message = rc ? (sr_json_view){0} : sr_tr_join(&tr, sr_buf_view(&text), SR_LIT(""), SR_LIT(""));
        sr_buf_dispose(&text);
        if (!message.p)
            return SR_ENOMEM;
    }
    sr_tr_api_of(to)->write_error(&w, status, string_of(error, "type"), string_of(error, "code"),
                                  string_of(error, "param"), message);
    return close_out(&w, before, SR_OK);
}

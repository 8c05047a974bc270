/* Requests of Messages, written from the model. */
#include "translate/api.h"
#include "translate/messages.h"
#include "translate/messages_options.h"
#include "translate/messages_turns.h"

/* ---- blocks ---- */

static void write_cache(const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_tr_put(w, "cache_control", part->cache);
}

static int write_text(const struct sr_tr_part *part, struct sr_json_writer *w)
{
    if (sr_tr_messages_is_blank(part->text)) /* the API refuses such blocks */
        return SR_OK;
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "text");
    sr_tr_put(w, "text", part->text);
    write_cache(part, w);
    sr_json_object_end(w);
    return SR_OK;
}

static int write_source(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view media_type = part->media_type, data = part->data;
    if (!data.p && part->text.p && !sr_tr_media_split(tr, part->text, &media_type, &data))
        data = (sr_json_view){0};
    sr_json_object(w, "source");
    if (data.p) {
        sr_json_text(w, "type", "base64");
        sr_tr_put(w, "media_type", media_type.p ? media_type : SR_TR_STRING("application/pdf"));
        sr_tr_put(w, "data", data);
    } else if (part->text.p) {
        sr_json_text(w, "type", "url");
        sr_tr_put(w, "url", part->text);
    } else {
        sr_json_text(w, "type", "file");
        sr_tr_put(w, "file_id", part->id);
    }
    sr_json_object_end(w);
    return SR_OK;
}

static int write_media(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    bool image = part->kind == SR_TR_IMAGE;
    if (part->kind == SR_TR_AUDIO) {
        sr_tr_warn(tr, "input_audio", SR_LIT(""));
        return SR_OK;
    }
    if (!sr_json_view_eq(part->detail, "auto"))
        sr_tr_lost(tr, part->detail, "image_url.detail");
    sr_json_object(w, NULL);
    sr_json_text(w, "type", image ? "image" : "document");
    int rc = write_source(tr, part, w);
    if (!image)
        sr_tr_put(w, "title", part->name);
    write_cache(part, w);
    sr_json_object_end(w);
    return rc;
}

static void write_reasoning(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    if (!sr_tr_messages_is_own(part)) {
        sr_tr_warn(tr, "reasoning", SR_LIT(""));
        return;
    }
    bool hidden = !part->text.p || sr_tr_is_empty(part->text);
    sr_json_object(w, NULL);
    sr_json_text(w, "type", hidden ? "redacted_thinking" : "thinking");
    if (!hidden)
        sr_tr_put(w, "thinking", part->text);
    sr_tr_put(w, hidden ? "data" : "signature", part->signature);
    sr_json_object_end(w);
}

/* Ids of calls may have letters, digits, "_" and "-" here; others become "_". */
static int write_id(struct sr_tr *tr, const char *key, sr_json_view id, struct sr_json_writer *w)
{
    struct sr_bytes inner = sr_tr_inner(id);
    char *copy = NULL;
    for (size_t i = 0; i < inner.n; i++) {
        char c = inner.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                     c == '-';
        if (plain)
            continue;
        if (!copy) {
            copy = sr_arena_alloc(tr->arena, id.n);
            if (!copy)
                return SR_ENOMEM;
            memcpy(copy, id.p, id.n);
        }
        copy[1 + i] = '_';
    }
    sr_tr_put(w, key, copy ? sr_bytes_of(copy, id.n) : id);
    return SR_OK;
}

static int write_call(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view input = sr_tr_arguments_object(tr, part);
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "tool_use");
    if (!input.p || write_id(tr, "id", part->id, w))
        return SR_ENOMEM;
    sr_tr_put(w, "name", part->name);
    sr_tr_put(w, "input", input);
    write_cache(part, w);
    sr_json_object_end(w);
    return SR_OK;
}

static int write_result(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    const struct sr_tr_part *single = sr_tr_single_text(part->inside);
    int rc = SR_OK;
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "tool_result");
    if (write_id(tr, "tool_use_id", part->id, w))
        return SR_ENOMEM;
    if (single) {
        sr_tr_put(w, "content", single->text);
    } else if (part->inside) {
        sr_json_array(w, "content");
        for (const struct sr_tr_part *p = part->inside; p && !rc; p = p->next)
            rc = p->kind == SR_TR_TEXT ? write_text(p, w) : write_media(tr, p, w);
        sr_json_array_end(w);
    }
    if (part->is_error)
        sr_json_bool(w, "is_error", true);
    write_cache(part, w);
    sr_json_object_end(w);
    return rc;
}

static int write_block(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    switch (part->kind) {
    case SR_TR_TEXT:
    case SR_TR_REFUSAL:
        return write_text(part, w);
    case SR_TR_REASONING:
        write_reasoning(tr, part, w);
        return SR_OK;
    case SR_TR_CALL:
        return write_call(tr, part, w);
    case SR_TR_RESULT:
        return write_result(tr, part, w);
    default:
        return write_media(tr, part, w);
    }
}

/* ---- turns ---- */

/* The instructions of all turns, in their order, as the member `system`. */
static int write_system(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    const struct sr_tr_part *only = NULL;
    size_t parts = 0;
    bool others = false;
    for (const struct sr_tr_turn *turn = request->turns; turn; turn = turn->next) {
        if (sr_tr_messages_is_system(turn) && others)
            sr_tr_warn(tr, "messages[].role.system", SR_LIT(""));
        if (sr_tr_messages_is_system(turn))
            sr_tr_lost(tr, turn->name, "messages[].name");
        others |= !sr_tr_messages_is_system(turn);
        for (const struct sr_tr_part *p = turn->parts.first; p && sr_tr_messages_is_system(turn);
             p = p->next, parts++)
            only = p;
    }
    if (!parts)
        return SR_OK;
    if (parts == 1 && only->kind == SR_TR_TEXT && !only->cache.p) {
        sr_tr_put(w, "system", only->text);
        return SR_OK;
    }
    sr_json_array(w, "system");
    for (const struct sr_tr_turn *turn = request->turns; turn; turn = turn->next)
        for (const struct sr_tr_part *p = turn->parts.first; p && sr_tr_messages_is_system(turn); p = p->next)
            if (p->kind == SR_TR_TEXT)
                (void)write_text(p, w);
            else
                sr_tr_warn(tr, "system[]", SR_LIT(""));
    sr_json_array_end(w);
    return SR_OK;
}

static const struct sr_tr_turn *following(const struct sr_tr_turn *turn)
{
    do
        turn = turn->next;
    while (turn && sr_tr_messages_is_system(turn));
    return turn;
}

/* The API takes an empty message only at the end, and only of the assistant: a turn that says nothing is left
 * out, or stands as a text without a meaning. */
static int write_silent(struct sr_tr *tr, const struct sr_tr_turn *turn, struct sr_json_writer *w)
{
    int rc = SR_OK;
    sr_tr_warn(tr, "messages[].content", SR_LIT(""));
    for (const struct sr_tr_part *p = turn->parts.first; p && !rc; p = p->next)
        rc = write_block(tr, p, w); /* names what is lost, and writes nothing */
    if (turn->role == SR_TR_ASSISTANT)
        return rc;
    sr_json_object(w, NULL);
    sr_json_text(w, "role", "user");
    sr_json_text(w, "content", ".");
    sr_json_object_end(w);
    return rc;
}

static int write_turns(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    const struct sr_tr_turn *before = NULL;
    int rc = SR_OK;
    sr_json_array(w, "messages");
    for (const struct sr_tr_turn *turn = request->turns; turn && !rc; turn = turn->next) {
        if (sr_tr_messages_is_system(turn))
            continue;
        const struct sr_tr_turn *next = following(turn);
        const struct sr_tr_part *single = sr_tr_single_text(turn->parts.first);
        bool joined = sr_tr_messages_joins(before, turn), more = next && sr_tr_messages_joins(turn, next);
        sr_tr_lost(tr, turn->name, "messages[].name");
        before = turn;
        if (!joined && (next || turn->role != SR_TR_ASSISTANT) && sr_tr_messages_is_silent(turn)) {
            rc = write_silent(tr, turn, w);
            continue;
        }
        if (!joined) {
            sr_json_object(w, NULL);
            sr_json_text(w, "role", turn->role == SR_TR_ASSISTANT ? "assistant" : "user");
            if (single) {
                sr_tr_put(w, "content", single->text);
                sr_json_object_end(w);
                continue;
            }
            sr_json_array(w, "content");
        }
        for (const struct sr_tr_part *p = turn->parts.first; p && !rc; p = p->next)
            rc = write_block(tr, p, w);
        if (!more) {
            sr_json_array_end(w);
            sr_json_object_end(w);
        }
    }
    sr_json_array_end(w);
    return rc;
}

/* The API needs a message: instructions alone become what the user says. SR_ENOMEM. */
static int need_message(struct sr_tr *tr, struct sr_tr_request *request)
{
    const struct sr_tr_turn *turn = request->turns;
    while (turn && sr_tr_messages_is_system(turn))
        turn = turn->next;
    if (turn || !request->turns)
        return SR_OK;
    sr_tr_warn(tr, "messages[].role.system", SR_LIT(""));
    turn = request->turns;
    for (request->turns = request->last_turn = NULL; turn; turn = turn->next) {
        struct sr_tr_turn *said = sr_tr_turn_new(tr, request, SR_TR_USER);
        if (!said)
            return SR_ENOMEM;
        said->name = turn->name;
        said->parts = turn->parts;
    }
    return SR_OK;
}

int sr_tr_messages_write_request(struct sr_tr *tr, const struct sr_tr_request *given,
                                 struct sr_json_writer *w)
{
    struct sr_tr_request request = *given;
    int rc = need_message(tr, &request);
    int64_t limit = sr_tr_messages_limit(tr, &request);
    sr_json_object(w, NULL);
    sr_tr_put(w, "model", request.model);
    if (!tr->settings->counts)
        sr_json_int(w, "max_tokens", limit);
    if (!rc)
        rc = write_system(tr, &request, w);
    if (!rc)
        rc = write_turns(tr, &request, w);
    sr_tr_messages_write_options(tr, &request, limit, w);
    sr_tr_put(w, "stream", request.stream);
    sr_json_object_end(w);
    return rc;
}

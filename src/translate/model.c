/* Builds the model: lists, strings, warnings, and the table-driven reader of objects. */
#include "translate/model.h"

#include "base/hash.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- warnings ---- */

static char printable(char c)
{
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return plain || (c && strchr("_.[]-", c)) ? c : '?';
}

void sr_tr_warn(struct sr_tr *tr, const char *where, struct sr_bytes name)
{
    struct sr_translate_warnings *warnings = tr->warnings;
    char text[SR_TRANSLATE_WARNING_SIZE];
    if (!warnings)
        return;
    int n = snprintf(text, sizeof text, "%s%.*s", where, (int)(name.n < 60 ? name.n : 60), name.p);
    for (int i = 0; i < n && i < (int)sizeof text - 1; i++)
        text[i] = printable(text[i]);
    for (size_t i = 0; i < warnings->n; i++)
        if (strcmp(warnings->items[i], text) == 0)
            return;
    if (warnings->n == SR_TRANSLATE_WARNINGS_MAX)
        warnings->more++;
    else
        memcpy(warnings->items[warnings->n++], text, sizeof text);
}

int sr_translate_warnings_write(const struct sr_translate_warnings *warnings, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < warnings->n && !rc; i++)
        rc = sr_buf_printf(out, "%s%s", i ? ", " : "", warnings->items[i]);
    return rc || !warnings->more ? rc : sr_buf_printf(out, ", and %zu more", warnings->more);
}

void sr_tr_lost(struct sr_tr *tr, sr_json_view value, const char *path)
{
    if (value.p)
        sr_tr_warn(tr, path, SR_LIT(""));
}

void sr_tr_lost_filled(struct sr_tr *tr, sr_json_view value, const char *path)
{
    sr_json_view first;
    size_t at = 0;
    if (value.p && sr_json_view_next(value, &at, NULL, &first))
        sr_tr_warn(tr, path, SR_LIT(""));
}

static bool is_name(struct sr_bytes name, const char *word)
{
    return name.n && name.p[0] == *word && sr_bytes_eq(name, sr_bytes_str(word));
}

/* A name with escapes is among none: it is named for nothing then, which is no harm. */
static bool is_among(struct sr_bytes name, const char *const *known)
{
    for (; *known; known++)
        if (is_name(name, *known))
            return true;
    return false;
}

void sr_tr_lost_members(struct sr_tr *tr, const char *where, sr_json_view object, const char *const *known)
{
    sr_json_view key, value;
    size_t at = 0;
    while (sr_json_view_is_object(object) && sr_json_view_next(object, &at, &key, &value))
        if (!sr_json_view_is_null(value) && !sr_bytes_eq(value, SR_LIT("0")) &&
            !is_among(sr_tr_inner(key), known))
            sr_tr_warn(tr, where, sr_tr_inner(key));
}

int sr_tr_wrong(struct sr_tr *tr, const char *fmt, ...)
{
    char message[SR_ERR_MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return sr_err_set(tr->err, SR_EPARSE, "%s", message);
}

/* ---- objects ---- */

void sr_tr_fields(struct sr_tr *tr, const char *where, sr_json_view object, const struct sr_tr_field *fields,
                  size_t n, void *out)
{
    sr_json_view key, value;
    size_t at = 0;
    if (!sr_json_view_is_object(object))
        return;
    while (sr_json_view_next(object, &at, &key, &value)) {
        struct sr_bytes name = sr_tr_inner(key);
        char decoded[64];
        if (memchr(name.p, '\\', name.n) && key.n <= sizeof decoded)
            name = sr_bytes_of(decoded, sr_json_view_decode(key, decoded));
        size_t i = 0;
        while (i < n && !is_name(name, fields[i].name))
            i++;
        if (i == n && where && !sr_json_view_is_null(value))
            sr_tr_warn(tr, where, name);
        else if (i < n && fields[i].at != SR_TR_IGNORED)
            *(sr_json_view *)((char *)out + fields[i].at) =
                sr_json_view_is_null(value) ? (sr_json_view){0} : value;
    }
}

void sr_tr_request_keep_counted(struct sr_tr_request *request)
{
    sr_json_view *const others[] = {
        &request->stream,
        &request->max_tokens,
        &request->temperature,
        &request->top_p,
        &request->top_k,
        &request->stop,
        &request->user,
        &request->safety_identifier,
        &request->metadata,
        &request->service_tier,
        &request->store,
        &request->prompt_cache_key,
        &request->prompt_cache_retention,
    };
    for (size_t i = 0; i < SR_TR_COUNT(others); i++)
        *others[i] = (sr_json_view){0};
}

int sr_tr_word(sr_json_view value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (sr_json_view_eq(value, words[i]))
            return i;
    return -1;
}

/* ---- lists ---- */

struct sr_tr_part *sr_tr_part_new(struct sr_tr *tr, struct sr_tr_parts *parts, enum sr_tr_kind kind)
{
    struct sr_tr_part *part = sr_arena_calloc(tr->arena, 1, sizeof *part);
    if (!part)
        return NULL;
    part->kind = kind;
    if (parts->last)
        parts->last->next = part;
    else
        parts->first = part;
    parts->last = part;
    return part;
}

struct sr_tr_turn *sr_tr_turn_new(struct sr_tr *tr, struct sr_tr_request *request, enum sr_tr_role role)
{
    struct sr_tr_turn *turn = sr_arena_calloc(tr->arena, 1, sizeof *turn);
    if (!turn)
        return NULL;
    turn->role = role;
    if (request->last_turn)
        request->last_turn->next = turn;
    else
        request->turns = turn;
    request->last_turn = turn;
    return turn;
}

struct sr_tr_tool *sr_tr_tool_new(struct sr_tr *tr, struct sr_tr_request *request)
{
    struct sr_tr_tool *tool = sr_arena_calloc(tr->arena, 1, sizeof *tool);
    if (!tool)
        return NULL;
    if (request->last_tool)
        request->last_tool->next = tool;
    else
        request->tools = tool;
    request->last_tool = tool;
    return tool;
}

const struct sr_tr_part *sr_tr_single_text(const struct sr_tr_part *parts)
{
    return parts && parts->kind == SR_TR_TEXT && !parts->next && !parts->cache.p ? parts : NULL;
}

/* ---- strings ---- */

/* The bytes of an empty run may be nowhere. */
static size_t put(char *p, size_t at, struct sr_bytes bytes)
{
    if (bytes.n)
        memcpy(p + at, bytes.p, bytes.n);
    return at + bytes.n;
}

sr_json_view sr_tr_join(struct sr_tr *tr, struct sr_bytes a, struct sr_bytes b, struct sr_bytes c)
{
    size_t n = a.n + b.n + c.n + 2;
    char *p = sr_arena_alloc(tr->arena, n);
    if (!p)
        return (sr_json_view){0};
    size_t at = 0;
    p[at++] = '"';
    at = put(p, at, a);
    at = put(p, at, b);
    at = put(p, at, c);
    p[at] = '"';
    return sr_bytes_of(p, n);
}

sr_json_view sr_tr_quote(struct sr_tr *tr, struct sr_bytes text)
{
    static const char hex[] = "0123456789abcdef", controls[] = "\b\t\n\f\r";
    size_t extra = 2, n = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        extra += c < 0x20 ? 5 : c == '"' || c == '\\';
    }
    char *p = sr_arena_alloc(tr->arena, text.n + extra);
    if (!p)
        return (sr_json_view){0};
    p[n++] = '"';
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        const char *at = c && (unsigned char)c < 0x20 ? strchr(controls, c) : NULL;
        if (at) {
            p[n++] = '\\';
            p[n++] = "btnfr"[at - controls];
        } else if ((unsigned char)c < 0x20) {
            memcpy(p + n, "\\u00", 4);
            p[n + 4] = hex[c >> 4];
            p[n + 5] = hex[c & 15];
            n += 6;
        } else {
            if (c == '"' || c == '\\')
                p[n++] = '\\';
            p[n++] = c;
        }
    }
    p[n++] = '"';
    return sr_bytes_of(p, n);
}

struct sr_bytes sr_tr_plain(struct sr_tr *tr, sr_json_view string)
{
    struct sr_bytes inner = sr_tr_inner(string), out;
    if (!memchr(inner.p, '\\', inner.n))
        return inner;
    return sr_json_view_dup(string, tr->arena, &out) ? out : (struct sr_bytes){NULL, 0};
}

sr_json_view sr_tr_texts(struct sr_tr *tr, const struct sr_tr_part *parts, enum sr_tr_kind kind,
                         struct sr_bytes between)
{
    const struct sr_tr_part *first = NULL;
    size_t n = 2, texts = 0;
    for (const struct sr_tr_part *p = parts; p; p = p->next) {
        if (p->kind != kind || !sr_json_view_is_string(p->text))
            continue;
        first = first ? first : p;
        n += sr_tr_inner(p->text).n + (texts++ ? between.n : 0);
    }
    if (texts <= 1)
        return first ? first->text : (sr_json_view){0};
    char *out = sr_arena_alloc(tr->arena, n);
    if (!out)
        return (sr_json_view){0};
    size_t at = 0;
    out[at++] = '"';
    for (const struct sr_tr_part *p = first; p; p = p->next) {
        if (p->kind != kind || !sr_json_view_is_string(p->text))
            continue;
        if (p != first)
            at = put(out, at, between);
        at = put(out, at, sr_tr_inner(p->text));
    }
    out[at++] = '"';
    return sr_bytes_of(out, at);
}

/* ---- arguments ---- */

sr_json_view sr_tr_arguments_string(struct sr_tr *tr, const struct sr_tr_part *call)
{
    if (sr_json_view_is_string(call->arguments))
        return call->arguments;
    return call->arguments.p ? sr_tr_quote(tr, call->arguments) : SR_TR_STRING("{}");
}

sr_json_view sr_tr_arguments_object(struct sr_tr *tr, const struct sr_tr_part *call)
{
    sr_json_view value = call->arguments, wrapped;
    if (sr_json_view_is_object(value))
        return value;
    if (!value.p || (sr_json_view_is_string(value) && sr_tr_is_empty(value)))
        return SR_LIT("{}");
    if (sr_json_view_is_string(value) && !call->custom) {
        struct sr_bytes text = sr_tr_plain(tr, value);
        if (!text.p)
            return (sr_json_view){0};
        if (sr_json_view_open(&wrapped, text, NULL) == SR_OK && sr_json_view_is_object(wrapped))
            return wrapped;
    }
    if (!call->custom)
        sr_tr_warn(tr, "arguments", SR_LIT(""));
    /* {"input":VALUE} */
    char *p = sr_arena_alloc(tr->arena, value.n + 10);
    if (!p)
        return (sr_json_view){0};
    memcpy(p, "{\"input\":", 9);
    memcpy(p + 9, value.p, value.n);
    p[9 + value.n] = '}';
    return sr_bytes_of(p, value.n + 10);
}

sr_json_view sr_tr_answer_id(struct sr_tr *tr, sr_json_view id)
{
    return sr_tr_is_empty(id) ? sr_tr_join(tr, tr->settings->unique, SR_LIT(""), SR_LIT("")) : id;
}

sr_json_view sr_tr_id(struct sr_tr *tr, sr_json_view id, const char *prefix)
{
    static const char *const prefixes[] = {"chatcmpl-", "resp_", "msg_"};
    struct sr_bytes inner = sr_tr_inner(id), own = sr_bytes_str(prefix);
    if (sr_bytes_starts_with(inner, own))
        return id;
    for (size_t i = 0; i < SR_TR_COUNT(prefixes); i++) {
        struct sr_bytes other = sr_bytes_str(prefixes[i]);
        if (!sr_bytes_starts_with(inner, other))
            continue;
        struct sr_bytes rest = sr_bytes_of(inner.p + other.n, inner.n - other.n);
        if (sr_bytes_starts_with(rest, own))
            return sr_tr_join(tr, rest, SR_LIT(""), SR_LIT(""));
    }
    return sr_tr_join(tr, own, inner, SR_LIT(""));
}

/* ---- media ---- */

sr_json_view sr_tr_media_url(struct sr_tr *tr, const struct sr_tr_part *part)
{
    if (part->text.p || !part->data.p)
        return part->text;
    struct sr_bytes type = part->media_type.p ? sr_tr_inner(part->media_type) : SR_LIT("image/png");
    sr_json_view head = sr_tr_join(tr, SR_LIT("data:"), type, SR_LIT(";base64,"));
    return head.p ? sr_tr_join(tr, sr_tr_inner(head), sr_tr_inner(part->data), SR_LIT("")) : head;
}

void sr_tr_media_bytes(struct sr_tr_part *part, sr_json_view data)
{
    if (!data.p || sr_bytes_starts_with(sr_tr_inner(data), SR_LIT("data:"))) {
        part->text = data;
        return;
    }
    part->data = data;
    part->media_type = SR_TR_STRING("application/pdf");
}

bool sr_tr_media_split(struct sr_tr *tr, sr_json_view url, sr_json_view *media_type, sr_json_view *data)
{
    struct sr_bytes text = sr_tr_inner(url), mark = SR_LIT(";base64,");
    if (!sr_bytes_starts_with(text, SR_LIT("data:")))
        return false;
    text = sr_tr_plain(tr, url);
    if (!text.p)
        return false;
    for (size_t i = 5; i + mark.n <= text.n && i < 200; i++) {
        if (memcmp(text.p + i, mark.p, mark.n) != 0)
            continue;
        *media_type = sr_tr_quote(tr, sr_bytes_of(text.p + 5, i - 5));
        *data = sr_tr_quote(tr, sr_bytes_of(text.p + i + mark.n, text.n - i - mark.n));
        return media_type->p && data->p;
    }
    return false;
}

/* ---- users ---- */

#define USER_MAX 64

int sr_tr_put_user(struct sr_tr *tr, sr_json_view user, struct sr_json_writer *w)
{
    char digest[SR_SHA256_HEX];
    struct sr_bytes plain = sr_tr_plain(tr, user);
    if (!plain.p)
        return SR_ENOMEM;
    if (plain.n <= USER_MAX) {
        sr_tr_put(w, "user", user);
        return SR_OK;
    }
    int rc = sr_sha256_hex(plain, digest);
    if (!rc)
        sr_json_text(w, "user", digest);
    return rc;
}

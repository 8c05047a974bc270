/* The spans of a body are read in order: those of a message follow it. */
#include "router/prompt/prompt.h"

#include "base/mem.h"
#include "base/ref.h"
#include "infer/model_store.h"
#include "model/tokenizer/tokenizer.h"
#include "json/scan.h"

#include <string.h>

#define IDS_MAX ((size_t)1 << 20) /* of a prompt that is given as numbers */

enum at {
    AT_MESSAGES = 1,
    AT_MESSAGE,
    AT_ROLE,
    AT_CONTENT,
    AT_PART,
    AT_PART_TYPE,
    AT_PART_TEXT,
    AT_OTHER_PART,
    AT_THINKING, /* chat_template_kwargs.enable_thinking */
    AT_PROMPT,
    AT_PROMPT_ITEM,
    AT_IF_ANY,    /* not supported unless it is null, or has nothing in it */
    AT_IF_TRUE,   /* not supported where it is true */
    AT_SPECIAL,   /* add_special_tokens */
    AT_UNLESS_YES /* not supported where it is false */
};

static const struct sr_path_spec specs[] = {
    {"messages", AT_MESSAGES},
    {"messages[]", AT_MESSAGE},
    {"messages[].role", AT_ROLE},
    {"messages[].content", AT_CONTENT},
    {"messages[].content[]", AT_PART},
    {"messages[].content[].type", AT_PART_TYPE},
    {"messages[].content[].text", AT_PART_TEXT},
    {"messages[].tool_calls", AT_IF_ANY},
    {"messages[].function_call", AT_IF_ANY},
    {"messages[].tool_call_id", AT_IF_ANY},
    {"messages[].reasoning", AT_IF_ANY},
    {"messages[].reasoning_content", AT_IF_ANY},
    {"messages[].audio", AT_IF_ANY},
    {"tools", AT_IF_ANY},
    {"documents", AT_IF_ANY},
    {"chat_template", AT_IF_ANY},
    {"chat_template_kwargs.*", AT_IF_ANY},
    {"chat_template_kwargs.enable_thinking", AT_THINKING},
    {"mm_processor_kwargs", AT_IF_ANY},
    {"prompt_embeds", AT_IF_ANY},
    {"truncate_prompt_tokens", AT_IF_ANY},
    {"add_special_tokens", AT_SPECIAL},
    {"continue_final_message", AT_IF_TRUE},
    {"add_generation_prompt", AT_UNLESS_YES},
    {"prompt", AT_PROMPT},
    {"prompt[]", AT_PROMPT_ITEM},
};

struct sr_prompts {
    struct sr_ref ref;
    struct sr_tokenizer *tokenizer;
    const struct sr_chat_template *chat; /* NULL: none */
    struct sr_paths *paths;
};

/* One reading. */
struct reading {
    const struct sr_prompts *of;
    struct sr_bytes body;
    struct sr_arena *arena;
    const struct sr_span *spans;
    size_t n;
    const struct sr_span *messages, *prompt;
    const struct sr_span *special; /* whether the tokenizer adds its own marks; NULL: by the API */
    bool no_thinking;
};

/* ---- its life ---- */

static int check_marks(const struct sr_prompts *prompts, struct sr_err *err)
{
    for (size_t i = 0; i < SR_CHAT_MARKS_MAX && prompts->chat->marks[i]; i++) {
        const char *mark = prompts->chat->marks[i];
        size_t n = 0;
        if (sr_tokenizer_count(prompts->tokenizer, sr_bytes_str(mark), 0, &n) != SR_OK || n != 1)
            return sr_err_set(err, SR_EINVAL,
                              "the chat template `%s` is of another model: its mark `%s` is no token",
                              prompts->chat->name, mark);
    }
    return SR_OK;
}

int sr_prompts_new(struct sr_prompts **out, struct sr_model_store *models, const char *path, const char *name,
                   struct sr_err *err)
{
    struct sr_prompts *prompts = sr_mem_calloc(1, sizeof *prompts);
    *out = NULL;
    if (!prompts)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&prompts->ref);
    int rc = SR_OK;
    if (name[0] && !(prompts->chat = sr_chat_template_find(name)))
        rc = sr_err_set(err, SR_EINVAL, "there is no chat template `%.40s`", name);
    if (rc == SR_OK)
        rc = sr_paths_new(&prompts->paths, specs, sizeof specs / sizeof specs[0], err);
    if (rc == SR_OK)
        rc = sr_model_store_tokenizer(models, path, &prompts->tokenizer, err);
    if (rc == SR_OK && prompts->chat)
        rc = check_marks(prompts, err);
    if (rc == SR_OK)
        *out = prompts;
    else
        sr_prompts_unref(prompts);
    return rc;
}

struct sr_prompts *sr_prompts_ref(struct sr_prompts *prompts)
{
    sr_ref_get(&prompts->ref);
    return prompts;
}

void sr_prompts_unref(struct sr_prompts *prompts)
{
    if (!prompts || !sr_ref_put(&prompts->ref))
        return;
    sr_tokenizer_unref(prompts->tokenizer);
    sr_paths_unref(prompts->paths);
    sr_mem_free(prompts);
}

/* ---- what a request has ---- */

static bool has_something(const struct reading *r, const struct sr_span *span)
{
    bool text = span->kind == SR_JSON_STRING;
    return span->kind != SR_JSON_NULL && !(span->flags & SR_SPAN_EMPTY) &&
           !(text && sr_span_raw(span, r->body).n == 2);
}

/* Looks at the members that decide whether the prompt is one that is understood. */
static int look(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct sr_span *span = &r->spans[i];
        bool bad = false;
        switch ((enum at)span->id) {
        case AT_MESSAGES:
            r->messages = span;
            break;
        case AT_PROMPT:
            r->prompt = span;
            break;
        case AT_THINKING:
            r->no_thinking = span->kind == SR_JSON_FALSE;
            bad = span->kind != SR_JSON_FALSE && span->kind != SR_JSON_TRUE;
            break;
        case AT_IF_ANY:
            bad = has_something(r, span);
            break;
        case AT_IF_TRUE:
            bad = span->kind == SR_JSON_TRUE;
            break;
        case AT_SPECIAL:
            r->special = span;
            break;
        case AT_UNLESS_YES:
            bad = span->kind == SR_JSON_FALSE;
            break;
        default:
            break;
        }
        if (bad)
            return SR_EUNSUPPORTED;
    }
    return SR_OK;
}

static int role_of(const struct reading *r, const struct sr_span *span, enum sr_chat_role *role)
{
    struct sr_bytes word = sr_span_raw(span, r->body);
    if (sr_bytes_eq(word, SR_LIT("\"user\"")))
        *role = SR_CHAT_USER;
    else if (sr_bytes_eq(word, SR_LIT("\"assistant\"")))
        *role = SR_CHAT_ASSISTANT;
    else if (sr_bytes_eq(word, SR_LIT("\"system\"")))
        *role = SR_CHAT_SYSTEM;
    else
        return SR_EUNSUPPORTED;
    return SR_OK;
}

/* The texts of a content's parts, one a line. `end`: the first span behind it. */
static int join_parts(const struct reading *r, size_t at, size_t end, struct sr_bytes *out)
{
    size_t size = r->spans[at].end - r->spans[at].start, n = 0, parts = 0, texts = 0;
    char *joined = sr_arena_alloc(r->arena, size + 1);
    if (!joined)
        return SR_ENOMEM;
    for (size_t i = at + 1; i < end; i++) {
        const struct sr_span *span = &r->spans[i];
        parts += span->id == AT_PART;
        if (span->id == AT_PART_TYPE && !sr_bytes_eq(sr_span_raw(span, r->body), SR_LIT("\"text\"")))
            return SR_EUNSUPPORTED;
        if (span->id != AT_PART_TEXT)
            continue;
        struct sr_bytes text = sr_span_text(span, r->body, r->arena);
        if (!text.p || span->kind != SR_JSON_STRING)
            return span->kind == SR_JSON_STRING ? SR_ENOMEM : SR_EUNSUPPORTED;
        if (texts++)
            joined[n++] = '\n';
        memcpy(joined + n, text.p, text.n);
        n += text.n;
    }
    *out = sr_bytes_of(joined, n);
    return parts == texts ? SR_OK : SR_EUNSUPPORTED;
}

/* The message of spans[at]; `end`: the first span behind it. */
static int read_message(const struct reading *r, size_t at, size_t end, struct sr_chat_message *out)
{
    bool role = false, content = false;
    int rc = SR_OK;
    for (size_t i = at + 1; i < end && rc == SR_OK; i++) {
        const struct sr_span *span = &r->spans[i];
        if (span->id == AT_ROLE) {
            rc = role_of(r, span, &out->role);
            role = true;
        } else if (span->id == AT_CONTENT) {
            content = span->kind == SR_JSON_STRING || span->kind == SR_JSON_ARRAY;
            if (span->kind == SR_JSON_ARRAY) {
                size_t last = i + 1;
                while (last < end && r->spans[last].start < span->end)
                    last++;
                rc = join_parts(r, i, last, &out->content);
            } else if (content) {
                out->content = sr_span_text(span, r->body, r->arena);
                rc = out->content.p ? SR_OK : SR_ENOMEM;
            }
        }
    }
    return rc == SR_OK && !(role && content) ? SR_EUNSUPPORTED : rc;
}

static int read_chat(const struct reading *r, struct sr_chat *chat)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->spans[i].id == AT_MESSAGE;
    struct sr_chat_message *messages = sr_arena_calloc(r->arena, n + 1, sizeof *messages);
    if (!messages)
        return SR_ENOMEM;
    *chat = (struct sr_chat){.messages = messages, .no_thinking = r->no_thinking};
    for (size_t i = 0; i < r->n; i++) {
        if (r->spans[i].id != AT_MESSAGE)
            continue;
        size_t end = i + 1;
        while (end < r->n && r->spans[end].start < r->spans[i].end)
            end++;
        int rc = read_message(r, i, end, &messages[chat->n++]);
        if (rc)
            return rc;
    }
    return SR_OK;
}

/* ---- tokens ---- */

static int encode(const struct reading *r, struct sr_bytes text, unsigned flags, const uint32_t **ids,
                  size_t *n)
{
    struct sr_tokens tokens;
    int rc =
        sr_tokenizer_encode_arena(r->of->tokenizer, text, flags | SR_TOKENIZER_NO_OFFSETS, r->arena, &tokens);
    if (rc)
        return rc;
    *ids = (const uint32_t *)tokens.ids;
    *n = tokens.n;
    return SR_OK;
}

static int encode_chat(const struct reading *r, const uint32_t **ids, size_t *n)
{
    struct sr_chat chat;
    struct sr_buf text;
    if (!r->of->chat || (r->special && r->special->kind == SR_JSON_TRUE))
        return SR_EUNSUPPORTED;
    int rc = read_chat(r, &chat);
    if (rc)
        return rc;
    sr_buf_init(&text, SR_TOKENIZER_TEXT_MAX);
    rc = sr_chat_render(r->of->chat, &chat, &text);
    if (rc == SR_OK)
        rc = encode(r, sr_buf_view(&text), 0, ids, n);
    sr_buf_dispose(&text);
    return rc;
}

/* A prompt of token numbers. */
static int take_numbers(const struct reading *r, const uint32_t **ids, size_t *n)
{
    size_t count = 0, i = 0;
    for (size_t k = 0; k < r->n; k++)
        count += r->spans[k].id == AT_PROMPT_ITEM;
    uint32_t *out = count <= IDS_MAX ? sr_arena_alloc(r->arena, (count + 1) * sizeof *out) : NULL;
    if (!out)
        return count <= IDS_MAX ? SR_ENOMEM : SR_ELIMIT;
    for (size_t k = 0; k < r->n; k++) {
        unsigned long long number;
        if (r->spans[k].id != AT_PROMPT_ITEM)
            continue;
        if (r->spans[k].kind != SR_JSON_NUMBER ||
            !sr_bytes_to_u64(sr_span_raw(&r->spans[k], r->body), &number) || number > UINT32_MAX)
            return SR_EUNSUPPORTED;
        out[i++] = (uint32_t)number;
    }
    *ids = out;
    *n = i;
    return i ? SR_OK : SR_EINVAL;
}

static int encode_prompt(const struct reading *r, const uint32_t **ids, size_t *n)
{
    if (r->prompt->kind == SR_JSON_ARRAY)
        return take_numbers(r, ids, n);
    struct sr_bytes text = sr_span_text(r->prompt, r->body, r->arena);
    if (r->prompt->kind != SR_JSON_STRING)
        return SR_EUNSUPPORTED;
    bool special = !r->special || r->special->kind != SR_JSON_FALSE;
    return text.p ? encode(r, text, special ? SR_TOKENIZER_SPECIAL : 0, ids, n) : SR_ENOMEM;
}

int sr_prompts_read(const struct sr_prompts *prompts, struct sr_bytes body, struct sr_arena *arena,
                    const uint32_t **ids, size_t *n)
{
    struct reading r = {.of = prompts, .body = body, .arena = arena};
    struct sr_scan *scan = NULL;
    struct sr_err err = {0};
    int rc = sr_scan_new(&scan, prompts->paths, sr_scan_limits_defaults(), arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, body.p, body.n, &err);
    if (rc == SR_OK || rc == SR_MORE)
        rc = sr_scan_finish(scan, &err);
    if (rc)
        return rc;
    r.spans = sr_scan_spans(scan, &r.n);
    rc = look(&r);
    if (rc)
        return rc;
    if (r.messages)
        return encode_chat(&r, ids, n);
    return r.prompt ? encode_prompt(&r, ids, n) : SR_EINVAL;
}

/* Spans of a body, message by message. */
#include "mock/engine/prompt.h"

#include "base/mem.h"
#include "json/scan.h"

#include <stdlib.h>

enum path {
    PATH_ROLE = 1,
    PATH_TEXT,
    PATH_CALLS,
    PATH_MESSAGE,
    PATH_TOOLS,
    PATH_PROMPT,
    PATH_MAX_TOKENS,
    PATH_MAX_COMPLETION,
    PATH_IGNORE_EOS,
    PATH_OPENING,
    PATH_SYSTEM,
};

static const struct sr_path_spec paths[] = {
    {"messages[]", PATH_MESSAGE},
    {"messages[].role", PATH_ROLE},
    {"messages[].content", PATH_TEXT},
    {"messages[].content[].text", PATH_TEXT},
    {"messages[].tool_calls", PATH_CALLS},
    {"messages[].content[].content", PATH_TEXT},
    {"messages[].content[].content[].text", PATH_TEXT},
    {"tools", PATH_TOOLS},
    {"system", PATH_SYSTEM},
    {"system[].text", PATH_SYSTEM},
    {"instructions", PATH_SYSTEM},
    {"input", PATH_PROMPT},
    {"input[]", PATH_MESSAGE},
    {"input[].role", PATH_ROLE},
    {"input[].content", PATH_TEXT},
    {"input[].content[].text", PATH_TEXT},
    {"input[].output", PATH_TEXT},
    {"prompt", PATH_PROMPT},
    {"prompt[]", PATH_PROMPT},
    {"max_tokens", PATH_MAX_TOKENS},
    {"max_completion_tokens", PATH_MAX_COMPLETION},
    {"max_output_tokens", PATH_MAX_COMPLETION},
    {"ignore_eos", PATH_IGNORE_EOS},
    {"add_generation_prompt", PATH_OPENING},
};

struct sr_mock_prompts {
    struct sr_paths *paths;
};

/* One reading. */
struct reading {
    struct sr_bytes body;
    const struct sr_span *spans;
    size_t n;
    struct sr_arena *arena;
    struct sr_mock_tokens *tokens;
};

int sr_mock_prompts_new(struct sr_mock_prompts **out, struct sr_err *err)
{
    *out = NULL;
    struct sr_mock_prompts *prompts = sr_mem_calloc(1, sizeof *prompts);
    if (!prompts)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    int rc = sr_paths_new(&prompts->paths, paths, sizeof paths / sizeof paths[0], err);
    if (rc != SR_OK)
        sr_mem_free(prompts);
    else
        *out = prompts;
    return rc;
}

void sr_mock_prompts_free(struct sr_mock_prompts *prompts)
{
    if (!prompts)
        return;
    sr_paths_unref(prompts->paths);
    sr_mem_free(prompts);
}

static int put_string(struct reading *r, const struct sr_span *span)
{
    struct sr_bytes text = sr_span_text(span, r->body, r->arena);
    return text.p || span->kind != SR_JSON_STRING ? sr_mock_tokens_text(r->tokens, text) : SR_ENOMEM;
}

static const struct sr_span *find(const struct reading *r, enum path id)
{
    for (size_t i = r->n; i-- > 0;)
        if (r->spans[i].id == id)
            return &r->spans[i];
    return NULL;
}

/* The message of spans[at], and of those after it that lie in it. */
static int put_message(struct reading *r, size_t at)
{
    const struct sr_span *message = &r->spans[at];
    size_t end = at + 1;
    struct sr_bytes role = {0};
    for (; end < r->n && r->spans[end].start < message->end; end++)
        if (r->spans[end].id == PATH_ROLE)
            role = sr_span_text(&r->spans[end], r->body, r->arena);
    int rc = sr_mock_tokens_mark(r->tokens, sr_mock_role_mark(role));
    for (size_t i = at + 1; i < end && rc == SR_OK; i++)
        if (r->spans[i].id == PATH_TEXT && r->spans[i].kind == SR_JSON_STRING)
            rc = put_string(r, &r->spans[i]);
    for (size_t i = at + 1; i < end && rc == SR_OK; i++)
        if (r->spans[i].id == PATH_CALLS && r->spans[i].kind == SR_JSON_ARRAY)
            rc = sr_mock_tokens_text(r->tokens, sr_span_raw(&r->spans[i], r->body));
    return rc == SR_OK ? sr_mock_tokens_mark(r->tokens, SR_MOCK_MARK_END) : rc;
}

static int put_chat(struct reading *r)
{
    const struct sr_span *tools = find(r, PATH_TOOLS), *opening = find(r, PATH_OPENING);
    int rc = SR_OK;
    if (tools && tools->kind == SR_JSON_ARRAY && !(tools->flags & SR_SPAN_EMPTY)) {
        rc = sr_mock_tokens_mark(r->tokens, SR_MOCK_MARK_TOOLS);
        if (rc == SR_OK)
            rc = sr_mock_tokens_text(r->tokens, sr_span_raw(tools, r->body));
        if (rc == SR_OK)
            rc = sr_mock_tokens_mark(r->tokens, SR_MOCK_MARK_END);
    }
    for (size_t i = 0; i < r->n && rc == SR_OK; i++)
        if (r->spans[i].id == PATH_MESSAGE && r->spans[i].kind == SR_JSON_OBJECT)
            rc = put_message(r, i);
    if (rc != SR_OK || (opening && opening->kind == SR_JSON_FALSE))
        return rc;
    return sr_mock_tokens_mark(r->tokens, SR_MOCK_MARK_ASSISTANT);
}

/* 0 for what is no whole number of at most nine digits. */
static uint64_t number_of(const struct reading *r, const struct sr_span *span)
{
    unsigned long long n = 0;
    if (!span || span->kind != SR_JSON_NUMBER || span->end - span->start > 9 ||
        !sr_bytes_to_u64(sr_span_raw(span, r->body), &n))
        return 0;
    return n;
}

static int put_prompt(struct reading *r, const struct sr_span *span)
{
    if (span->kind == SR_JSON_STRING)
        return put_string(r, span);
    return span->kind == SR_JSON_NUMBER
               ? sr_mock_tokens_mark(r->tokens, (enum sr_mock_mark)number_of(r, span))
               : SR_OK;
}

static int put_system(struct reading *r, const struct sr_span *span)
{
    int rc = sr_mock_tokens_mark(r->tokens, sr_mock_role_mark(SR_LIT("system")));
    if (rc == SR_OK)
        rc = put_string(r, span);
    return rc == SR_OK ? sr_mock_tokens_mark(r->tokens, SR_MOCK_MARK_END) : rc;
}

static int read_spans(struct reading *r, struct sr_mock_prompt *out, struct sr_err *err)
{
    const struct sr_span *eos = find(r, PATH_IGNORE_EOS);
    size_t before = r->tokens->n;
    out->max_tokens = number_of(r, find(r, PATH_MAX_COMPLETION));
    if (!out->max_tokens)
        out->max_tokens = number_of(r, find(r, PATH_MAX_TOKENS));
    out->ignore_eos = eos && eos->kind == SR_JSON_TRUE;
    int rc = SR_OK;
    for (size_t i = 0; i < r->n && rc == SR_OK; i++)
        if (r->spans[i].id == PATH_SYSTEM && r->spans[i].kind == SR_JSON_STRING)
            rc = put_system(r, &r->spans[i]);
    if (rc == SR_OK && find(r, PATH_MESSAGE))
        rc = put_chat(r);
    for (size_t i = 0; i < r->n && rc == SR_OK; i++)
        if (r->spans[i].id == PATH_PROMPT)
            rc = put_prompt(r, &r->spans[i]);
    if (rc == SR_OK && r->tokens->n == before)
        rc = SR_EINVAL;
    return rc == SR_OK ? rc : sr_err_set(err, rc, "the prompt: %s", sr_strerror(rc));
}

int sr_mock_prompt_read(const struct sr_mock_prompts *prompts, struct sr_bytes body, struct sr_arena *arena,
                        struct sr_mock_tokens *tokens, struct sr_mock_prompt *out, struct sr_err *err)
{
    struct sr_scan *scan = NULL;
    *out = (struct sr_mock_prompt){0};
    int rc = sr_scan_new(&scan, prompts->paths, sr_scan_limits_defaults(), arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, body.p, body.n, err);
    if (rc == SR_OK || rc == SR_MORE)
        rc = sr_scan_finish(scan, err);
    if (rc != SR_OK)
        return rc;
    struct reading r = {.body = body, .arena = arena, .tokens = tokens};
    r.spans = sr_scan_spans(scan, &r.n);
    return read_spans(&r, out, err);
}

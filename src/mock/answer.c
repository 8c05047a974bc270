/*
 * The mock's answers. Times and ids are constants on purpose.
 */
#include "mock/answer.h"

#include "base/hash.h"

#include <inttypes.h>
#include <math.h>

#define CREATED    "1700000000"
#define DIMENSIONS 16

enum path { PATH_MODEL = 1, PATH_STREAM, PATH_INCLUDE_USAGE, PATH_TEXT, PATH_INPUT };

static const struct sr_path_spec paths[] = {
    {"model", PATH_MODEL},
    {"stream", PATH_STREAM},
    {"stream_options.include_usage", PATH_INCLUDE_USAGE},
    {"messages[].content", PATH_TEXT},
    {"messages[].content[].text", PATH_TEXT},
    {"prompt", PATH_TEXT},
    {"prompt[]", PATH_TEXT},
    {"input", PATH_INPUT},
    {"input[]", PATH_INPUT},
};

int sr_mock_paths(struct sr_paths **out, struct sr_err *err)
{
    return sr_paths_new(out, paths, sizeof paths / sizeof paths[0], err);
}

static struct sr_bytes inside(const struct sr_span *span, struct sr_bytes body)
{
    if (span->kind != SR_JSON_STRING || (span->flags & SR_SPAN_OPEN) || span->end > body.n)
        return (struct sr_bytes){0};
    return sr_bytes_of(body.p + span->start + 1, span->end - span->start - 2);
}

void sr_mock_ask_read(struct sr_mock_ask *ask, const struct sr_span *spans, size_t n, struct sr_bytes body)
{
    ask->model = SR_LIT("unknown");
    ask->inputs = spans;
    ask->n_inputs = n;
    ask->body = body;
    for (size_t i = 0; i < n; i++) {
        const struct sr_span *span = &spans[i];
        bool text = span->kind == SR_JSON_STRING && !(span->flags & SR_SPAN_OPEN);
        if (span->id == PATH_MODEL && inside(span, body).n > 0)
            ask->model = inside(span, body);
        else if (span->id == PATH_STREAM)
            ask->stream = span->kind == SR_JSON_TRUE;
        else if (span->id == PATH_INCLUDE_USAGE)
            ask->include_usage = span->kind == SR_JSON_TRUE;
        else if ((span->id == PATH_TEXT || span->id == PATH_INPUT) && text)
            ask->prompt_bytes += span->end - span->start - 2;
    }
}

static uint64_t prompt_tokens(const struct sr_mock_ask *ask)
{
    return ask->prompt_bytes / 4 + 3;
}

static int put_usage(const struct sr_mock_ask *ask, uint64_t completion, struct sr_buf *out)
{
    uint64_t prompt = prompt_tokens(ask);
    return sr_buf_printf(
        out, "{\"prompt_tokens\":%" PRIu64 ",\"completion_tokens\":%" PRIu64 ",\"total_tokens\":%" PRIu64 "}",
        prompt, completion, prompt + completion);
}

static int put_text(const struct sr_mock_ask *ask, struct sr_buf *out)
{
    return sr_buf_printf(out, "Worker %zu answers as %.*s: the prompt has %" PRIu64 " bytes.", ask->worker,
                         (int)ask->model.n, ask->model.p, ask->prompt_bytes);
}

/* One number in [-1, 1) of the vector of a text. */
static double coordinate(struct sr_bytes text, uint64_t i)
{
    return (double)(sr_hash64(text, i) >> 11) / 4503599627370496.0 - 1;
}

static int put_vector(size_t index, struct sr_bytes text, struct sr_buf *out)
{
    double norm = 0;
    for (uint64_t i = 0; i < DIMENSIONS; i++)
        norm += coordinate(text, i) * coordinate(text, i);
    norm = norm > 0 ? sqrt(norm) : 1;
    int rc = sr_buf_printf(out, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":[", index ? "," : "",
                           index);
    for (uint64_t i = 0; i < DIMENSIONS && rc == SR_OK; i++)
        rc = sr_buf_printf(out, "%s%.6f", i ? "," : "", coordinate(text, i) / norm);
    return rc == SR_OK ? sr_buf_append(out, "]}", 2) : rc;
}

/* A string, each string of a list, each list of tokens of a list; a list of tokens is one input. */
static int put_embeddings(const struct sr_mock_ask *ask, struct sr_buf *out)
{
    size_t index = 0;
    int rc = sr_buf_printf(out, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < ask->n_inputs && rc == SR_OK; i++) {
        const struct sr_span *span = &ask->inputs[i];
        if (span->id != PATH_INPUT || (span->flags & SR_SPAN_OPEN) || span->end > ask->body.n)
            continue;
        bool element = span->parent != SR_SPAN_NONE && ask->inputs[span->parent].id == PATH_INPUT;
        bool list = span->kind == SR_JSON_ARRAY && !element;
        bool of_tokens = list && i + 1 < ask->n_inputs && ask->inputs[i + 1].id == PATH_INPUT &&
                         ask->inputs[i + 1].kind == SR_JSON_NUMBER;
        if (span->kind == SR_JSON_STRING || (span->kind == SR_JSON_ARRAY && element) || of_tokens)
            rc = put_vector(index++, sr_span_raw(span, ask->body), out);
    }
    uint64_t tokens = prompt_tokens(ask);
    if (rc == SR_OK)
        rc = sr_buf_printf(out,
                           "],\"model\":\"%.*s\",\"usage\":{\"prompt_tokens\":%" PRIu64
                           ",\"total_tokens\":%" PRIu64 "}}",
                           (int)ask->model.n, ask->model.p, tokens, tokens);
    return rc;
}

int sr_mock_answer(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail)
{
    if (ask->endpoint == SR_MOCK_EMBEDDING)
        return put_embeddings(ask, head);
    bool chat = ask->endpoint == SR_MOCK_CHAT;
    int rc = sr_buf_printf(head,
                           "{\"id\":\"mock-%zu\",\"object\":\"%s\",\"created\":" CREATED
                           ",\"model\":\"%.*s\",\"choices\":[{\"index\":0,%s",
                           ask->worker, chat ? "chat.completion" : "text_completion", (int)ask->model.n,
                           ask->model.p,
                           chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"" : "\"text\":\"");
    if (rc == SR_OK)
        rc = put_text(ask, head);
    if (rc == SR_OK)
        rc = sr_buf_printf(tail,
                           "\"%s,\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":", chat ? "}" : "");
    if (rc == SR_OK)
        rc = put_usage(ask, SR_MOCK_CHUNKS, tail);
    return rc == SR_OK ? sr_buf_append(tail, "}", 1) : rc;
}

/* Chat streams open with a chunk that names the role. */
static size_t opening(const struct sr_mock_ask *ask)
{
    return ask->endpoint == SR_MOCK_CHAT ? 1 : 0;
}

size_t sr_mock_frames(const struct sr_mock_ask *ask, size_t n_chunks)
{
    return opening(ask) + (n_chunks ? n_chunks : SR_MOCK_CHUNKS) + 1 + ask->include_usage + 1;
}

/* Where word `at` of `text` begins, its space included; the end when there are not so many. */
static size_t word_start(struct sr_bytes text, size_t at)
{
    size_t i = 0;
    for (; i < text.n && at > 0; i++)
        at -= text.p[i] == ' ';
    return i > 0 && at == 0 ? i - 1 : i;
}

/* A word of the answer in each chunk, the rest in the last; filler when there are more chunks than words. */
static int put_content(const struct sr_mock_ask *ask, size_t at, size_t n_chunks, size_t fill,
                       struct sr_buf *out)
{
    static const char *const filler[] = {"and", "it", "goes", "on"};
    static const char dots[] = "................................................................";
    size_t before = out->len;
    int rc = put_text(ask, out);
    if (rc == SR_OK) {
        struct sr_bytes text = {out->data + before, out->len - before};
        size_t start = word_start(text, at), end = at + 1 < n_chunks ? word_start(text, at + 1) : text.n;
        memmove(out->data + before, text.p + start, end - start);
        out->len = before + end - start;
    }
    if (rc == SR_OK && out->len == before)
        rc = sr_buf_printf(out, " %s", filler[at % 4]);
    for (size_t left = fill; left > 0 && rc == SR_OK;) {
        size_t n = left < sizeof dots - 1 ? left : sizeof dots - 1;
        rc = sr_buf_append(out, dots, n);
        left -= n;
    }
    return rc;
}

static int put_choice(const struct sr_mock_ask *ask, size_t chunk, size_t n_chunks, bool role, size_t fill,
                      struct sr_buf *out)
{
    bool chat = ask->endpoint == SR_MOCK_CHAT, finish = !role && chunk == n_chunks;
    int rc = sr_buf_printf(out, "{\"index\":0,%s", chat ? "\"delta\":{" : "\"text\":\"");
    if (rc == SR_OK && role)
        rc = sr_buf_printf(out, "\"role\":\"assistant\",\"content\":\"\"");
    else if (rc == SR_OK && !finish) {
        rc = sr_buf_printf(out, "%s", chat ? "\"content\":\"" : "");
        if (rc == SR_OK)
            rc = put_content(ask, chunk, n_chunks, fill, out);
        if (rc == SR_OK && chat)
            rc = sr_buf_append(out, "\"", 1);
    }
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "%s,\"logprobs\":null,\"finish_reason\":%s}", chat ? "}" : "\"",
                           finish ? "\"stop\"" : "null");
    return rc;
}

int sr_mock_frame(const struct sr_mock_ask *ask, size_t n_chunks, size_t at, size_t fill, struct sr_buf *out)
{
    n_chunks = n_chunks ? n_chunks : SR_MOCK_CHUNKS;
    size_t finish = opening(ask) + n_chunks;
    if (at == sr_mock_frames(ask, n_chunks) - 1)
        return sr_buf_printf(out, "data: [DONE]\n\n");
    bool role = at<opening(ask), usage = at> finish;
    int rc = sr_buf_printf(out,
                           "data: {\"id\":\"mock-%zu\",\"object\":\"%s\",\"created\":" CREATED
                           ",\"model\":\"%.*s\",\"choices\":[",
                           ask->worker,
                           ask->endpoint == SR_MOCK_CHAT ? "chat.completion.chunk" : "text_completion",
                           (int)ask->model.n, ask->model.p);
    if (rc == SR_OK && !usage)
        rc = put_choice(ask, at - opening(ask), n_chunks, role, fill, out);
    if (rc == SR_OK && ask->include_usage)
        rc = sr_buf_printf(out, "],\"usage\":%s", usage ? "" : "null}\n\n");
    else if (rc == SR_OK)
        rc = sr_buf_printf(out, "]}\n\n");
    if (rc == SR_OK && usage)
        rc = put_usage(ask, n_chunks, out);
    return rc == SR_OK && usage ? sr_buf_printf(out, "}\n\n") : rc;
}

int sr_mock_models(struct sr_buf *out)
{
    return sr_buf_printf(
        out, "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\"created\":" CREATED
             ",\"owned_by\":\"semroute\"}]}");
}

int sr_mock_error(int status, const char *message, struct sr_buf *out)
{
    int rc = sr_buf_printf(out, "{\"error\":{\"message\":\"");
    if (rc == SR_OK)
        rc = sr_buf_append_json(out, sr_bytes_str(message));
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "\",\"type\":\"%s\",\"param\":null,\"code\":%d}}",
                           status < 500 ? "invalid_request_error" : "server_error", status);
    return rc;
}

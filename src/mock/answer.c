/*
 * The mock's answers. Times and ids are constants on purpose.
 */
#include "mock/answer.h"

#include "base/hash.h"
#include "base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define CREATED    UINT64_C(1700000000)
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

/* A member of our own: who answered, and when. */
static void put_times(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    sr_json_object(w, "mock");
    sr_json_uint(w, "worker", ask->worker);
    sr_json_uint(w, "arrived_ns", ask->measured->arrived_ns);
    sr_json_uint(w, "queued_us", ask->measured->queued_us);
    sr_json_uint(w, "first_us", ask->measured->first_us);
    sr_json_uint(w, "last_us", ask->measured->last_us);
    sr_json_object_end(w);
}

static const char *finish_reason(const struct sr_mock_ask *ask)
{
    return ask->measured && ask->measured->length ? "length" : "stop";
}

static void put_usage(const struct sr_mock_ask *ask, uint64_t completion, struct sr_json_writer *w)
{
    const struct sr_mock_measured *measured = ask->measured;
    uint64_t prompt = measured ? measured->prompt_tokens : prompt_tokens(ask);
    if (measured)
        completion = measured->answer_tokens;
    sr_json_object(w, "usage");
    sr_json_uint(w, "prompt_tokens", prompt);
    sr_json_uint(w, "completion_tokens", completion);
    sr_json_uint(w, "total_tokens", prompt + completion);
    if (measured) {
        sr_json_object(w, "prompt_tokens_details");
        sr_json_uint(w, "cached_tokens", measured->cached_tokens);
        sr_json_object_end(w);
    }
    sr_json_object_end(w);
    if (measured)
        put_times(ask, w);
}

/* The model as the request wrote it: the inside of a JSON string. */
static void put_model(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    sr_json_string(w, "model");
    if (!w->rc)
        w->rc = sr_buf_append_bytes(w->out, ask->model);
    sr_json_string_end(w);
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

static void put_vector(size_t index, struct sr_bytes text, struct sr_json_writer *w)
{
    double norm = 0;
    for (uint64_t i = 0; i < DIMENSIONS; i++)
        norm += coordinate(text, i) * coordinate(text, i);
    norm = norm > 0 ? sqrt(norm) : 1;
    sr_json_object(w, NULL);
    sr_json_text(w, "object", "embedding");
    sr_json_uint(w, "index", index);
    sr_json_array(w, "embedding");
    for (uint64_t i = 0; i < DIMENSIONS; i++)
        sr_json_real(w, NULL, "%.6f", coordinate(text, i) / norm);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* A string, each string of a list, each list of tokens of a list; a list of tokens is one input. */
static int put_embeddings(const struct sr_mock_ask *ask, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    size_t index = 0;
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "list");
    sr_json_array(&w, "data");
    for (size_t i = 0; i < ask->n_inputs; i++) {
        const struct sr_span *span = &ask->inputs[i];
        if (span->id != PATH_INPUT || (span->flags & SR_SPAN_OPEN) || span->end > ask->body.n)
            continue;
        bool element = span->parent != SR_SPAN_NONE && ask->inputs[span->parent].id == PATH_INPUT;
        bool list = span->kind == SR_JSON_ARRAY && !element;
        bool of_tokens = list && i + 1 < ask->n_inputs && ask->inputs[i + 1].id == PATH_INPUT &&
                         ask->inputs[i + 1].kind == SR_JSON_NUMBER;
        if (span->kind == SR_JSON_STRING || (span->kind == SR_JSON_ARRAY && element) || of_tokens)
            put_vector(index++, sr_span_raw(span, ask->body), &w);
    }
    uint64_t tokens = prompt_tokens(ask);
    sr_json_array_end(&w);
    put_model(ask, &w);
    sr_json_object(&w, "usage");
    sr_json_uint(&w, "prompt_tokens", tokens);
    sr_json_uint(&w, "total_tokens", tokens);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

/* From the root to the list of choices. */
static void put_opening(const struct sr_mock_ask *ask, const char *object, struct sr_json_writer *w)
{
    char id[40];
    snprintf(id, sizeof id, "mock-%zu", ask->worker);
    sr_json_object(w, NULL);
    sr_json_text(w, "id", id);
    sr_json_text(w, "object", object);
    sr_json_uint(w, "created", CREATED);
    put_model(ask, w);
    sr_json_array(w, "choices");
}

int sr_mock_answer(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail)
{
    if (ask->endpoint == SR_MOCK_EMBEDDING)
        return put_embeddings(ask, head);
    bool chat = ask->endpoint == SR_MOCK_CHAT;
    struct sr_json_writer w = sr_json_writer_of(head);
    put_opening(ask, chat ? "chat.completion" : "text_completion", &w);
    sr_json_object(&w, NULL);
    sr_json_uint(&w, "index", 0);
    if (chat) {
        sr_json_object(&w, "message");
        sr_json_text(&w, "role", "assistant");
    }
    sr_json_string(&w, chat ? "content" : "text");
    if (!w.rc)
        w.rc = put_text(ask, head);
    w.out = tail;
    sr_json_string_end(&w);
    if (chat)
        sr_json_object_end(&w);
    sr_json_null(&w, "logprobs");
    sr_json_text(&w, "finish_reason", finish_reason(ask));
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    put_usage(ask, SR_MOCK_CHUNKS, &w);
    sr_json_object_end(&w);
    return w.rc;
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

static void put_choice(const struct sr_mock_ask *ask, size_t chunk, size_t n_chunks, bool role, size_t fill,
                       struct sr_json_writer *w)
{
    bool chat = ask->endpoint == SR_MOCK_CHAT, finish = !role && chunk == n_chunks;
    sr_json_object(w, NULL);
    sr_json_uint(w, "index", 0);
    if (chat)
        sr_json_object(w, "delta");
    if (role)
        sr_json_text(w, "role", "assistant");
    if (!chat || !finish) {
        sr_json_string(w, chat ? "content" : "text");
        if (!w->rc && !role && !finish)
            w->rc = put_content(ask, chunk, n_chunks, fill, w->out);
        sr_json_string_end(w);
    }
    if (chat)
        sr_json_object_end(w);
    sr_json_null(w, "logprobs");
    sr_json_text(w, "finish_reason", finish ? finish_reason(ask) : NULL);
    sr_json_object_end(w);
}

int sr_mock_frame(const struct sr_mock_ask *ask, size_t n_chunks, size_t at, size_t fill, struct sr_buf *out)
{
    n_chunks = n_chunks ? n_chunks : SR_MOCK_CHUNKS;
    size_t finish = opening(ask) + n_chunks;
    if (at == sr_mock_frames(ask, n_chunks) - 1)
        return sr_buf_printf(out, "data: [DONE]\n\n");
    bool role = at<opening(ask), usage = at> finish, chat = ask->endpoint == SR_MOCK_CHAT;
    struct sr_json_writer w = {.out = out, .rc = sr_buf_append_bytes(out, SR_LIT("data: "))};
    put_opening(ask, chat ? "chat.completion.chunk" : "text_completion", &w);
    if (!usage)
        put_choice(ask, at - opening(ask), n_chunks, role, fill, &w);
    sr_json_array_end(&w);
    if (usage)
        put_usage(ask, n_chunks, &w);
    else if (ask->include_usage)
        sr_json_null(&w, "usage");
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append_bytes(out, SR_LIT("\n\n"));
}

int sr_mock_models(const char *model, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "list");
    sr_json_array(&w, "data");
    sr_json_object(&w, NULL);
    sr_json_text(&w, "id", model);
    sr_json_text(&w, "object", "model");
    sr_json_uint(&w, "created", CREATED);
    sr_json_text(&w, "owned_by", "semroute");
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

int sr_mock_error(int status, const char *message, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_object(&w, "error");
    sr_json_text(&w, "message", message);
    sr_json_text(&w, "type", status < 500 ? "invalid_request_error" : "server_error");
    sr_json_null(&w, "param");
    sr_json_int(&w, "code", status);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

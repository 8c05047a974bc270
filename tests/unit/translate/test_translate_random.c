/* Random documents there and back: what all APIs can say survives every way through another one. */
#include "tests/unit/cmocka_all.h"
#include "translate/translate.h"

#include <jansson.h>

#define MEMORY ((size_t)64 << 20)
#define ROUNDS 500

static uint64_t rng = 88172645463325252u;

static unsigned below(unsigned n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng >> 20) % n;
}

static const char *pick(const char *const *list, unsigned n)
{
    return list[below(n)];
}

/* ---- random documents, as chat completions ---- */

static json_t *text(void)
{
    static const char *const words[] = {
        "hello", " world",   "\"quoted\"",       "\\",
        "\n",    "\xC3\xBC", "\xF0\x9F\x98\x80", "{\"a\":1}",
        "\x01",  "</s>",     "data: x",          "a long piece of plain text"};
    char out[256] = "t";
    for (unsigned n = below(6); n; n--)
        strcat(out, pick(words, 12));
    return json_string(out);
}

static json_t *object(void)
{
    return json_pack("{s:o,s:i,s:[o,b]}", "k", text(), "n", (int)below(100), "l", text(), 1);
}

static json_t *content(void)
{
    if (below(2))
        return text();
    json_t *parts = json_array();
    json_array_append_new(parts, json_pack("{s:s,s:o}", "type", "text", "text", text()));
    for (unsigned n = below(3); n; n--)
        json_array_append_new(parts,
                              json_pack("{s:s,s:{s:s}}", "type", "image_url", "image_url", "url",
                                        below(2) ? "https://a/b.png" : "data:image/png;base64,iVBORw0="));
    if (below(2))
        json_array_append_new(parts, json_pack("{s:s,s:o}", "type", "text", "text", text()));
    return parts;
}

static json_t *calls(void)
{
    json_t *list = json_array();
    for (unsigned n = 1 + below(3); n; n--) {
        json_t *arguments = object();
        char *dump = json_dumps(arguments, JSON_COMPACT), id[32];
        snprintf(id, sizeof id, "call_%u_%u", below(1000), n);
        json_array_append_new(list, json_pack("{s:s,s:s,s:{s:s,s:s}}", "id", id, "type", "function",
                                              "function", "name", "f", "arguments", dump));
        free(dump);
        json_decref(arguments);
    }
    return list;
}

/* Are there calls in it? */
static bool add_assistant(json_t *messages)
{
    json_t *message = json_pack("{s:s,s:n}", "role", "assistant", "content"), *call;
    size_t i;
    bool silent = below(3) == 0;
    if (!silent)
        json_object_set_new(message, "content", text());
    if (silent || below(2))
        json_object_set_new(message, "tool_calls", calls());
    json_array_append_new(messages, message);
    json_array_foreach(json_object_get(message, "tool_calls"), i, call)
        json_array_append_new(messages, json_pack("{s:s,s:O,s:o}", "role", "tool", "tool_call_id",
                                                  json_object_get(call, "id"), "content", text()));
    return i > 0;
}

static json_t *request(void)
{
    static const char *const choices[] = {"auto", "none", "required"}, *const efforts[] = {"low", "medium",
                                                                                           "high"};
    json_t *messages = json_array();
    bool called = false;
    json_t *out =
        json_pack("{s:s,s:o,s:i}", "model", "m", "messages", messages, "max_completion_tokens", 40000);
    if (below(2))
        json_array_append_new(messages, json_pack("{s:s,s:o}", "role", "system", "content", text()));
    for (unsigned n = 1 + below(4); n; n--) {
        json_array_append_new(messages, json_pack("{s:s,s:o}", "role", "user", "content", content()));
        if (n > 1 || below(2))
            called |= add_assistant(messages);
    }
    unsigned choice = 3;
    if (below(2)) {
        json_object_set_new(out, "tools",
                            json_pack("[{s:s,s:{s:s,s:o,s:o,s:b}}]", "type", "function", "function", "name",
                                      "f", "description", text(), "parameters", object(), "strict", 1));
        choice = below(4);
        if (choice < 3)
            json_object_set_new(out, "tool_choice", json_string(choices[choice]));
        if (choice == 0 || choice == 2)
            json_object_set_new(out, "parallel_tool_calls", json_boolean(below(2)));
    }
    if (below(2))
        json_object_set_new(out, "stream", json_true());
    if (below(2))
        json_object_set_new(out, "user", json_string("u"));
    if (below(3) == 0)
        json_object_set_new(out, "response_format",
                            json_pack("{s:s,s:{s:s,s:o,s:b}}", "type", "json_schema", "json_schema", "name",
                                      "response", "schema", object(), "strict", 1));
    /* Messages take no reasoning after calls that come without any. */
    if (below(2) && choice != 2 && !called)
        json_object_set_new(out, "reasoning_effort", json_string(pick(efforts, 3)));
    else
        json_object_set_new(out, "temperature", json_real(0.5));
    return out;
}

static json_t *answer(void)
{
    static const char *const finishes[] = {"stop", "length", "content_filter"};
    json_t *message = json_pack("{s:s,s:n,s:n}", "role", "assistant", "content", "refusal");
    const char *finish = pick(finishes, 3);
    if (below(2))
        json_object_set_new(message, "reasoning_content", text());
    if (below(3))
        json_object_set_new(message, "content", text());
    if (below(2)) {
        json_object_set_new(message, "tool_calls", calls());
        finish = "tool_calls";
    }
    int in = (int)below(1000), out = (int)below(1000), cached = (int)below(100) % (in / 2 + 1);
    int written = (int)below(100) % (in / 2 + 1), reasoning = (int)below(100) % (out + 1);
    json_t *json =
        json_pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:o,s:n,s:s}],s:{s:i,s:i,s:i,s:{s:i},s:{s:i}}}", "id",
                  "chatcmpl-1", "object", "chat.completion", "created", 7, "model", "m", "choices", "index",
                  0, "message", message, "logprobs", "finish_reason", finish, "usage", "prompt_tokens", in,
                  "completion_tokens", out, "total_tokens", in + out, "prompt_tokens_details",
                  "cached_tokens", cached, "completion_tokens_details", "reasoning_tokens", reasoning);
    json_t *usage = json_object_get(json, "usage");
    if (written) {
        json_object_set_new(json_object_get(usage, "prompt_tokens_details"), "cache_write_tokens",
                            json_integer(written));
        json_object_set_new(usage, "cache_creation_input_tokens", json_integer(written));
    }
    if (below(2))
        json_object_set_new(json, "service_tier", json_string(below(2) ? "default" : "priority"));
    return json;
}

/* ---- translating ---- */

typedef int (*translate)(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                         const struct sr_translate_settings *settings, struct sr_arena *arena,
                         struct sr_buf *out, struct sr_translate_warnings *warnings, struct sr_err *err);

/* Takes `in`. */
static json_t *turn(translate function, unsigned from, unsigned to, json_t *in)
{
    struct sr_translate_settings settings = {.now_s = 7};
    struct sr_translate_warnings warnings = {.n = 0};
    struct sr_err err = {.code = 0};
    struct sr_arena arena;
    struct sr_buf out;
    char *body = json_dumps(in, JSON_COMPACT | JSON_ENSURE_ASCII * below(2));
    sr_arena_init(&arena, MEMORY);
    sr_buf_init(&out, MEMORY);
    if (function((enum sr_translate_api)from, (enum sr_translate_api)to, sr_bytes_str(body), &settings,
                 &arena, &out, &warnings, &err))
        fail_msg("%u to %u: %s\n%s", from, to, err.message, body);
    for (size_t i = 0; i < warnings.n; i++)
        if (!strstr(warnings.items[i], "name") && !strstr(warnings.items[i], "budget"))
            fail_msg("%u to %u: %s is lost\n%s", from, to, warnings.items[i], body);
    json_t *json = json_loadb(out.data, out.len, 0, NULL);
    assert_non_null(json);
    sr_buf_dispose(&out);
    sr_arena_dispose(&arena);
    free(body);
    json_decref(in);
    return json;
}

/* Arguments of calls are JSON in a string: its spaces and escapes do not count. */
static void parse_arguments(json_t *json)
{
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach(json, i, value) parse_arguments(value);
    void *next;
    json_object_foreach_safe(json, next, key, value)
    {
        json_t *parsed = strcmp(key, "arguments") == 0 ? json_loads(json_string_value(value), 0, NULL) : NULL;
        if (parsed)
            json_object_set_new(json, key, parsed);
        else
            parse_arguments(value);
    }
}

/* Without what only says how the reasoning is shown, or whose item it was, and not which. */
static json_t *stripped(json_t *json)
{
    parse_arguments(json);
    json_object_del(json_object_get(json, "reasoning"), "summary");
    json_t *choice = json_array_get(json_object_get(json, "choices"), 0);
    json_object_del(json_object_get(choice, "message"), "reasoning_details");
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(json, "output"), i, item) json_object_del(item, "id");
    return json;
}

static void there_and_back(translate function, json_t *(*make)(void))
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned a = below(3), b = (a + 1 + below(2)) % 3;
        json_t *first = turn(function, SR_TRANSLATE_CHAT, a, make());
        json_t *wanted = stripped(turn(function, a, a, json_deep_copy(first)));
        json_t *got = stripped(turn(function, b, a, turn(function, a, b, json_deep_copy(first))));
        if (!json_equal(wanted, got))
            fail_msg("%u by way of %u:\nwanted %s\ngot    %s", a, b, json_dumps(wanted, JSON_COMPACT),
                     json_dumps(got, JSON_COMPACT));
        json_decref(first);
        json_decref(wanted);
        json_decref(got);
    }
}

static void test_requests(void **state)
{
    (void)state;
    there_and_back(sr_translate_request, request);
}

static void test_answers(void **state)
{
    (void)state;
    there_and_back(sr_translate_answer, answer);
}

/* ---- streams ---- */

static void put_chunk(struct sr_buf *out, json_t *delta, const char *finish)
{
    json_t *chunk = json_pack("{s:s,s:s,s:i,s:[{s:i,s:o,s:s?}]}", "id", "chatcmpl-1", "model", "m", "created",
                              7, "choices", "index", 0, "delta", delta, "finish_reason", finish);
    char *dump = json_dumps(chunk, JSON_COMPACT | JSON_ENSURE_ASCII * below(2));
    assert_int_equal(sr_buf_printf(out, "data: %s\n\n", dump), SR_OK);
    free(dump);
    json_decref(chunk);
}

/* Ends a piece of text where a character ends. */
static size_t piece_of(const char *p)
{
    size_t n = 1 + below(9), left = strlen(p);
    n = n < left ? n : left;
    while (n < left && ((unsigned char)p[n] & 0xC0) == 0x80)
        n++;
    return n;
}

/* The answer as a stream of chunks. */
static void as_stream(const json_t *whole, struct sr_buf *out)
{
    const json_t *choice = json_array_get(json_object_get(whole, "choices"), 0);
    const json_t *message = json_object_get(choice, "message"), *call;
    size_t i;
    put_chunk(out, json_pack("{s:s,s:s}", "role", "assistant", "content", ""), NULL);
    static const char *const texts[] = {"reasoning_content", "content"};
    for (size_t t = 0; t < 2; t++) {
        const char *said = json_string_value(json_object_get(message, texts[t]));
        for (size_t n; said && *said; said += n) {
            n = piece_of(said);
            put_chunk(out, json_pack("{s:s%}", texts[t], said, n), NULL);
        }
    }
    json_array_foreach(json_object_get(message, "tool_calls"), i, call)
    {
        const json_t *function = json_object_get(call, "function");
        const char *arguments = json_string_value(json_object_get(function, "arguments"));
        put_chunk(out,
                  json_pack("{s:[{s:i,s:O,s:s,s:{s:O,s:s}}]}", "tool_calls", "index", (int)i, "id",
                            json_object_get(call, "id"), "type", "function", "function", "name",
                            json_object_get(function, "name"), "arguments", ""),
                  NULL);
        for (size_t n; *arguments; arguments += n) {
            n = piece_of(arguments);
            put_chunk(out,
                      json_pack("{s:[{s:i,s:{s:s%}}]}", "tool_calls", "index", (int)i, "function",
                                "arguments", arguments, n),
                      NULL);
        }
    }
    put_chunk(out, json_object(), json_string_value(json_object_get(choice, "finish_reason")));
    char *usage = json_dumps(json_object_get(whole, "usage"), JSON_COMPACT);
    assert_int_equal(sr_buf_printf(out, "data: {\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", usage),
                     SR_OK);
    free(usage);
}

static void pass(unsigned from, unsigned to, struct sr_bytes in, struct sr_buf *out)
{
    struct sr_translate_settings settings = {.now_s = 7, .usage = true};
    struct sr_translate_stream *stream;
    assert_int_equal(
        sr_translate_stream_new(&stream, (enum sr_translate_api)from, (enum sr_translate_api)to, &settings),
        SR_OK);
    for (size_t at = 0, n; at < in.n; at += n) {
        n = 1 + below(200);
        n = n < in.n - at ? n : in.n - at;
        assert_int_equal(sr_translate_stream_feed(stream, sr_bytes_of(in.p + at, n), out), SR_OK);
    }
    assert_int_equal(sr_translate_stream_end(stream, out), SR_OK);
    assert_true(sr_translate_stream_done(stream));
    sr_translate_stream_free(stream);
}

static void join(json_t *object, const char *key, const json_t *more)
{
    if (!json_is_string(more))
        return;
    const char *before = json_string_value(json_object_get(object, key));
    char *both = malloc(strlen(before ? before : "") + json_string_length(more) + 1);
    strcpy(both, before ? before : "");
    strcat(both, json_string_value(more));
    json_object_set_new(object, key, json_string(both));
    free(both);
}

/* A stream of chunks as one answer: texts, calls, finish reason, usage. */
static json_t *gather(struct sr_bytes stream)
{
    json_t *all = json_pack("{s:[]}", "calls"), *call;
    char *copy = strndup(stream.p, stream.n), *rest = copy, *line;
    while ((line = strsep(&rest, "\n"))) {
        json_t *chunk = strncmp(line, "data: ", 6) == 0 ? json_loads(line + 6, 0, NULL) : NULL;
        const json_t *choice = json_array_get(json_object_get(chunk, "choices"), 0);
        const json_t *delta = json_object_get(choice, "delta");
        size_t i;
        join(all, "content", json_object_get(delta, "content"));
        join(all, "reasoning", json_object_get(delta, "reasoning_content"));
        join(all, "finish", json_object_get(choice, "finish_reason"));
        json_array_foreach(json_object_get(delta, "tool_calls"), i, call)
        {
            size_t index = (size_t)json_integer_value(json_object_get(call, "index"));
            json_t *calls = json_object_get(all, "calls");
            while (json_array_size(calls) <= index)
                json_array_append_new(calls, json_object());
            join(json_array_get(calls, index), "id", json_object_get(call, "id"));
            join(json_array_get(calls, index), "name",
                 json_object_get(json_object_get(call, "function"), "name"));
            join(json_array_get(calls, index), "arguments",
                 json_object_get(json_object_get(call, "function"), "arguments"));
        }
        if (json_is_object(json_object_get(chunk, "usage")))
            json_object_set(all, "usage", json_object_get(chunk, "usage"));
        json_decref(chunk);
    }
    free(copy);
    return all;
}

static void test_streams(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS / 5; round++) {
        struct sr_buf in, middle, second, back;
        unsigned b = 1 + below(2);
        json_t *whole = answer();
        sr_buf_init(&in, MEMORY);
        sr_buf_init(&middle, MEMORY);
        sr_buf_init(&second, MEMORY);
        sr_buf_init(&back, MEMORY);
        as_stream(whole, &in);
        pass(SR_TRANSLATE_CHAT, b, sr_buf_view(&in), &middle);
        pass(b, 3 - b, sr_buf_view(&middle), &second);
        pass(3 - b, SR_TRANSLATE_CHAT, sr_buf_view(&second), &back);
        json_t *wanted = gather(sr_buf_view(&in)), *got = gather(sr_buf_view(&back));
        if (!json_equal(wanted, got))
            fail_msg("by way of %u:\nwanted %s\ngot    %s", b, json_dumps(wanted, JSON_COMPACT),
                     json_dumps(got, JSON_COMPACT));
        json_decref(wanted);
        json_decref(got);
        json_decref(whole);
        sr_buf_dispose(&in);
        sr_buf_dispose(&middle);
        sr_buf_dispose(&second);
        sr_buf_dispose(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

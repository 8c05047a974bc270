/*
 * Random answers in random chunks past the guard of answers: what the client gets is the answer, or nothing
 * of it and a reply, or its beginning and the end of a stream.
 *
 * First byte: the action, whether it is a stream, and the dialect; second: the size of chunks; the rest: the
 * answer.
 */
#include "semroute/semroute.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIT(s)                                                                                               \
    {                                                                                                        \
        s, sizeof(s) - 1                                                                                     \
    }

static const char yaml[] =
    "version: v0.3\n"
    "providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{name: b, endpoint: "
    "'127.0.0.1:9001'}]}]}\n"
    "routing:\n"
    "  signals: {keywords: [{name: b, operator: OR, keywords: [block]}, {name: n, operator: OR, keywords: "
    "[none]}]}\n"
    "  decisions:\n"
    "    - {name: b, rules: {type: keyword, name: b}, plugins: [{type: response_jailbreak, configuration: "
    "{action: block}}]}\n"
    "    - {name: n, rules: {type: keyword, name: n}, plugins: [{type: response_jailbreak, configuration: "
    "{action: none}}]}\n"
    "    - {name: h, plugins: [{type: response_jailbreak}]}\n"
    "global: {semroute: {inference: {ask_below: 0}}}\n";

static sr_runtime *runtime;

static void drop_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    (void)line;
    (void)n;
}

static void open_runtime(void)
{
    char path[] = "/tmp/fuzz_response.XXXXXX", error[512] = "";
    struct sr_runtime_options options = {.struct_size = sizeof options, .workers = -1, .log_line = drop_line};
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, yaml, sizeof yaml - 1) < 0)
        abort();
    close(fd);
    runtime = sr_runtime_open(path, &options, error, sizeof error);
    unlink(path);
    if (!runtime) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
}

static const struct {
    struct sr_bytes path;
    const char *body; /* with the word that takes the decision */
    const char *end;  /* of a stream whose rest is blocked */
} dialects[] = {
    {LIT("/v1/chat/completions"),
     "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}", "data: [DONE]\n\n"},
    {LIT("/v1/messages"), "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}",
     "data: {\"type\":\"message_stop\"}\n\n"},
    {LIT("/v1/responses"), "{\"model\":\"auto\",\"input\":\"%s\"}", "\"usage\":null}}\n\n"},
};

/* The exchange of a request that takes the decision with this action. */
static sr_exchange *ask(const char *action, unsigned dialect)
{
    struct sr_request_head head = {.struct_size = sizeof head,
                                   .method = LIT("POST"),
                                   .target = dialects[dialect].path,
                                   .has_body = true};
    char body[128];
    snprintf(body, sizeof body, dialects[dialect].body, action);
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    if (!x || sr_exchange_body(x, body, strlen(body), true) != SR_STEP_VERDICT)
        abort();
    return x;
}

static const char warning[] = ": x-vsr-response-warnings: response_jailbreak\n\n";

/* Is `out` the answer, or the answer with one warning in it? */
static bool is_answer(const char *out, size_t got, const uint8_t *body, size_t n, bool may_warn)
{
    size_t w = sizeof warning - 1;
    if (got == n)
        return !n || memcmp(out, body, n) == 0;
    for (size_t at = 0; may_warn && got == n + w && at <= n; at++) {
        if (memcmp(out + at, warning, w) == 0 && memcmp(out + at + w, body + at, n - at) == 0)
            return true;
        if (at < n && (uint8_t)out[at] != body[at])
            break;
    }
    return false;
}

static void check(enum sr_answer_step step, bool stream, unsigned action, unsigned dialect, const char *out,
                  size_t got, const uint8_t *body, size_t n)
{
    bool blocks = action == 1;
    const char *done = dialects[dialect].end;
    if (step == SR_ANSWER_REPLACE) {
        if (stream || !blocks || got)
            abort();
    } else if (step == SR_ANSWER_END) {
        size_t end = strlen(done), same = 0;
        while (same < got && same < n && (uint8_t)out[same] == body[same])
            same++;
        if (!stream || !blocks || got < end || memcmp(out + got - end, done, end) != 0)
            abort();
        if (got - same > 64 * 1024)
            abort();
    } else if (step != SR_ANSWER_GO || !is_answer(out, got, body, n, stream && action == 0)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const actions[] = {"header", "block", "none"};
    if (!runtime)
        open_runtime();
    if (size < 2)
        return 0;
    unsigned action = (data[0] >> 1) % 3, dialect = data[0] / 6 % 3;
    bool stream = data[0] & 1;
    size_t chunk = data[1] ? data[1] : size, n = size - 2, at = 0, got = 0;
    struct sr_header type = {LIT("content-type"), LIT("application/json")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    char *out = malloc(n + ((size_t)1 << 17));
    enum sr_answer_step step;
    if (stream)
        type.value = (struct sr_bytes)LIT("text/event-stream");
    sr_exchange *x = ask(actions[action], dialect);
    sr_exchange_answer_head(x, 200, &type, 1, &edits);
    do {
        const struct sr_bytes *slices;
        size_t take = n - at < chunk ? n - at : chunk, count;
        step = sr_exchange_answer_body(x, data + 2 + at, take, at + take == n, &slices, &count);
        at += take;
        for (size_t i = 0; i < count; i++) {
            memcpy(out + got, slices[i].p, slices[i].n);
            got += slices[i].n;
        }
    } while (at < n && step != SR_ANSWER_END);
    check(step, stream, action, dialect, out, got, data + 2, n);
    sr_exchange_end(x, SR_END_COMPLETE);
    free(out);
    return 0;
}

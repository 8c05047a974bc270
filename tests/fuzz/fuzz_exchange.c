/*
 * Random requests in random chunks through the whole router: no crash, the same verdict however the bytes
 * arrive, and an edited body that still parses when the one that came did.
 *
 * First byte: the path and whether the head already refuses; second: the size of chunks; the rest: the body.
 */
#include "semroute/semroute.h"
#include "json/doc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char yaml[] =
    "version: v0.3\n"
    "providers:\n"
    "  defaults: {default_model: small, reasoning_families: {q: {type: chat_template_kwargs, parameter: "
    "think}}}\n"
    "  models:\n"
    "    - {name: small, backend_refs: [{name: s, endpoint: '127.0.0.1:9001'}]}\n"
    "    - {name: alias, provider_model_id: real, reasoning_family: q, backend_refs: [{name: a, endpoint: "
    "'127.0.0.1:9002'}]}\n"
    "routing:\n"
    "  signals:\n"
    "    keywords: [{name: x, operator: OR, keywords: [x]}, {name: y, operator: OR, keywords: [y]}]\n"
    "  decisions:\n"
    "    - {name: x, priority: 2, rules: {type: keyword, name: x}, modelRefs: [{model: alias, use_reasoning: "
    "true}],\n"
    "       plugins: [{type: system_prompt, configuration: {system_prompt: Be brief}},\n"
    "                 {type: request_params, configuration: {strip_unknown: true, blocked_params: [user, "
    "seed], "
    "max_tokens_limit: 10, max_n: 1}}]}\n"
    "    - {name: y, priority: 1, rules: {type: keyword, name: y}, modelRefs: [{model: small}],\n"
    "       plugins: [{type: system_prompt, configuration: {system_prompt: New, mode: replace}}]}\n";

static sr_runtime *runtime;

static void drop_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    (void)line;
    (void)n;
}

static void open_runtime(void)
{
    char path[] = "/tmp/fuzz_exchange.XXXXXX", error[512] = "";
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

static bool parses(struct sr_bytes text)
{
    struct sr_doc *doc = NULL;
    bool ok = sr_doc_parse(&doc, text, 1 << 24, NULL) == SR_OK;
    if (ok)
        sr_doc_free(doc);
    return ok;
}

static void check_body(const struct sr_verdict *v, struct sr_bytes body)
{
    char *sent = malloc(v->body_size + 1);
    size_t n = 0;
    for (size_t i = 0; i < v->n_body; i++) {
        memcpy(sent + n, v->body[i].p, v->body[i].n);
        n += v->body[i].n;
    }
    if (n != v->body_size)
        abort();
    if (!v->edited && !v->streaming && (n != body.n || memcmp(sent, body.p, n) != 0))
        abort();
    if (v->edited && parses(body) && !parses(sr_bytes_of(sent, n)))
        abort();
    free(sent);
}

static void send_answer(sr_exchange *x, struct sr_bytes body, size_t chunk)
{
    struct sr_header type = {SR_LIT("content-type"), SR_LIT("text/event-stream")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    const struct sr_bytes *slices;
    size_t n, got = 0;
    sr_exchange_answer_head(x, 200, &type, 1, &edits);
    for (size_t at = 0; at < body.n; at += chunk) {
        size_t take = body.n - at < chunk ? body.n - at : chunk;
        sr_exchange_answer_body(x, body.p + at, take, at + take == body.n, &slices, &n);
        for (size_t i = 0; i < n; i++)
            got += slices[i].n;
    }
    if (got > body.n)
        abort();
}

/* Runs the request; its outcome, status and model go to `label`. */
static void run(const struct sr_request_head *head, struct sr_bytes body, size_t chunk, char *label,
                size_t size)
{
    sr_exchange *x = sr_exchange_new(runtime, head, NULL);
    if (!x)
        abort();
    enum sr_step step = SR_STEP_MORE;
    size_t at = 0;
    do {
        size_t take = body.n - at < chunk ? body.n - at : chunk;
        step = sr_exchange_body(x, body.p + at, take, at + take == body.n);
        at += take;
    } while (at < body.n && step != SR_STEP_ABORT);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    if (!v)
        abort();
    if (v->action == SR_ACTION_FORWARD) {
        snprintf(label, size, "%s %s", v->model, v->decision);
        check_body(v, body);
        send_answer(x, body, chunk);
    } else {
        snprintf(label, size, "%d", v->status);
        if (!parses(v->reply) && v->status != 200)
            abort();
    }
    if (!parses(sr_exchange_explain(x, false, 0, false)))
        abort();
    sr_exchange_explain(x, true, 60, true);
    sr_exchange_end(x, SR_END_COMPLETE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"/v1/chat/completions", "/v1/completions", "/v1/embeddings",
                                        "/V1//audio/transcription%73/?a=b"};
    char whole[200], parts[200];
    if (size < 2 || size > 1 << 16)
        return 0;
    if (!runtime)
        open_runtime();
    const char *path = paths[data[0] % 4];
    struct sr_request_head head = {
        .struct_size = sizeof head, .method = SR_LIT("POST"), .target = sr_bytes_str(path), .has_body = true};
    struct sr_bytes body = sr_bytes_of(data + 2, size - 2);
    run(&head, body, body.n ? body.n : 1, whole, sizeof whole);
    run(&head, body, (size_t)data[1] % 17 + 1, parts, sizeof parts);
    /* An unknown model is refused as soon as it is seen, a broken body as soon as it breaks. */
    bool refused = whole[0] == '4' && parts[0] == '4';
    if (strcmp(whole, parts) != 0 && !refused)
        abort();
    return 0;
}

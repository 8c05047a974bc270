/* What the tests of the router share: a runtime from YAML text, requests in chunks of any size, answers. */
#ifndef TESTS_UNIT_EXCHANGE_UTIL_H
#define TESTS_UNIT_EXCHANGE_UTIL_H

#include "base/buf.h"
#include "semroute/semroute.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEST_PROVIDERS                                                                                       \
    "version: v0.3\n"                                                                                        \
    "providers:\n"                                                                                           \
    "  defaults:\n"                                                                                          \
    "    default_model: small\n"                                                                             \
    "    default_reasoning_effort: high\n"                                                                   \
    "    reasoning_families:\n"                                                                              \
    "      qwen: {type: chat_template_kwargs, parameter: enable_thinking}\n"                                 \
    "      oss: {type: reasoning_effort, parameter: reasoning_effort}\n"                                     \
    "      top: {type: top_level_reasoning_effort, parameter: reasoning_effort}\n"                           \
    "  models:\n"                                                                                            \
    "    - {name: small, backend_refs: [{name: s, endpoint: '127.0.0.1:9001'}],\n"                           \
    "       pricing: {currency: EUR, prompt_per_1m: 1000000, completion_per_1m: 2000000}}\n"                 \
    "    - {name: thinker, reasoning_family: qwen, backend_refs: [{name: t, endpoint: '127.0.0.1:9002'}]}\n" \
    "    - {name: oss, reasoning_family: oss, backend_refs: [{name: o, endpoint: '127.0.0.1:9003'}]}\n"      \
    "    - {name: cloud, provider_model_id: gpt, reasoning_family: oss, backend_refs: [{name: c, base_url: " \
    "'https://api.openai.com/v1', api_key: secret}]}\n"                                                      \
    "    - {name: top, reasoning_family: top, backend_refs: [{name: p, endpoint: '127.0.0.1:9005'}]}\n"      \
    "    - {name: alias, provider_model_id: vendor/real-name, backend_refs: [{name: a, endpoint: "           \
    "'127.0.0.1:9006'}]}\n"                                                                                  \
    "    - {name: plain, backend_refs: [{name: b, endpoint: '127.0.0.1:9007'}]}\n"

/* A keyword rule for each word, so that a prompt with the word takes the decision of the same name. */
#define TEST_KEYWORD(word) "      - {name: " word ", operator: OR, keywords: [" word "]}\n"

static inline sr_runtime *open_yaml_with(const char *yaml, const struct sr_runtime_options *options)
{
    char path[] = "/tmp/test_exchange.XXXXXX", error[512] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    size_t n = strlen(yaml);
    assert_int_equal(write(fd, yaml, n), (ssize_t)n);
    close(fd);
    sr_runtime *runtime = sr_runtime_open(path, options, error, sizeof error);
    unlink(path);
    if (!runtime)
        fail_msg("%s", error);
    return runtime;
}

static inline sr_runtime *open_yaml(const char *yaml)
{
    return open_yaml_with(yaml, NULL);
}

static inline struct sr_request_head head_of(const char *method, const char *target)
{
    return (struct sr_request_head){.struct_size = sizeof(struct sr_request_head),
                                    .method = {method, strlen(method)},
                                    .target = {target, strlen(target)},
                                    .has_body = true,
                                    .client_known = true};
}

/* Feeds `body` in chunks of `chunk` bytes (0: at once) until there is a verdict; what comes after a streaming
 * verdict is appended to `rest` (may be NULL). Returns the last step. */
static inline enum sr_step feed(sr_exchange *x, const char *body, size_t n, size_t chunk, struct sr_buf *rest)
{
    enum sr_step step = SR_STEP_MORE;
    size_t at = 0;
    if (chunk == 0)
        chunk = n ? n : 1;
    do {
        size_t take = n - at < chunk ? n - at : chunk;
        /* An exact copy, so that a read past its end is a report. */
        char *copy = malloc(take ? take : 1);
        if (take)
            memcpy(copy, body + at, take);
        at += take;
        step = sr_exchange_body(x, copy, take, at == n);
        if (step == SR_STEP_PASS && rest)
            assert_int_equal(sr_buf_append(rest, body + at - take, take), SR_OK);
        free(copy);
    } while (at < n && step != SR_STEP_ABORT);
    return step;
}

static inline sr_exchange *ask_path(sr_runtime *runtime, const char *path, const char *body, size_t chunk)
{
    struct sr_request_head head = head_of("POST", path);
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    assert_non_null(x);
    feed(x, body, strlen(body), chunk, NULL);
    return x;
}

static inline sr_exchange *ask(sr_runtime *runtime, const char *body)
{
    return ask_path(runtime, "/v1/chat/completions", body, 0);
}

/* The slices joined; free it. */
static inline char *joined(const struct sr_bytes *slices, size_t n)
{
    struct sr_buf buf;
    sr_buf_init(&buf, (size_t)64 << 20);
    assert_int_equal(sr_buf_append(&buf, "", 0), SR_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sr_buf_append_bytes(&buf, slices[i]), SR_OK);
    char *out = calloc(1, buf.len + 1);
    if (buf.len)
        memcpy(out, buf.data, buf.len);
    sr_buf_dispose(&buf);
    return out;
}

/* Sends `body` whole and byte by byte; both times the upstream must get `expected` at `model`. */
static inline void check_forward(sr_runtime *runtime, const char *body, const char *model,
                                 const char *expected)
{
    static const size_t chunks[] = {0, 1, 7};
    for (size_t i = 0; i < 3; i++) {
        sr_exchange *x = ask_path(runtime, "/v1/chat/completions", body, chunks[i]);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_non_null(v);
        if (v->action != SR_ACTION_FORWARD)
            fail_msg("%.*s", (int)v->reply.n, v->reply.p);
        assert_string_equal(v->model, model);
        if (!v->streaming || chunks[i] == 0) {
            char *got = joined(v->body, v->n_body);
            assert_string_equal(got, expected);
            assert_int_equal(v->body_size, strlen(expected));
            free(got);
        }
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static inline void check_reply(sr_exchange *x, int status, const char *contains)
{
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_non_null(v);
    assert_int_equal(v->action, SR_ACTION_REPLY);
    char *text = joined(&v->reply, 1);
    assert_int_equal(v->status, status);
    if (!strstr(text, contains))
        fail_msg("`%s` is not in %s", contains, text);
    free(text);
}

static inline const char *header_in(const struct sr_header *headers, size_t n, const char *name)
{
    static char value[512];
    for (size_t i = 0; i < n; i++) {
        if (headers[i].name.n == strlen(name) && !memcmp(headers[i].name.p, name, headers[i].name.n)) {
            snprintf(value, sizeof value, "%.*s", (int)headers[i].value.n, headers[i].value.p);
            return value;
        }
    }
    return NULL;
}

static inline bool names_header(const struct sr_bytes *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (names[i].n == strlen(name) && !memcmp(names[i].p, name, names[i].n))
            return true;
    return false;
}

#endif

/*
 * Envoy's external processor without sockets: every body mode, every ordering, what the upstream and the
 * client get of it. tests/unit/extproc_envoy.h simulates Envoy and reports replies that it would not
 * accept.
 */
#include "tests/unit/extproc_envoy.h"

#include "base/clock.h"
#include "router/runtime.h"
#include "serve/extproc/private.h"
#include "tests/unit/exchange_util.h"

#include <pthread.h>

#define YAML                                                                                                 \
    TEST_PROVIDERS                                                                                           \
    "routing:\n"                                                                                             \
    "  signals:\n"                                                                                           \
    "    keywords:\n" TEST_KEYWORD("code") TEST_KEYWORD("hello") TEST_KEYWORD(                               \
        "cloudy") "  decisions:\n"                                                                           \
                  "    - {name: code, priority: 10, rules: {type: keyword, name: code}, modelRefs: "         \
                  "[{model: plain}]}\n"                                                                      \
                  "    - {name: sky, priority: 9, rules: {type: keyword, name: cloudy}, modelRefs: "         \
                  "[{model: cloud}]}\n"                                                                      \
                  "    - {name: fast, priority: 8, rules: {type: keyword, name: hello}, plugins: [{type: "   \
                  "fast_response, configuration: {message: Hi.}}]}\n"

#define AUTO(text)  "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"
#define PLAIN(text) "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

/* For pieces of it. */
static const char CODE[] = AUTO("code");

struct site {
    sr_runtime *runtime;
    const struct sr_config *config;
    struct sr_extproc_core_options options;
};

static struct site site_open(const char *yaml)
{
    struct site s = {.runtime = open_yaml(yaml)};
    s.config = sr_runtime_config(s.runtime);
    s.options = (struct sr_extproc_core_options){
        .runtime = s.runtime, .config = s.config, .metrics = sr_runtime_metrics_table(s.runtime)};
    return s;
}

static void site_close(struct site *s)
{
    sr_config_unref(s->config);
    sr_runtime_close(s->runtime);
}

static bool metrics_say(struct site *s, const char *line)
{
    static char text[1 << 20];
    assert_true(sr_runtime_metrics(s->runtime, text, sizeof text) < sizeof text);
    return strstr(text, line) != NULL;
}

static void no_faults(const struct envoy *e)
{
    if (e->fault || e->failed)
        fail_msg("%s", e->fault ? e->fault : e->failed);
}

static void buf_is(const struct sr_buf *buf, const char *text)
{
    if (buf->len != strlen(text) || memcmp(buf->data, text, buf->len) != 0)
        fail_msg("got `%.*s`, want `%s`", (int)buf->len, buf->data ? buf->data : "", text);
}

static const struct sr_header WITH_LENGTH[] = {{{"content-type", 12}, {"application/json", 16}},
                                               {{"content-length", 14}, {"1", 1}}};

/* ---- BUFFERED ---- */

static void test_buffered(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    char length[24];
    snprintf(length, sizeof length, "%zu", strlen(PLAIN("code")));
    for (int end = 0; end < 2; end++) { /* the end flag means nothing here */
        envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
        envoy_post(&e, WITH_LENGTH, 1 + (size_t)end);
        assert_true(e.head_released && !e.head_cleared);
        envoy_body(&e, AUTO("code"), strlen(AUTO("code")), end == 1);
        buf_is(&e.upstream, PLAIN("code"));
        assert_true(e.body_cleared);
        assert_string_equal(envoy_header(&e, "x-selected-model"), "plain");
        if (end == 1) {
            assert_string_equal(envoy_header(&e, "content-length"), length);
        } else {
            assert_null(envoy_header(&e, "content-length")); /* the client had told none */
            envoy_trailers(&e);
        }
        assert_int_equal(e.count, 0);
        assert_int_equal(e.extensions, 0);
        no_faults(&e);
        envoy_dispose(&e);
    }
    assert_false(metrics_say(&s, "semroute_extproc_unrouted_total{"));
    site_close(&s);
}

static void test_buffered_untouched(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    envoy_post(&e, WITH_LENGTH, 2);
    envoy_body(&e, PLAIN("x") " ", strlen(PLAIN("x") " "), true);
    buf_is(&e.upstream, PLAIN("x") " ");
    assert_null(envoy_header(&e, "content-length"));
    assert_string_equal(envoy_header(&e, "x-selected-model"), "plain");
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

/* ---- chunks of every size, in every mode ---- */

static void send_in_chunks(struct envoy *e, const char *body, size_t chunk, int ending)
{
    size_t n = strlen(body);
    for (size_t at = 0; at < n && !e->immediate;) {
        size_t take = n - at < chunk ? n - at : chunk;
        at += take;
        envoy_body(e, body + at - take, take, ending == 0 && at == n);
    }
    if (e->immediate)
        return;
    if (ending == 1)
        envoy_body(e, "", 0, true);
    else if (ending == 2)
        envoy_trailers(e);
}

/* ending 0: on the last chunk; 1: on an empty one; 2: by trailers. */
static void check_chunks(struct site *s, enum sr_extproc_mode mode, bool no_wait, const char *body,
                         const char *want)
{
    static const size_t sizes[] = {1, 7, 64, 1000000};
    struct envoy e;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int ending = 0; ending < 3; ending++) {
            envoy_init(&e, mode, no_wait, s->options);
            envoy_post(&e, WITH_LENGTH, 2);
            if (mode == SR_EXTPROC_MODE_STREAMED && !no_wait)
                assert_true(e.head_released);
            else
                assert_false(e.head_released);
            send_in_chunks(&e, body, sizes[i], ending);
            buf_is(&e.upstream, want);
            assert_int_equal(e.count, 0);
            assert_null(envoy_header(&e, "content-length"));
            if (mode == SR_EXTPROC_MODE_FULL_DUPLEX)
                assert_int_equal(e.upstream_ended, ending != 2);
            if (e.head_cleared)
                assert_string_equal(envoy_header(&e, "x-selected-model"), "plain");
            no_faults(&e);
            envoy_dispose(&e);
        }
    }
}

static void test_chunks(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    static const struct {
        enum sr_extproc_mode mode;
        bool no_wait;
    } modes[] = {{SR_EXTPROC_MODE_STREAMED, false},
                 {SR_EXTPROC_MODE_STREAMED, true},
                 {SR_EXTPROC_MODE_FULL_DUPLEX, false}};
    for (size_t i = 0; i < 3; i++) {
        check_chunks(&s, modes[i].mode, modes[i].no_wait, AUTO("write some code"), PLAIN("write some code"));
        check_chunks(&s, modes[i].mode, modes[i].no_wait, PLAIN("as it is"), PLAIN("as it is"));
        check_chunks(&s, modes[i].mode, modes[i].no_wait, "\n" PLAIN("space") "\n", "\n" PLAIN("space") "\n");
    }
    site_close(&s);
}

/* ---- STREAMED ---- */

static void test_streamed_late(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
    assert_true(e.body_cleared); /* the whole body in one message: Envoy still holds the headers */
    no_faults(&e);
    envoy_dispose(&e);
    assert_false(metrics_say(&s, "semroute_extproc_unrouted_total{"));
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("code"), 20, false);
    assert_int_equal(e.count, 0); /* each chunk is answered at once */
    assert_int_equal(e.upstream.len, 0);
    envoy_body(&e, &CODE[20], strlen(&CODE[20]), true);
    buf_is(&e.upstream, PLAIN("code"));
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "semroute_extproc_unrouted_total{reason=\"late\"} 1\n"));
    site_close(&s);
}

/* A header that no client may choose is taken out where the verdict's own list would come too late. */
static void test_stripped_headers(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    const struct sr_header spoofed[] = {{{"x-selected-model", 16}, {"cloud", 5}},
                                        {{"x-authz-user-id", 15}, {"root", 4}}};
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_post(&e, spoofed, 2);
    assert_true(e.head_released && e.head_cleared);
    assert_true(envoy_removed(&e, "x-selected-model") && envoy_removed(&e, "x-authz-user-id"));
    assert_string_equal(envoy_header(&e, "accept-encoding"), "identity");
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

static void test_hold_bytes(void **state)
{
    (void)state;
    struct site s = site_open(YAML "global: {semroute: {extproc: {hold_bytes: 30, hold_ms: 600000}}}\n");
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, true, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("code"), 20, false);
    assert_int_equal(e.count, 2);
    assert_true(sr_extproc_core_deadline_ns(e.core) != 0);
    envoy_body(&e, &CODE[20], 15, false);
    assert_true(e.head_released && !e.head_cleared);
    assert_int_equal(e.count, 0);
    envoy_body(&e, &CODE[35], strlen(&CODE[35]), true);
    buf_is(&e.upstream, PLAIN("code"));
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "semroute_extproc_unrouted_total{reason=\"late\"} 1\n"));
    site_close(&s);
}

static void test_hold_ms(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, true, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("code"), 20, false);
    sr_extproc_core_timeout(e.core);
    assert_false(e.head_released);
    e.core->hold_due_ns = 1;
    sr_extproc_core_timeout(e.core);
    assert_true(e.head_released);
    assert_int_equal(e.count, 0);
    envoy_body(&e, &CODE[20], strlen(&CODE[20]), true);
    buf_is(&e.upstream, PLAIN("code"));
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

/* ---- FULL_DUPLEX ---- */

static char *long_body(const char *model, size_t n)
{
    char *body = malloc(n + 200);
    int at = sprintf(body, "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"code ", model);
    memset(body + at, 'x', n);
    strcpy(body + at + n, "\"}]}");
    return body;
}

static void test_duplex_pieces(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    char *asked = long_body("auto", 300000), *wanted = long_body("plain", 300000);
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, NULL, 0);
    send_in_chunks(&e, asked, 100000, 1);
    buf_is(&e.upstream, wanted);
    assert_true(e.head_cleared && e.upstream_ended);
    assert_true(e.largest_piece <= SR_EXTPROC_PIECE_MAX && e.pieces >= 5);
    no_faults(&e);
    envoy_dispose(&e);
    /* a known model: pieces leave as they come */
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, wanted, 1000, false);
    assert_true(e.head_released && e.head_cleared);
    assert_int_equal(e.upstream.len, 1000);
    envoy_body(&e, wanted + 1000, strlen(wanted) - 1000, true);
    buf_is(&e.upstream, wanted);
    assert_true(e.upstream_ended);
    no_faults(&e);
    envoy_dispose(&e);
    free(asked);
    free(wanted);
    site_close(&s);
}

static void test_body_timeout(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("code"), 20, false);
    assert_true(sr_extproc_core_deadline_ns(e.core) > sr_clock_ns());
    e.core->read_due_ns = 1;
    sr_extproc_core_timeout(e.core);
    assert_int_equal(e.immediate, 408);
    assert_int_equal(sr_extproc_core_deadline_ns(e.core), 0);
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

/* ---- answers given here ---- */

static void check_immediate(struct site *s, enum sr_extproc_mode mode, const char *body, int status,
                            const char *contains)
{
    struct envoy e;
    for (size_t chunk = 1; chunk < 100000; chunk *= 25) {
        envoy_init(&e, mode, false, s->options);
        envoy_post(&e, NULL, 0);
        if (mode == SR_EXTPROC_MODE_BUFFERED)
            envoy_body(&e, body, strlen(body), true);
        else
            send_in_chunks(&e, body, chunk, 0);
        assert_int_equal(e.immediate, status);
        char *text = joined(&(struct sr_bytes){e.immediate_body.data, e.immediate_body.len}, 1);
        if (!strstr(text, contains))
            fail_msg("`%s` is not in %s", contains, text);
        free(text);
        assert_non_null(envoy_header(&e, "content-type"));
        no_faults(&e);
        envoy_dispose(&e);
    }
}

static void test_immediate(void **state)
{
    (void)state;
    struct site s = site_open(YAML "global: {router: {streamed_body: {max_bytes: 5000}}}\n");
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_BUFFERED, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX};
    char *large = long_body("auto", 6000), *known = long_body("plain", 6000);
    for (size_t i = 0; i < 3; i++) {
        check_immediate(&s, modes[i], AUTO("say hello"), 200, "Hi.");
        check_immediate(&s, modes[i], "x", 400, "malformed JSON");
        check_immediate(&s, modes[i], AUTO("code") "x", 400, "malformed JSON");
        check_immediate(&s, modes[i], "{\"messages\":[]}", 400, "model");
        check_immediate(&s, modes[i], "{\"messages\":[],\"model\":\"none\"}", 404, "not available");
        if (modes[i] != SR_EXTPROC_MODE_BUFFERED) {
            check_immediate(&s, modes[i], large, 413, "max_bytes");
            check_immediate(&s, modes[i], known, 413, "max_bytes");
            check_immediate(&s, modes[i], PLAIN("x") "x", 400, "malformed JSON");
        }
    }
    free(large);
    free(known);
    site_close(&s);
}

/* Envoys that know it get answers that are SSE, or long, in pieces; only in the place of the head's reply. */
static void test_answers_in_pieces(void **state)
{
    (void)state;
    char *yaml = malloc(400000), *word = malloc(300001);
    memset(word, 'w', 300000);
    word[300000] = 0;
    snprintf(yaml, 400000,
             TEST_PROVIDERS "routing:\n  signals:\n    keywords:\n" TEST_KEYWORD("hello") TEST_KEYWORD(
                 "long") "  decisions:\n"
                         "    - {name: a, priority: 8, rules: {type: keyword, name: hello}, plugins: [{type: "
                         "fast_response, configuration: {message: Hi.}}]}\n"
                         "    - {name: b, priority: 8, rules: {type: keyword, name: long}, plugins: [{type: "
                         "fast_response, configuration: {message: %s}}]}\n"
                         "global: {semroute: {extproc: {streamed_replies: true}}}\n",
             word);
    struct site s = site_open(yaml);
    static const char *const bodies[] = {
        AUTO("hello"),
        "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}",
        AUTO("long")};
    for (size_t i = 0; i < 3; i++) {
        for (int mode = SR_EXTPROC_MODE_BUFFERED; mode <= SR_EXTPROC_MODE_FULL_DUPLEX; mode += 2) {
            struct envoy e;
            bool pieces = mode == SR_EXTPROC_MODE_FULL_DUPLEX && i > 0;
            envoy_init(&e, (enum sr_extproc_mode)mode, false, s.options);
            envoy_post(&e, NULL, 0);
            envoy_body(&e, bodies[i], strlen(bodies[i]), true);
            assert_int_equal(e.immediate, 200);
            assert_true(e.in_pieces == pieces && e.immediate_ended == pieces);
            assert_true(e.largest_piece <= SR_EXTPROC_PIECE_MAX && (!pieces || e.pieces > (i == 2 ? 4 : 0)));
            assert_true(e.immediate_body.len > (i == 2 ? 300000 : 100));
            assert_string_equal(envoy_header(&e, "x-vsr-fast-response"), "true");
            no_faults(&e);
            envoy_dispose(&e);
        }
    }
    /* what goes wrong after the head's reply is told in one message */
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, PLAIN("x"), 20, false);
    assert_true(e.head_released);
    envoy_body(&e, "}", 1, true);
    assert_int_equal(e.immediate, 400);
    assert_false(e.in_pieces);
    no_faults(&e);
    envoy_dispose(&e);
    free(yaml);
    free(word);
    site_close(&s);
}

/* What passes is bounded by a limit of its own, what is kept by the gateway's. */
static void test_passing_limit(void **state)
{
    (void)state;
    static const char *const limits[] = {"max_passing_bytes: 9000", "max_passing_bytes: 0"};
    char *known = long_body("plain", 10000), *automatic = long_body("auto", 10000),
         *alias = long_body("cloud", 10000);
    for (size_t i = 0; i < 2; i++) {
        char yaml[8192];
        snprintf(yaml, sizeof yaml,
                 YAML "global: {semroute: {gateway: {max_body_bytes: 4096}, extproc: {%s}}}\n", limits[i]);
        struct site s = site_open(yaml);
        for (int mode = SR_EXTPROC_MODE_STREAMED; mode <= SR_EXTPROC_MODE_FULL_DUPLEX; mode += 3) {
            struct envoy e;
            envoy_init(&e, (enum sr_extproc_mode)mode, false, s.options);
            envoy_post(&e, NULL, 0);
            send_in_chunks(&e, known, 1000, 1);
            if (i == 0) {
                assert_int_equal(e.immediate, 413);
                assert_non_null(memmem(e.immediate_body.data, e.immediate_body.len, "9000", 4));
            } else {
                buf_is(&e.upstream, known);
            }
            no_faults(&e);
            envoy_dispose(&e);
            for (int kept = 0; kept < 2; kept++) { /* read for a decision; edited */
                envoy_init(&e, (enum sr_extproc_mode)mode, false, s.options);
                envoy_post(&e, NULL, 0);
                send_in_chunks(&e, kept ? alias : automatic, 1000, 1);
                assert_int_equal(e.immediate, 413);
                assert_non_null(memmem(e.immediate_body.data, e.immediate_body.len, "4096", 4));
                no_faults(&e);
                envoy_dispose(&e);
            }
        }
        site_close(&s);
    }
    free(known);
    free(automatic);
    free(alias);
}

static void test_head_only(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    static const struct {
        const char *method, *path;
        int status;
    } cases[] = {{"GET", "/v1/models", 200},
                 {"GET", "/v1/chat/completions", 405},
                 {"POST", "/v1/chat/completions", 400},
                 {"GET", "/v1/unknown", 404}};
    for (size_t i = 0; i < 4; i++) {
        envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
        envoy_head(&e, cases[i].method, cases[i].path, NULL, 0, true);
        assert_int_equal(e.immediate, cases[i].status);
        no_faults(&e);
        envoy_dispose(&e);
    }
    /* codings that are not known are refused before a byte of the body comes */
    const struct sr_header coded = {{"content-encoding", 16}, {"zstd", 4}};
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    envoy_post(&e, &coded, 1);
    assert_int_equal(e.immediate, 415);
    envoy_dispose(&e);
    /* no room */
    s.options.shed = true;
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_post(&e, NULL, 0);
    assert_int_equal(e.immediate, 503);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "{door=\"extproc\",outcome=\"shed\"} 1\n"));
    site_close(&s);
}

/* ---- what is not ours, or cannot be read ---- */

/* Envoy's routes may reach more than inference: what is not listed is refused, in every mode. */
static void test_other_endpoints(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_BUFFERED, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX, SR_EXTPROC_MODE_NONE};
    static const char *const paths[] = {"/upload", "/v1/load_lora_adapter", "/V1//unload_lora_adapter/",
                                        "/sleep?level=2", "/"};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 10; k++) {
            envoy_init(&e, modes[i], false, s.options);
            envoy_head(&e, k % 2 ? "GET" : "POST", paths[k / 2], NULL, 0, k % 2);
            assert_int_equal(e.immediate, 404);
            envoy_dispose(&e);
        }
    }
    site_close(&s);
}

/* Envoy forwards the normal form of a path, whatever it was sent as, and no path without one. */
static void test_paths(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_BUFFERED, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX, SR_EXTPROC_MODE_NONE};
    static const char *const spellings[] = {"/V1/chat//completion%73/?q=%2F",
                                            "/v1/x/../chat/completions;a?q=%2F",
                                            "https://h/v1/chat/completions?q=%2F"};
    static const struct sr_header forged[] = {{{"x-selected-model", 16}, {"expert", 6}},
                                              {{"x_vsr_model", 11}, {"a", 1}},
                                              {{"x-vsr-skip-processing", 21}, {"true", 4}}};
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 3; k++) {
            envoy_init(&e, modes[i], false, s.options);
            envoy_head(&e, "POST", spellings[k], forged, 3, false);
            if (modes[i] != SR_EXTPROC_MODE_NONE) {
                send_in_chunks(&e, AUTO("code"), modes[i] == SR_EXTPROC_MODE_BUFFERED ? 1000 : 10, 0);
                buf_is(&e.upstream, PLAIN("code"));
            }
            assert_string_equal(envoy_header(&e, ":path"), "/v1/chat/completions?q=%2F");
            assert_true(envoy_removed(&e, "x_vsr_model") && envoy_removed(&e, "x-vsr-skip-processing"));
            no_faults(&e);
            envoy_dispose(&e);
        }
        envoy_init(&e, modes[i], false, s.options);
        envoy_head(&e, "POST", "/v1/chat%2fcompletions", forged, 3, false);
        assert_int_equal(e.immediate, 400);
        envoy_dispose(&e);
    }
    site_close(&s);
}

/* With a guard, what Envoy does not send here does not pass. */
static void test_modes_that_cannot_guard(void **state)
{
    static const char guarded[] = TEST_PROVIDERS
        "routing:\n"
        "  signals: {pii: [{name: p}]}\n"
        "  decisions:\n"
        "    - {name: g, rules: {type: pii, name: p}, plugins: [{type: guard, configuration: "
        "{action: block}}]}\n"
        "global: {router: {streamed_body: {enabled: false}}, semroute: {inference: {ask_below: "
        "0}}}\n";
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_NONE, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX};
    struct site s = site_open(guarded);
    struct envoy e;
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        envoy_init(&e, modes[i], false, s.options);
        envoy_post(&e, NULL, 0);
        assert_int_equal(e.immediate, 500);
        assert_false(e.head_released);
        envoy_dispose(&e);
    }
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    e.head_released = true;
    envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
    assert_non_null(e.failed);
    envoy_dispose(&e);
    assert_false(metrics_say(&s, "semroute_extproc_unrouted_total{"));
    site_close(&s);
}

static void test_modes_that_cannot_route(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED_PARTIAL, false, s.options);
    envoy_post(&e, NULL, 0);
    assert_int_equal(e.immediate, 500);
    char *text = joined(&(struct sr_bytes){e.immediate_body.data, e.immediate_body.len}, 1);
    assert_non_null(strstr(text, "FULL_DUPLEX_STREAMED"));
    free(text);
    envoy_dispose(&e);
    envoy_init(&e, SR_EXTPROC_MODE_NONE, false, s.options);
    envoy_post(&e, NULL, 0);
    assert_true(e.head_released && e.immediate == 0);
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "semroute_extproc_unrouted_total{reason=\"no_body_mode\"} 1\n"));
    site_close(&s);
    s = site_open(YAML "global: {router: {streamed_body: {enabled: false}}}\n");
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, NULL, 0);
    send_in_chunks(&e, AUTO("code"), 9, 1);
    buf_is(&e.upstream, AUTO("code"));
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "semroute_extproc_unrouted_total{reason=\"streamed_body_off\"} 1\n"));
    site_close(&s);
}

/* Other data planes may not say their modes: a whole body is BUFFERED, chunks are STREAMED. */
static void test_unknown_mode(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    struct sr_extproc_message head = {.phase = SR_EXTPROC_REQUEST_HEADERS,
                                      .method = {"POST", 4},
                                      .path = {"/v1/chat/completions", 20},
                                      .headers = WITH_LENGTH,
                                      .n_headers = 2};
    for (int whole = 0; whole < 2; whole++) {
        envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
        struct sr_extproc_message copy = head;
        envoy_send(&e, &copy);
        send_in_chunks(&e, AUTO("code"), whole ? 1000 : 10, 0);
        buf_is(&e.upstream, PLAIN("code"));
        assert_int_equal(envoy_header(&e, "content-length") != NULL, whole);
        no_faults(&e);
        envoy_dispose(&e);
    }
    site_close(&s);
}

static void test_observability(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    struct sr_extproc_message head = {.phase = SR_EXTPROC_REQUEST_HEADERS,
                                      .observability = true,
                                      .has_config = true,
                                      .request_mode = SR_EXTPROC_MODE_STREAMED,
                                      .method = {"POST", 4},
                                      .path = {"/v1/chat/completions", 20}};
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_send(&e, &head);
    envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
    assert_int_equal(e.replies, 0);
    envoy_dispose(&e);
    site_close(&s);
}

static void test_hostile_orders(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    for (int order = 0; order < 6; order++) {
        struct sr_extproc_message nothing = {.phase = SR_EXTPROC_NONE};
        envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
        if (order < 5)
            envoy_post(&e, NULL, 0);
        switch (order) {
        case 0:
            envoy_post(&e, NULL, 0);
            break;
        case 1:
            envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
            envoy_body(&e, "x", 1, true);
            break;
        case 2:
            envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
            envoy_trailers(&e);
            envoy_trailers(&e);
            break;
        case 3:
            envoy_body(&e, PLAIN("code"), strlen(PLAIN("code")), true);
            envoy_answer(&e, "200", "text/plain", false);
            envoy_answer(&e, "200", "text/plain", false);
            break;
        default:
            envoy_send(&e, &nothing);
        }
        assert_non_null(e.failed);
        envoy_post(&e, NULL, 0); /* what follows is not looked at */
        assert_null(e.fault);
        envoy_dispose(&e);
    }
    /* a body without headers: where to is not known, so it goes on */
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    e.head_released = true;
    envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
    buf_is(&e.upstream, AUTO("code"));
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "semroute_extproc_unrouted_total{reason=\"no_headers\"} 1\n"));
    site_close(&s);
}

/* Where a guard is configured no call passes that begins without the head of its request; what Envoy answers
 * itself does. */
static void test_no_head(void **state)
{
    static const struct {
        const char *status;
        bool end, fails;
    } answers[] = {{"200", false, true}, {"200", true, false}, {"401", false, false}, {"302", false, false}};
    (void)state;
    struct site s = site_open(YAML "    - {name: guard, priority: 99, rules: {type: keyword, name: code}, "
                                   "plugins: [{type: guard, configuration: {action: block}}]}\n");
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
    assert_non_null(e.failed);
    envoy_dispose(&e);
    envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
    envoy_trailers(&e);
    assert_non_null(e.failed);
    envoy_dispose(&e);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        envoy_init(&e, SR_EXTPROC_MODE_STREAMED, false, s.options);
        envoy_answer(&e, answers[i].status, "text/plain", answers[i].end);
        assert_int_equal(e.failed != NULL, answers[i].fails);
        envoy_dispose(&e);
    }
    site_close(&s);
}

/* ---- the backend ---- */

static void send_subset(struct envoy *e, const char *address)
{
    struct sr_bytes subset[] = {{"10.0.0.1:1", 10}, {address, strlen(address)}};
    struct sr_extproc_message head = {.phase = SR_EXTPROC_REQUEST_HEADERS,
                                      .has_config = true,
                                      .request_mode = SR_EXTPROC_MODE_FULL_DUPLEX,
                                      .method = {"POST", 4},
                                      .path = {"/v1/chat/completions", 20},
                                      .has_subset = true,
                                      .subset = subset,
                                      .n_subset = 2};
    envoy_send(e, &head);
    send_in_chunks(e, AUTO("code"), 1000, 0);
}

static void test_endpoint_picker(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    send_subset(&e, "127.0.0.1:9007");
    assert_string_equal(envoy_header(&e, "x-gateway-destination-endpoint"), "127.0.0.1:9007");
    assert_string_equal(e.endpoint, "127.0.0.1:9007");
    no_faults(&e);
    envoy_dispose(&e);
    static const char *const useless[] = {
        "127.0.0.1:9999", "127.0.0.1",        "127.0.0.1:", "127.0.0.1:99007",
        ":9007",          "[127.0.0.1]:9007", "",           "nonsense"};
    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++) {
        envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
        send_subset(&e, useless[i]);
        assert_int_equal(e.immediate, 503);
        no_faults(&e);
        envoy_dispose(&e);
    }
    s.options.shed = true;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    send_subset(&e, "127.0.0.1:9007");
    assert_int_equal(e.immediate, 429);
    assert_string_equal(envoy_header(&e, "retry-after"), "1");
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "{door=\"extproc\",outcome=\"shed\"} 9\n"));
    site_close(&s);
}

#define TWO(first, second)                                                                                   \
    "version: v0.3\nproviders:\n  defaults: {default_model: pair}\n  models:\n"                              \
    "    - {name: pair, backend_refs: [{name: a, endpoint: '" first "'}, {name: b, endpoint: '" second       \
    "'}]}\nrouting: {modelCards: [{name: pair}]}\n"
#define PICKER "destination_header: x-gateway-destination-endpoint"
#define PAIR   "{\"model\":\"pair\",\"messages\":[]}"

#define TWO_MODELS                                                                                           \
    "version: v0.3\nproviders:\n  defaults: {default_model: first}\n  models:\n"                             \
    "    - {name: first, backend_refs: [{endpoint: '10.0.0.7:80'}]}\n"                                       \
    "    - {name: second, provider_model_id: upstream-2, backend_refs: [{endpoint: '10.0.0.8:80'}]}\n"       \
    "routing:\n  decisions:\n"                                                                               \
    "    - {name: both, priority: 1, modelRefs: [{model: first}, {model: second}]}\n"

/* When Envoy offers no worker of the chosen model, the decision's next one is asked for; 503 is the last. */
static void test_another_model_of_the_decision(void **state)
{
    (void)state;
    struct site s = site_open(TWO_MODELS);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    send_subset(&e, "10.0.0.7:80");
    assert_string_equal(e.endpoint, "10.0.0.7:80");
    assert_string_equal(envoy_header(&e, "x-selected-model"), "first");
    no_faults(&e);
    envoy_dispose(&e);
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    send_subset(&e, "10.0.0.8:80");
    assert_string_equal(e.endpoint, "10.0.0.8:80");
    assert_string_equal(envoy_header(&e, "x-selected-model"), "second");
    assert_non_null(memmem(e.upstream.data, e.upstream.len, "\"model\":\"upstream-2\"", 20));
    no_faults(&e);
    envoy_dispose(&e);
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    send_subset(&e, "10.0.0.9:80");
    assert_int_equal(e.immediate, 503);
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

/* IPv6 and names are compared as what they mean, and told as Envoy wrote them. */
static void test_offers_are_compared(void **state)
{
    (void)state;
    struct site s = site_open(TWO("[2001:db8::1]:80", "models.internal:80"));
    static const char *const offered[][2] = {{"[2001:DB8:0:0::1]:80", "[2001:DB8:0:0::1]:80"},
                                             {"Models.internal:80", "Models.internal:80"},
                                             {"[2001:db8::1]:81", NULL}};
    struct envoy e;
    for (size_t i = 0; i < 3; i++) {
        envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
        send_subset(&e, offered[i][0]);
        if (offered[i][1])
            assert_string_equal(e.endpoint, offered[i][1]);
        else
            assert_int_equal(e.immediate, 503);
        no_faults(&e);
        envoy_dispose(&e);
    }
    site_close(&s);
}

static void ask_pair(struct envoy *e, struct site *s, enum sr_extproc_mode mode)
{
    envoy_init(e, mode, false, s->options);
    envoy_post(e, NULL, 0);
    envoy_body(e, PAIR, strlen(PAIR), true);
}

/* Backends are used in rotation; one that Envoy could not reach is in cooldown, and Envoy's word about who
 * answered counts. */
static void test_rotation_and_cooldown(void **state)
{
    (void)state;
    struct site s = site_open(TWO("10.0.0.1:80", "10.0.0.2:80") "global: {semroute: {extproc: {" PICKER
                                                                ", fallback_endpoints: 4}}}\n");
    struct envoy e;
    for (int round = 0; round < 4; round++) {
        ask_pair(&e, &s, SR_EXTPROC_MODE_FULL_DUPLEX);
        assert_string_equal(e.endpoint, round % 2 ? "10.0.0.2:80,10.0.0.1:80" : "10.0.0.1:80,10.0.0.2:80");
        assert_string_equal(envoy_header(&e, "x-gateway-destination-endpoint"), e.endpoint);
        envoy_answer(&e, "200", "application/json", true);
        no_faults(&e);
        envoy_dispose(&e);
    }
    ask_pair(&e, &s, SR_EXTPROC_MODE_FULL_DUPLEX);
    envoy_answer(&e, "503", "text/plain", true); /* 10.0.0.1: nobody there */
    envoy_dispose(&e);
    for (int round = 0; round < 3; round++) {
        ask_pair(&e, &s, SR_EXTPROC_MODE_FULL_DUPLEX);
        assert_memory_equal(e.endpoint, "10.0.0.2:80", 11);
        struct sr_extproc_message head = {.phase = SR_EXTPROC_RESPONSE_HEADERS,
                                          .status = {"200", 3},
                                          .served = {"10.0.0.1:80", round == 2 ? 11 : 0},
                                          .end_of_stream = true};
        envoy_send(&e, &head);
        no_faults(&e);
        envoy_dispose(&e);
    }
    ask_pair(&e, &s, SR_EXTPROC_MODE_FULL_DUPLEX); /* the other one served: the roles have changed */
    assert_memory_equal(e.endpoint, "10.0.0.1:80", 11);
    envoy_dispose(&e);
    site_close(&s);
}

/* ---- backends with names ---- */

static int resolving;
static char asked_host[64];

static int on_resolve(void *ctx, const char *host, struct sr_extproc_addresses *out)
{
    (void)ctx;
    snprintf(asked_host, sizeof asked_host, "%s", host);
    if (resolving == SR_OK)
        *out = (struct sr_extproc_addresses){.count = 2, .text = {"2001:db8::7", "10.0.0.7"}};
    return resolving;
}

static const struct sr_extproc_core_ops RESOLVING = {
    .send = envoy_on_send, .fail = envoy_on_fail, .resolve = on_resolve};

static struct site site_of_names(const char *yaml)
{
    struct site s = site_open(yaml);
    s.options.ops = &RESOLVING;
    return s;
}

static void test_names(void **state)
{
    (void)state;
    static const char yaml[] =
        TWO("gone.internal:80", "models.internal:80") "global: {semroute: {extproc: {" PICKER "}}}\n";
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_BUFFERED, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX};
    struct sr_extproc_addresses addresses = {.count = 1, .text = {"10.0.0.9"}};
    struct envoy e;
    struct site s;
    for (size_t i = 0; i < 3; i++) {
        s = site_of_names(yaml);
        resolving = SR_OK; /* in the cache */
        ask_pair(&e, &s, modes[i]);
        assert_string_equal(envoy_header(&e, "x-gateway-destination-endpoint"), "[2001:db8::7]:80");
        buf_is(&e.upstream, PAIR);
        no_faults(&e);
        envoy_dispose(&e);
        site_close(&s);
        s = site_of_names(yaml);
        resolving = SR_AGAIN; /* the first name has no address, the second one has */
        ask_pair(&e, &s, modes[i]);
        assert_string_equal(asked_host, "gone.internal");
        assert_int_equal(e.upstream.len, 0);
        assert_int_equal(e.extensions, modes[i] == SR_EXTPROC_MODE_FULL_DUPLEX ? 0 : 1);
        sr_extproc_core_resolved(e.core, NULL);
        assert_string_equal(asked_host, "models.internal");
        sr_extproc_core_resolved(e.core, &addresses);
        assert_string_equal(envoy_header(&e, "x-gateway-destination-endpoint"), "10.0.0.9:80");
        buf_is(&e.upstream, PAIR);
        sr_extproc_core_resolved(e.core, &addresses); /* nobody waits any more */
        no_faults(&e);
        envoy_dispose(&e);
        ask_pair(&e, &s, modes[i]);
        sr_extproc_core_resolved(e.core, NULL);
        sr_extproc_core_resolved(e.core, NULL);
        assert_int_equal(e.immediate, 503);
        envoy_dispose(&e);
        ask_pair(&e, &s, modes[i]); /* Envoy leaves meanwhile */
        envoy_dispose(&e);
        site_close(&s);
    }
    s = site_of_names(yaml);
    /* of a name's addresses the one that Envoy offers */
    resolving = SR_OK;
    struct sr_bytes offer = {"10.0.0.7:80", 11};
    struct sr_extproc_message head = {.phase = SR_EXTPROC_REQUEST_HEADERS,
                                      .has_config = true,
                                      .request_mode = SR_EXTPROC_MODE_FULL_DUPLEX,
                                      .method = {"POST", 4},
                                      .path = {"/v1/chat/completions", 20},
                                      .has_subset = true,
                                      .subset = &offer,
                                      .n_subset = 1};
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_send(&e, &head);
    envoy_body(&e, PAIR, strlen(PAIR), true);
    assert_string_equal(e.endpoint, "10.0.0.7:80");
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

static void test_destination_header(void **state)
{
    (void)state;
    struct site s =
        site_open(YAML "global: {router: {clear_route_cache: false}, semroute: {extproc: "
                       "{destination_header: x-vsr-destination-endpoint}, allow_anonymous: true}}\n");
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("code"), strlen(AUTO("code")), true);
    assert_string_equal(envoy_header(&e, "x-vsr-destination-endpoint"), "127.0.0.1:9007");
    assert_int_equal(e.endpoint[0], 0);
    assert_false(e.body_cleared);
    no_faults(&e);
    envoy_dispose(&e);
    /* nobody resolves names here */
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, AUTO("cloudy"), strlen(AUTO("cloudy")), true);
    assert_int_equal(e.immediate, 503);
    envoy_dispose(&e);
    site_close(&s);
}

/* Credentials and path of a provider. */
static void test_provider(void **state)
{
    (void)state;
    struct site s = site_open(YAML "global: {semroute: {allow_anonymous: true}}\n");
    const struct sr_header key = {{"authorization", 13}, {"Bearer mine", 11}};
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, &key, 1);
    send_in_chunks(&e, AUTO("cloudy"), 1000, 0);
    char *body = joined(&(struct sr_bytes){e.upstream.data, e.upstream.len}, 1);
    assert_non_null(strstr(body, "\"model\":\"gpt\""));
    free(body);
    assert_string_equal(envoy_header(&e, "authorization"), "Bearer secret");
    assert_string_equal(envoy_header(&e, "x-selected-model"), "cloud");
    const char *path = envoy_header(&e, ":path");
    assert_true(!path || strcmp(path, "/v1/chat/completions") == 0);
    no_faults(&e);
    envoy_dispose(&e);
    site_close(&s);
}

/* ---- the answer ---- */

#define STREAM_REQUEST                                                                                       \
    "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"code\"}]}"
#define FRAME "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
#define USAGE                                                                                                \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5,\"total_tokens\":8}}\n\n"
#define DONE "data: [DONE]\n\n"

static void begin_answer(struct envoy *e, struct site *s, enum sr_extproc_mode answer_mode, const char *type)
{
    envoy_init(e, SR_EXTPROC_MODE_BUFFERED, false, s->options);
    e->answer_mode = answer_mode;
    envoy_post(e, NULL, 0);
    envoy_body(e, STREAM_REQUEST, strlen(STREAM_REQUEST), true);
    envoy_answer(e, "200", type, false);
    assert_string_equal(envoy_header(e, "x-vsr-selected-model"), "plain");
}

static void test_answer_stream(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_STREAMED, SR_EXTPROC_MODE_BUFFERED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX};
    for (size_t i = 0; i < 3; i++) {
        begin_answer(&e, &s, modes[i], "text/event-stream; charset=utf-8");
        assert_int_equal(e.overridden, modes[i] == SR_EXTPROC_MODE_BUFFERED);
        envoy_answer_body(&e, FRAME, false);
        buf_is(&e.client, FRAME);
        envoy_answer_body(&e, "data: {\"choices\":[],\"usa", false);
        envoy_answer_body(&e, &USAGE[24], false);
        envoy_answer_body(&e, DONE, false);
        envoy_answer_body(&e, "", true);
        buf_is(&e.client, FRAME DONE); /* the client had not asked for the token counts */
        assert_int_equal(e.count, 0);
        no_faults(&e);
        envoy_dispose(&e);
    }
    assert_true(metrics_say(&s, "llm_model_completion_tokens_total{model=\"plain\"} 15\n"));
    assert_true(metrics_say(&s, "{door=\"extproc\",outcome=\"routed\"} 3\n"));
    site_close(&s);
}

static void test_answer_unseen(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    begin_answer(&e, &s, SR_EXTPROC_MODE_NONE, "application/json");
    /* nothing is asked for that nobody would take out again */
    assert_null(memmem(e.upstream.data, e.upstream.len, "include_usage", 13));
    assert_false(e.overridden);
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "{door=\"extproc\",outcome=\"routed\"} 1\n"));
    site_close(&s);
}

static void test_answer_json(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    static const char text[] = "{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5,\"total_tokens\":8}}";
    begin_answer(&e, &s, SR_EXTPROC_MODE_BUFFERED, "application/json");
    envoy_answer_body(&e, text, false); /* with trailers after it */
    envoy_answer_trailers(&e);
    buf_is(&e.client, text);
    assert_int_equal(e.count, 0);
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "llm_model_completion_tokens_total{model=\"plain\"} 5\n"));
    site_close(&s);
}

/* Envoy answers by itself when a body passes its own limit. */
static void test_envoy_answers(void **state)
{
    (void)state;
    struct site s = site_open(YAML);
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_answer(&e, "413", "text/plain", false);
    envoy_answer_body(&e, "Payload Too Large", true);
    buf_is(&e.client, "Payload Too Large");
    no_faults(&e);
    envoy_dispose(&e);
    assert_true(metrics_say(&s, "{door=\"extproc\",outcome=\"refused\"} 1\n"));
    envoy_init(&e, SR_EXTPROC_MODE_BUFFERED, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_dispose(&e); /* the client disconnected */
    assert_true(metrics_say(&s, "{door=\"extproc\",outcome=\"canceled\"} 1\n"));
    site_close(&s);
}

/* ---- worked out elsewhere ---- */

static struct {
    pthread_mutex_t lock;
    void (*tasks[64])(void *arg);
    void *args[64];
    size_t n;
} posted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_post(void *ctx, void (*task)(void *arg), void *arg)
{
    (void)ctx;
    pthread_mutex_lock(&posted.lock);
    assert_true(posted.n < 64);
    posted.tasks[posted.n] = task;
    posted.args[posted.n++] = arg;
    pthread_mutex_unlock(&posted.lock);
}

/* A task may post again, so none runs under the lock. */
static size_t run_posted(void)
{
    for (size_t done = 0;; done++) {
        pthread_mutex_lock(&posted.lock);
        if (posted.n == 0) {
            pthread_mutex_unlock(&posted.lock);
            return done;
        }
        void (*task)(void *arg) = posted.tasks[0];
        void *arg = posted.args[0];
        posted.n--;
        memmove(&posted.tasks[0], &posted.tasks[1], posted.n * sizeof posted.tasks[0]);
        memmove(&posted.args[0], &posted.args[1], posted.n * sizeof posted.args[0]);
        pthread_mutex_unlock(&posted.lock);
        task(arg);
    }
}

static const struct sr_extproc_core_ops POSTING = {
    .send = envoy_on_send, .fail = envoy_on_fail, .post = on_post};

static void test_workers(void **state)
{
    (void)state;
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_BUFFERED, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX};
    struct site s = site_open(YAML);
    char *asked = long_body("auto", 100000), *wanted = long_body("plain", 100000);
    s.options.ops = &POSTING;
    for (size_t i = 0; i < 3; i++) {
        struct envoy e;
        envoy_init(&e, modes[i], false, s.options);
        envoy_post(&e, WITH_LENGTH, 2);
        envoy_body(&e, asked, strlen(asked), modes[i] == SR_EXTPROC_MODE_BUFFERED);
        assert_int_equal(e.extensions, modes[i] == SR_EXTPROC_MODE_FULL_DUPLEX ? 0 : 1);
        assert_true(sr_extproc_core_deadline_ns(e.core) != 0);
        assert_int_equal(e.upstream.len, 0);
        if (modes[i] == SR_EXTPROC_MODE_STREAMED)
            envoy_body(&e, " ", 1, true);
        else
            envoy_trailers(&e);
        while (run_posted() == 0)
            usleep(100);
        buf_is(&e.upstream, wanted);
        assert_int_equal(e.count, 0);
        no_faults(&e);
        envoy_dispose(&e);
        while (run_posted() != 0) {
        }
    }
    /* Envoy leaves meanwhile */
    struct envoy e;
    envoy_init(&e, SR_EXTPROC_MODE_FULL_DUPLEX, false, s.options);
    envoy_post(&e, NULL, 0);
    envoy_body(&e, asked, strlen(asked), true);
    envoy_dispose(&e);
    free(asked);
    free(wanted);
    site_close(&s);
    run_posted();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffered),
        cmocka_unit_test(test_buffered_untouched),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_streamed_late),
        cmocka_unit_test(test_stripped_headers),
        cmocka_unit_test(test_hold_bytes),
        cmocka_unit_test(test_hold_ms),
        cmocka_unit_test(test_duplex_pieces),
        cmocka_unit_test(test_body_timeout),
        cmocka_unit_test(test_immediate),
        cmocka_unit_test(test_answers_in_pieces),
        cmocka_unit_test(test_passing_limit),
        cmocka_unit_test(test_head_only),
        cmocka_unit_test(test_other_endpoints),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_modes_that_cannot_guard),
        cmocka_unit_test(test_modes_that_cannot_route),
        cmocka_unit_test(test_unknown_mode),
        cmocka_unit_test(test_observability),
        cmocka_unit_test(test_hostile_orders),
        cmocka_unit_test(test_no_head),
        cmocka_unit_test(test_endpoint_picker),
        cmocka_unit_test(test_another_model_of_the_decision),
        cmocka_unit_test(test_offers_are_compared),
        cmocka_unit_test(test_rotation_and_cooldown),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_destination_header),
        cmocka_unit_test(test_provider),
        cmocka_unit_test(test_answer_stream),
        cmocka_unit_test(test_answer_unseen),
        cmocka_unit_test(test_answer_json),
        cmocka_unit_test(test_envoy_answers),
        cmocka_unit_test(test_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

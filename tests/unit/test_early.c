/*
 * A prompt that is read while the body arrives gives what the whole prompt gives, however the body is cut and
 * whatever its messages look like; and of an ordinary body little is left to read at its end.
 */
#include "router/early.h"
#include "tests/unit/signal_kit.h"

#include "base/buf.h"
#include "signal/types.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 7;

static unsigned pick(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % n;
}

static void put(struct sr_buf *out, const char *text)
{
    assert_int_equal(sr_buf_append(out, text, strlen(text)), SR_OK);
}

/* The inside of a JSON string. */
static void put_text(struct sr_buf *out, size_t bytes)
{
    static const char *const words[] = {"budget ",     "\\u00e9t\\u00e9 ", "\xE8\xAF\xAD",    "\\n",
                                        "memory. ",    "Nothing ",         "\\ud83d\\ude00",  "\\ud83d",
                                        "\\\"no\\\" ", "enzyme, ",         "\\\\ ",           "\xC3\xA4",
                                        "Wait... ",    "treaty! ",         "12.5 ",           "\\u4e2d",
                                        "\\ude00 ",    "- list ",          "\xF0\x9F\x98\x80"};
    for (size_t end = out->len + bytes; out->len < end;)
        put(out, words[pick(sizeof words / sizeof words[0])]);
}

static void put_content(struct sr_buf *out, size_t bytes)
{
    static const char *const others[] = {"{\"type\":\"image_url\",\"image_url\":{\"url\":\"x\"}}", "7",
                                         "\"bare\"", "{\"text\":null}", "{\"type\":\"text\",\"text\":\"\"}"};
    if (pick(3)) {
        put(out, "\"content\":\"");
        put_text(out, bytes);
        put(out, "\"");
        return;
    }
    put(out, "\"content\":[");
    for (unsigned i = 0, n = 1 + pick(4); i < n; i++) {
        put(out, i ? "," : "");
        if (pick(3)) {
            put(out, "{\"type\":\"text\",\"text\":\"");
            put_text(out, bytes / n);
            put(out, "\"}");
        } else {
            put(out, others[pick(5)]);
        }
    }
    put(out, "]");
}

static void put_message(struct sr_buf *out)
{
    static const char *const roles[] = {
        "\"role\":\"user\"",      "\"role\":\"user\"",   "\"role\" : \"user\"", "\"role\":\"us\\u0065r\"",
        "\"role\":\"assistant\"", "\"role\":\"system\"", "\"role\":\"tool\"",   "\"role\":1"};
    const char *role = roles[pick(8)];
    bool role_first = pick(3) > 0;
    put(out, "{");
    if (role_first) {
        put(out, role);
        put(out, ",");
    }
    put_content(out, pick(4) ? pick(30000) : pick(90));
    if (!role_first) {
        put(out, ", ");
        put(out, role);
    }
    put(out, pick(4) ? "}" : ",\"name\":\"n\"}");
}

static void put_body(struct sr_buf *out, enum sr_dialect dialect)
{
    put(out, "{\"model\":\"auto\",");
    if (dialect == SR_DIALECT_CHAT) {
        put(out, "\"messages\":[");
        for (unsigned i = 0, n = 1 + pick(4); i < n; i++) {
            put(out, i ? "," : "");
            put_message(out);
        }
        put(out, "]}");
    } else if (pick(2)) {
        put(out, "\"prompt\":\"");
        put_text(out, pick(40000));
        put(out, "\"}");
    } else {
        put(out, "\"prompt\":[\"");
        put_text(out, pick(20000));
        put(out, "\",\"");
        put_text(out, pick(20000));
        put(out, "\"]}");
    }
}

struct reading {
    struct sr_arena arena;
    struct sr_paths *paths;
    struct sr_scan *scan;
    struct sr_request doc;
    struct sr_early early;
};

/* Reads `body` in pieces of at most `most` bytes as the router does. */
static void read_pieces(struct reading *r, struct sr_signals *signals, enum sr_dialect dialect,
                        struct sr_bytes body, unsigned most)
{
    *r = (struct reading){.doc = {.dialect = dialect}};
    sr_arena_init(&r->arena, 1 << 24);
    assert_int_equal(sr_paths_new(&r->paths, sr_dialects[dialect].specs, sr_dialects[dialect].n_specs, NULL),
                     SR_OK);
    assert_int_equal(sr_scan_new(&r->scan, r->paths, sr_scan_limits_defaults(), &r->arena), SR_OK);
    sr_early_init(&r->early, signals, dialect);
    for (size_t at = 0; at < body.n;) {
        size_t n = 1 + pick(most);
        n = n < body.n - at ? n : body.n - at;
        int rc = sr_scan_feed(r->scan, body.p + at, n, NULL);
        assert_true(rc == SR_OK || rc == SR_MORE);
        at += n;
        r->doc.body = sr_bytes_of(body.p, at);
        r->doc.spans = sr_scan_spans(r->scan, &r->doc.n_spans);
        if (rc == SR_MORE)
            sr_early_read(&r->early, signals, &r->doc);
    }
    sr_request_index(&r->doc);
}

static void reading_dispose(struct reading *r)
{
    sr_early_dispose(&r->early);
    sr_paths_unref(r->paths);
    sr_arena_dispose(&r->arena);
}

static struct sr_bytes shortened(struct sr_signals *signals, struct sr_signal_input *input,
                                 struct sr_signal_brief *early)
{
    assert_int_equal(sr_signal_input_shorten(input, signals, early), SR_OK);
    return sr_signal_input_seen_by(input, SR_SIGNAL_LANGUAGE).text;
}

/* Compares both ways; returns how many bytes were left to read at the end, SIZE_MAX for a short text. */
static size_t compare(struct sr_signals *signals, enum sr_dialect dialect, struct sr_bytes body,
                      unsigned most)
{
    struct reading r;
    uint64_t total;
    struct sr_signal_brief_stats stats = {0};
    read_pieces(&r, signals, dialect, body, most);
    struct sr_bytes text = sr_request_text(&r.doc, &r.arena, &total);
    struct sr_signal_input *early = sr_signal_input_new(text, total),
                           *late = sr_signal_input_new(text, total);
    struct sr_bytes a = shortened(signals, early, sr_early_take(&r.early)),
                    b = shortened(signals, late, NULL);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    size_t left = SIZE_MAX;
    if (sr_signal_input_stats(early, &stats)) {
        assert_true(stats.early <= text.n);
        left = text.n - stats.early;
    }
    sr_signal_input_unref(early);
    sr_signal_input_unref(late);
    reading_dispose(&r);
    return left;
}

static struct sr_config_language languages[] = {{.name = "en"}};

static struct sr_config config_of(int max_tokens)
{
    struct sr_config config = {.languages = languages, .n_languages = 1};
    config.global.compression = (struct sr_config_compression){
        .enabled = max_tokens > 0, .profile = "default", .max_tokens = max_tokens};
    return config;
}

static void test_any_body_in_any_pieces(void **unused)
{
    (void)unused;
    struct sr_config config = config_of(60);
    struct sr_buf body;
    struct kit kit;
    unsigned early = 0, all = 0;
    sr_buf_init(&body, 1 << 20);
    kit_open(&kit, &config);
    for (unsigned i = 0; i < 400; i++) {
        enum sr_dialect dialect = pick(4) ? SR_DIALECT_CHAT : SR_DIALECT_COMPLETIONS;
        sr_buf_clear(&body);
        put_body(&body, dialect);
        size_t left =
            compare(kit.signals, dialect, sr_buf_view(&body), pick(5) ? 1 + pick(8000) : 1 + pick(12));
        all += left != SIZE_MAX;
        early += left != SIZE_MAX && left < 8000;
    }
    assert_true(all > 200 &&
                early > all / 2); /* the rest: a role of four letters in six, or after its text */
    kit_close(&kit);
    sr_buf_dispose(&body);
}

static void ask(struct sr_buf *body, const char *before, size_t bytes, const char *after)
{
    sr_buf_clear(body);
    put(body, before);
    put_text(body, bytes);
    put(body, after);
}

static void test_what_is_left(void **unused)
{
    (void)unused;
    struct sr_config config = config_of(60);
    struct sr_buf body;
    struct kit kit;
    sr_buf_init(&body, 1 << 21);
    kit_open(&kit, &config);
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", 60000, "\"}],\"model\":\"auto\"}");
    assert_true(compare(kit.signals, SR_DIALECT_CHAT, sr_buf_view(&body), 2000) < 2100);
    /* What comes at once is for the workers. */
    assert_true(compare(kit.signals, SR_DIALECT_CHAT, sr_buf_view(&body), 1) == 0);
    struct reading r;
    read_pieces(&r, kit.signals, SR_DIALECT_CHAT, sr_buf_view(&body), 1);
    assert_non_null(r.early.brief);
    reading_dispose(&r);
    /* A short turn costs nothing, and the reading of one chunk is bounded. */
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", 1000, "\"}],\"model\":\"auto\"}");
    read_pieces(&r, kit.signals, SR_DIALECT_CHAT, sr_buf_view(&body), 100);
    assert_null(r.early.brief);
    reading_dispose(&r);
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", 400000, "\"}],\"model\":\"auto\"}");
    read_pieces(&r, kit.signals, SR_DIALECT_CHAT, sr_bytes_of(body.data, 300000), 1);
    size_t before = r.early.at;
    r.doc.body = sr_bytes_of(body.data, 300000);
    r.early.at -= 250000; /* as if it had fallen behind */
    sr_early_read(&r.early, kit.signals, &r.doc);
    assert_true(r.early.at <= before - 250000 + SR_EARLY_STEP);
    reading_dispose(&r);
    /* A very long one is given up. */
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", SR_EARLY_MAX + 50000, "");
    read_pieces(&r, kit.signals, SR_DIALECT_CHAT, sr_bytes_of(body.data, SR_EARLY_MAX), 20000);
    assert_non_null(r.early.brief);
    r.doc.body = sr_buf_view(&body);
    sr_early_read(&r.early, kit.signals, &r.doc);
    assert_null(r.early.brief);
    reading_dispose(&r);
    kit_close(&kit);
    sr_buf_dispose(&body);
}

static void test_off(void **unused)
{
    (void)unused;
    struct sr_config config = config_of(0);
    struct sr_early early;
    struct kit kit;
    kit_open(&kit, &config);
    sr_early_init(&early, kit.signals, SR_DIALECT_CHAT);
    assert_int_equal(early.least, 0);
    assert_null(sr_signal_brief_new(kit.signals));
    kit_close(&kit);
    config = config_of(60); /* on, but nothing that is configured would read it */
    static struct sr_config_context context = {.name = "c"};
    config.n_languages = 0;
    config.contexts = &context;
    config.n_contexts = 1;
    kit_open(&kit, &config);
    sr_early_init(&early, kit.signals, SR_DIALECT_CHAT);
    assert_int_equal(early.least, 0);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_body_in_any_pieces),
                                       cmocka_unit_test(test_what_is_left), cmocka_unit_test(test_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

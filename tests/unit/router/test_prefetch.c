/*
 * A prompt that is read while the body arrives gives what the whole prompt gives, however the body is cut and
 * whatever its messages look like; and of an ordinary body little is left to read at its end. The same of the
 * texts that neural classifiers classify.
 */
#include "router/request/prefetch.h"
#include "tests/unit/signal_kit.h"

#include "base/buf.h"
#include "dialect/registry.h"
#include "infer/classifier/neural.h"
#include "router/request/units.h"
#include "signal/neural/neural.h"
#include "signal/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static unsigned most_bytes = 30000; /* of a message, and somewhat more of a prompt */

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
    put_content(out, pick(4) ? pick(most_bytes) : pick(90));
    if (!role_first) {
        put(out, ", ");
        put(out, role);
    }
    put(out, pick(4) ? "}" : ",\"name\":\"n\"}");
}

static void put_body(struct sr_buf *out, const struct sr_dialect_ops *dialect)
{
    put(out, "{\"model\":\"auto\",");
    if (dialect == &sr_dialect_chat) {
        put(out, "\"messages\":[");
        for (unsigned i = 0, n = 1 + pick(4); i < n; i++) {
            put(out, i ? "," : "");
            put_message(out);
        }
        put(out, "]}");
    } else if (pick(2)) {
        put(out, "\"prompt\":\"");
        put_text(out, pick(most_bytes + most_bytes / 3));
        put(out, "\"}");
    } else {
        put(out, "\"prompt\":[\"");
        put_text(out, pick(most_bytes / 3 * 2));
        put(out, "\",\"");
        put_text(out, pick(most_bytes / 3 * 2));
        put(out, "\"]}");
    }
}

/* What the neural classifiers are to be asked for while a body is read. */
static uint32_t asked_types;

struct reading {
    struct sr_arena arena;
    struct sr_paths *paths;
    struct sr_scan *scan;
    struct sr_request doc;
    struct sr_prefetch prefetch;
};

/* Reads `body` in pieces of at most `most` bytes as the router does. */
static void read_pieces(struct reading *r, struct sr_signals *signals, const struct sr_dialect_ops *dialect,
                        struct sr_bytes body, unsigned most)
{
    *r = (struct reading){.doc = {.dialect = dialect}};
    sr_arena_init(&r->arena, 1 << 24);
    assert_int_equal(sr_paths_new_complete(&r->paths, dialect->request.specs, dialect->request.n, NULL),
                     SR_OK);
    assert_int_equal(sr_scan_new(&r->scan, r->paths, sr_scan_limits_defaults(), &r->arena), SR_OK);
    sr_prefetch_init(&r->prefetch, signals, dialect);
    for (size_t at = 0; at < body.n;) {
        size_t n = 1 + pick(most);
        n = n < body.n - at ? n : body.n - at;
        int rc = sr_scan_feed(r->scan, body.p + at, n, NULL);
        assert_true(rc == SR_OK || rc == SR_MORE);
        at += n;
        r->doc.body = sr_bytes_of(body.p, at);
        r->doc.spans = sr_scan_spans(r->scan, &r->doc.n_spans);
        if (rc == SR_MORE) {
            sr_prefetch_read(&r->prefetch, signals, &r->doc);
            sr_prefetch_ask(&r->prefetch, signals, asked_types, SR_LIT("tenant"), &r->doc);
        }
    }
    sr_request_index(&r->doc);
}

static void reading_dispose(struct reading *r)
{
    sr_prefetch_dispose(&r->prefetch);
    sr_paths_unref(r->paths);
    sr_arena_dispose(&r->arena);
}

static struct sr_bytes shortened(struct sr_signals *signals, struct sr_signal_input *input,
                                 struct sr_signal_brief *prefetching)
{
    assert_int_equal(sr_signal_input_shorten(input, signals, prefetching), SR_OK);
    return sr_signal_input_seen_by(input, SR_SIGNAL_LANGUAGE).text;
}

/* Compares both ways; returns how many bytes were left to read at the end, SIZE_MAX for a short text. */
static size_t compare(struct sr_signals *signals, const struct sr_dialect_ops *dialect, struct sr_bytes body,
                      unsigned most)
{
    struct reading r;
    uint64_t total;
    struct sr_signal_brief_stats stats = {0};
    read_pieces(&r, signals, dialect, body, most);
    struct sr_bytes text = sr_request_text(&r.doc, &r.arena, &total);
    struct sr_signal_input *prefetching = sr_signal_input_new(text, total),
                           *late = sr_signal_input_new(text, total);
    struct sr_bytes a = shortened(signals, prefetching, sr_prefetch_take(&r.prefetch)),
                    b = shortened(signals, late, NULL);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    size_t left = SIZE_MAX;
    if (sr_signal_input_stats(prefetching, &stats)) {
        assert_true(stats.prefetched <= text.n);
        left = text.n - stats.prefetched;
    }
    sr_signal_input_unref(prefetching);
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
    unsigned prefetching = 0, all = 0;
    sr_buf_init(&body, 1 << 20);
    kit_open(&kit, &config);
    for (unsigned i = 0; i < 400; i++) {
        const struct sr_dialect_ops *dialect = pick(4) ? &sr_dialect_chat : &sr_dialect_completions;
        sr_buf_clear(&body);
        put_body(&body, dialect);
        size_t left =
            compare(kit.signals, dialect, sr_buf_view(&body), pick(5) ? 1 + pick(8000) : 1 + pick(12));
        all += left != SIZE_MAX;
        prefetching += left != SIZE_MAX && left < 8000;
    }
    assert_true(all > 200 &&
                prefetching > all / 2); /* the rest: a role of four letters in six, or after its text */
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
    assert_true(compare(kit.signals, &sr_dialect_chat, sr_buf_view(&body), 2000) < 2100);
    /* What comes at once is for the workers. */
    assert_true(compare(kit.signals, &sr_dialect_chat, sr_buf_view(&body), 1) == 0);
    struct reading r;
    read_pieces(&r, kit.signals, &sr_dialect_chat, sr_buf_view(&body), 1);
    assert_non_null(r.prefetch.brief);
    reading_dispose(&r);
    /* A short turn costs nothing, and the reading of one chunk is bounded. */
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", 1000, "\"}],\"model\":\"auto\"}");
    read_pieces(&r, kit.signals, &sr_dialect_chat, sr_buf_view(&body), 100);
    assert_null(r.prefetch.brief);
    reading_dispose(&r);
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", 400000, "\"}],\"model\":\"auto\"}");
    read_pieces(&r, kit.signals, &sr_dialect_chat, sr_bytes_of(body.data, 300000), 1);
    size_t before = r.prefetch.at;
    r.doc.body = sr_bytes_of(body.data, 300000);
    r.prefetch.at -= 250000; /* as if it had fallen behind */
    sr_prefetch_read(&r.prefetch, kit.signals, &r.doc);
    assert_true(r.prefetch.at <= before - 250000 + SR_PREFETCH_STEP);
    reading_dispose(&r);
    /* A very long one is given up. */
    ask(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"", SR_PREFETCH_MAX + 50000, "");
    read_pieces(&r, kit.signals, &sr_dialect_chat, sr_bytes_of(body.data, SR_PREFETCH_MAX), 20000);
    assert_non_null(r.prefetch.brief);
    r.doc.body = sr_buf_view(&body);
    sr_prefetch_read(&r.prefetch, kit.signals, &r.doc);
    assert_null(r.prefetch.brief);
    reading_dispose(&r);
    kit_close(&kit);
    sr_buf_dispose(&body);
}

static void test_off(void **unused)
{
    (void)unused;
    struct sr_config config = config_of(0);
    struct sr_prefetch prefetch;
    struct kit kit;
    kit_open(&kit, &config);
    sr_prefetch_init(&prefetch, kit.signals, &sr_dialect_chat);
    assert_int_equal(prefetch.least, 0);
    assert_null(sr_signal_brief_new(kit.signals));
    kit_close(&kit);
    config = config_of(60); /* on, but nothing that is configured would read it */
    static struct sr_config_context context = {.name = "c"};
    config.n_languages = 0;
    config.contexts = &context;
    config.n_contexts = 1;
    kit_open(&kit, &config);
    sr_prefetch_init(&prefetch, kit.signals, &sr_dialect_chat);
    assert_int_equal(prefetch.least, 0);
    kit_close(&kit);
}

/* ---- neural classifiers ---- */

#define MODEL     SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"
#define BIT(type) (UINT32_C(1) << (type))

/* A neural classifier of its own over a small encoder. */
struct site {
    struct sr_config_pii rule;
    struct sr_config_jailbreak attack;
    struct sr_config config;
    struct sr_model_store *models;
    struct sr_neural *neural;
    struct sr_signals *signals;
};

static const char *attack_labels[] = {"label 1", "jailbreak"};

static void open_site(struct site *site, bool history)
{
    struct sr_err err = {0};
    memset(site, 0, sizeof *site);
    site->rule = (struct sr_config_pii){.name = "private", .include_history = history};
    site->attack =
        (struct sr_config_jailbreak){.name = "attack", .threshold = 0.5, .include_history = history};
    site->config.piis = &site->rule;
    site->config.jailbreaks = &site->attack;
    site->config.n_piis = site->config.n_jailbreaks = 1;
    site->config.global.jailbreak_labels = (struct sr_strings){.items = attack_labels, .count = 2};
    site->config.global.inference.encoder = MODEL;
    site->config.global.inference.neural = MODEL "/bundle";
    site->config.global.inference.ask_below = 1;
    site->config.global.inference.neural_max = 3 << 10;
    assert_int_equal(sr_model_store_new(&site->models, NULL), SR_OK);
    sr_memo_resize(sr_model_store_memo(site->models), 4 << 20);
    if (sr_signal_neural(&site->config, site->models, &site->neural, &err) ||
        sr_signals_new(&site->signals, &site->config, site->models, &err))
        fail_msg("%s", err.message);
}

static void close_site(struct site *site)
{
    sr_signals_unref(site->signals);
    sr_neural_unref(site->neural);
    sr_model_store_free(site->models);
}

/* What a type says of the units of a body that is there as a whole. */
static const struct sr_signal_result *ask_units(struct site *site, enum sr_signal_type type,
                                                struct reading *r, struct sr_signal_run **run)
{
    struct sr_units units;
    uint64_t total;
    assert_int_equal(sr_units_read(&r->doc, &r->arena, &units), SR_OK);
    struct sr_signal_input *input = sr_signal_input_new(sr_request_text(&r->doc, &r->arena, &total), total);
    assert_int_equal(sr_signal_input_add_units(input, &units.list, SR_LIT("tenant")), SR_OK);
    assert_int_equal(
        sr_signal_run_new(run, site->signals, input, (struct sr_signal_env){NULL, NULL, 0}, &r->arena),
        SR_OK);
    sr_signal_input_unref(input);
    assert_int_equal(sr_signal_run_start(*run, type, NULL, NULL), SR_OK);
    return sr_signal_run_result(*run, type);
}

static void same_result(const struct sr_signal_result *a, const struct sr_signal_result *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->tier, b->tier);
    assert_int_equal(a->n_findings, b->n_findings);
    assert_int_equal(a->scanned_bytes, b->scanned_bytes);
    assert_int_equal(a->all_bytes, b->all_bytes);
    for (size_t i = 0; i < a->n_findings; i++) {
        assert_int_equal(a->findings[i].unit, b->findings[i].unit);
        assert_int_equal(a->findings[i].start, b->findings[i].start);
        assert_int_equal(a->findings[i].end, b->findings[i].end);
        assert_int_equal(a->findings[i].type, b->findings[i].type);
        assert_float_equal(a->findings[i].confidence, b->findings[i].confidence, 1e-4);
    }
    assert_int_equal(a->n_hits, b->n_hits);
    for (size_t i = 0; i < a->n_hits; i++)
        assert_int_equal(a->hits[i].matched, b->hits[i].matched);
}

/* Until nothing that was prefetched is in progress. */
static void drain(struct site *site)
{
    struct sr_infer *infer;
    assert_int_equal(sr_signal_infer(&site->config, site->models, &infer, NULL), SR_OK);
    while (sr_infer_stats(infer).jobs)
        usleep(1000);
}

/* Any body in any pieces: prefetched or not, guards say the same. */
static void test_neurals_say_the_same(void **unused)
{
    static const enum sr_signal_type types[] = {SR_SIGNAL_PII, SR_SIGNAL_JAILBREAK};
    struct site prefetching, late;
    struct sr_buf body;
    (void)unused;
    sr_buf_init(&body, 1 << 20);
    most_bytes = 4000;
    for (unsigned i = 0; i < 16; i++) {
        const struct sr_dialect_ops *dialect = pick(4) ? &sr_dialect_chat : &sr_dialect_completions;
        struct reading r;
        if (i % 8 == 0) {
            open_site(&prefetching, i % 16 == 0);
            open_site(&late, i % 16 == 0);
        }
        sr_buf_clear(&body);
        put_body(&body, dialect);
        asked_types = BIT(SR_SIGNAL_PII) | BIT(SR_SIGNAL_JAILBREAK);
        read_pieces(&r, prefetching.signals, dialect, sr_buf_view(&body),
                    pick(5) ? 1 + pick(8000) : 1 + pick(12));
        if (pick(2))
            sr_prefetch_dispose(&r.prefetch); /* what is in progress is given up, and asked again */
        for (size_t k = 0; k < 2; k++) {
            struct sr_signal_run *a, *b;
            same_result(ask_units(&prefetching, types[k], &r, &a), ask_units(&late, types[k], &r, &b));
            sr_signal_run_dispose(a);
            sr_signal_run_dispose(b);
        }
        reading_dispose(&r);
        if (i % 8 == 7) {
            close_site(&prefetching);
            close_site(&late);
        }
    }
    asked_types = 0;
    most_bytes = 30000;
    sr_buf_dispose(&body);
}

static void say(struct sr_buf *body, const char *role, size_t bytes)
{
    put(body, body->len > 40 ? ",{\"role\":\"" : "{\"role\":\"");
    put(body, role);
    put(body, "\",\"content\":\"");
    for (size_t i = 0, end = body->len + bytes; body->len < end; i++)
        assert_int_equal(
            sr_buf_printf(body, "%c%c%c ", 'a' + (int)pick(26), 'a' + (int)pick(26), 'a' + (int)(i % 26)),
            SR_OK);
    put(body, "\"}");
}

/* A conversation in pieces: how many windows its neural classifier has read before the end, and reads after
 * it. */
static void read_slowly(struct site *site, const struct sr_buf *body, uint64_t *before, uint64_t *after)
{
    struct reading r;
    struct sr_signal_run *run;
    uint64_t start = sr_neural_stats(site->neural).windows_read;
    read_pieces(&r, site->signals, &sr_dialect_chat, sr_buf_view(body), 700);
    drain(site);
    *before = sr_neural_stats(site->neural).windows_read - start;
    assert_int_equal(ask_units(site, SR_SIGNAL_PII, &r, &run)->status, SR_OK);
    *after = sr_neural_stats(site->neural).windows_read - start - *before;
    sr_signal_run_dispose(run);
    reading_dispose(&r);
}

static void test_what_is_prefetched(void **unused)
{
    struct site site;
    struct sr_buf body;
    uint64_t before, after;
    (void)unused;
    sr_buf_init(&body, 1 << 20);
    open_site(&site, true);
    asked_types = BIT(SR_SIGNAL_PII);
    put(&body, "{\"model\":\"auto\",\"messages\":[          ");
    say(&body, "system", 300);
    say(&body, "user", 1500);
    say(&body, "assistant", 900);
    say(&body, "tool", 2900);
    put(&body, "]}");
    read_slowly(&site, &body, &before, &after);
    assert_true(before > 8);
    assert_true(after <= 6); /* the end of the last message */
    asked_types = 0;         /* not needed: nothing is read ahead, though the texts are new */
    body.len -= 2;
    say(&body, "user", 2500);
    put(&body, "]}");
    read_slowly(&site, &body, &before, &after);
    assert_int_equal(before, 0);
    assert_true(after > 3);
    close_site(&site);
    open_site(&site, false); /* of what the model said nothing */
    asked_types = BIT(SR_SIGNAL_PII);
    sr_buf_clear(&body);
    put(&body, "{\"model\":\"auto\",\"messages\":[          ");
    say(&body, "assistant", 2500);
    say(&body, "assistant", 2500);
    say(&body, "user", 300);
    put(&body, "]}");
    read_slowly(&site, &body, &before, &after);
    assert_true(before <= 1);
    sr_buf_clear(&body); /* and nothing of what is longer than neural classifiers read */
    put(&body, "{\"model\":\"auto\",\"messages\":[          ");
    say(&body, "user", 20000);
    put(&body, "]}");
    struct reading r;
    read_pieces(&r, site.signals, &sr_dialect_chat, sr_buf_view(&body), 900);
    reading_dispose(&r);
    drain(&site);
    close_site(&site);
    asked_types = 0;
    sr_buf_dispose(&body);
}

/* Of a turn that is disguised as a whole one type asks what it says, another what is written: both are asked
 * ahead. */
static void test_a_disguised_turn(void **unused)
{
    static const char body[] =
        "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"W h i c h   t r a i n   g o e s  "
        " t o   "
        "B a s e l   a n d   w h e r e   c a n   I   b u y   a   t i c k e t   f o r   i t ?\"},"
        "{\"role\":\"user\",\"content\":\"Tell me.\"}]}";
    static const uint32_t types[] = {BIT(SR_SIGNAL_JAILBREAK), BIT(SR_SIGNAL_JAILBREAK) | BIT(SR_SIGNAL_PII)};
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        struct site site;
        struct reading r;
        open_site(&site, true);
        asked_types = types[i];
        read_pieces(&r, site.signals, &sr_dialect_chat, sr_bytes_of(body, sizeof body - 1), 60);
        drain(&site);
        uint64_t before = sr_neural_stats(site.neural).windows_read;
        for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
            struct sr_signal_run *run;
            if (!(types[i] >> type & 1))
                continue;
            const struct sr_signal_result *result = ask_units(&site, (enum sr_signal_type)type, &r, &run);
            assert_int_equal(result->status, SR_OK);
            assert_int_equal(result->neural_bytes, result->all_bytes);
            sr_signal_run_dispose(run);
        }
        assert_true(before >= 1);
        assert_true(sr_neural_stats(site.neural).windows_read - before <= 1); /* the last message */
        reading_dispose(&r);
        close_site(&site);
    }
    asked_types = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_body_in_any_pieces),
        cmocka_unit_test(test_what_is_left),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_neurals_say_the_same),
        cmocka_unit_test(test_what_is_prefetched),
        cmocka_unit_test(test_a_disguised_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

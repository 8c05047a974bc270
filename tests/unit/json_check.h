/*
 * What the tests and fuzz targets of json/ share: scanning in pieces, agreement with jansson, and a generator
 * of documents. jansson represents the parser of an upstream.
 *
 * Where the two differ on purpose: the scanner accepts lone surrogates, NULs in names and numbers beyond the
 * range of a double (RFC 8259 allows all three and the upstream decides); jansson refuses them.
 * And jansson overlooks a NUL byte right after a number or a word, which the scanner refuses.
 */
#ifndef TESTS_UNIT_JSON_CHECK_H
#define TESTS_UNIT_JSON_CHECK_H

#include "base/buf.h"
#include "json/scan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ID_MODEL = 1,
    ID_STREAM,
    ID_MESSAGES,
    ID_MESSAGE,
    ID_ROLE,
    ID_CONTENT,
    ID_PART,
    ID_TEXT,
    ID_TOOL_NAME,
    ID_METADATA,
    ID_META_ANY,
    ID_OPTIONS,
    ID_USAGE,
};

static const struct sr_path_spec check_specs[] = {
    {"model", ID_MODEL},
    {"stream", ID_STREAM},
    {"messages", ID_MESSAGES},
    {"messages[]", ID_MESSAGE},
    {"messages[].role", ID_ROLE},
    {"messages[].content", ID_CONTENT},
    {"messages[].content[]", ID_PART},
    {"messages[].content[].text", ID_TEXT},
    {"tools[].function.name", ID_TOOL_NAME},
    {"metadata", ID_METADATA},
    {"metadata.*", ID_META_ANY},
    {"stream_options", ID_OPTIONS},
    {"stream_options.include_usage", ID_USAGE},
};
#define CHECK_SPECS (sizeof check_specs / sizeof check_specs[0])

static inline struct sr_paths *check_paths(void)
{
    struct sr_paths *paths = NULL;
    struct sr_err err = {0};
    if (sr_paths_new(&paths, check_specs, CHECK_SPECS, &err)) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return paths;
}

/* The outcome of one scan; spans live in the arena. */
struct scanned {
    struct sr_arena arena;
    int rc;
    struct sr_err err;
    const struct sr_span *spans;
    size_t n, root_open;
};

#define CHECK_ARENA ((size_t)256 << 20)

/* Feeds pieces whose sizes `next` gives (0 = all the rest). Each piece lies in a block of its own, so that a
 * sanitizer sees a read beyond it. */
static inline void scan_pieces(struct scanned *out, const struct sr_paths *paths,
                               struct sr_scan_limits limits, struct sr_bytes text, size_t (*next)(void *ctx),
                               void *ctx)
{
    struct sr_scan *scan;
    memset(out, 0, sizeof *out);
    sr_arena_init(&out->arena, CHECK_ARENA);
    if (sr_scan_new(&scan, paths, limits, &out->arena))
        abort();
    for (size_t at = 0; at < text.n;) {
        size_t n = next ? next(ctx) : 0;
        if (n == 0 || n > text.n - at)
            n = text.n - at;
        char *piece = malloc(n);
        memcpy(piece, text.p + at, n);
        out->rc = sr_scan_feed(scan, piece, n, &out->err);
        free(piece);
        at += n;
        if (out->rc != SR_OK && out->rc != SR_MORE)
            break;
    }
    struct sr_err last = {0};
    int rc = sr_scan_finish(scan, &last);
    if (out->rc == SR_OK || out->rc == SR_MORE) {
        out->rc = rc;
        out->err = last;
    } else if (rc != out->rc || last.offset != out->err.offset) {
        abort(); /* an error has to stay */
    }
    out->spans = sr_scan_spans(scan, &out->n);
    out->root_open = sr_scan_root_open(scan);
}

static inline void scan_whole(struct scanned *out, const struct sr_paths *paths, struct sr_bytes text)
{
    scan_pieces(out, paths, sr_scan_limits_defaults(), text, NULL, NULL);
}

static inline void scanned_dispose(struct scanned *scanned)
{
    sr_arena_dispose(&scanned->arena);
}

static inline bool scanned_equal(const struct scanned *a, const struct scanned *b)
{
    return a->rc == b->rc && a->err.offset == b->err.offset && strcmp(a->err.message, b->err.message) == 0 &&
           a->n == b->n && a->root_open == b->root_open &&
           (a->n == 0 || memcmp(a->spans, b->spans, a->n * sizeof *a->spans) == 0);
}

static inline json_t *check_load(struct sr_bytes text, json_error_t *error)
{
    return json_loadb(text.n ? text.p : "", text.n,
                      JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, error);
}

/* Whether jansson's refusal is one of the known differences. */
static inline bool refused_on_purpose(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           strncmp(error->text, "invalid Unicode '\\u", 19) == 0;
}

/* Accepted by one is accepted by the other; a document that a limit cut off says nothing. */
static inline bool agrees_with_jansson(const struct scanned *scanned, struct sr_bytes text)
{
    if (scanned->rc != SR_OK && scanned->rc != SR_EPARSE)
        return true;
    if (scanned->rc == SR_EPARSE && scanned->err.offset < text.n && text.p[scanned->err.offset] == 0)
        return true;
    json_error_t error;
    json_t *json = check_load(text, &error);
    bool agrees = json ? scanned->rc == SR_OK : scanned->rc == SR_EPARSE || refused_on_purpose(&error);
    json_decref(json);
    return agrees;
}

/* In bounds, in order, children inside their parents, keys before values, flags sound. */
static inline bool spans_are_sound(const struct scanned *s, struct sr_bytes text)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct sr_span *span = &s->spans[i];
        bool open = span->flags & SR_SPAN_OPEN;
        if (span->key_start > span->key_end || span->key_end > span->start || span->start > span->end ||
            span->end > text.n || span->kind > SR_JSON_OBJECT || (open && s->rc == SR_OK))
            return false;
        if (i && span->start <= s->spans[i - 1].start)
            return false;
        if (!open && span->end == span->start)
            return false;
        if (span->parent == SR_SPAN_NONE)
            continue;
        const struct sr_span *parent = &s->spans[span->parent];
        if (span->parent >= i || parent->kind < SR_JSON_ARRAY || span->start <= parent->start ||
            (!(parent->flags & SR_SPAN_OPEN) && span->end >= parent->end))
            return false;
    }
    return true;
}

/* ---- random documents ---- */

struct gen {
    uint64_t rng;
    struct sr_buf out;
    bool unique; /* no member twice */
    bool plain;  /* nothing that jansson refuses */
};

static inline uint32_t gen_below(struct gen *g, uint32_t n)
{
    /* xorshift64* */
    g->rng ^= g->rng >> 12;
    g->rng ^= g->rng << 25;
    g->rng ^= g->rng >> 27;
    return (uint32_t)((g->rng * UINT64_C(2685821657736338717) >> 33) % n);
}

static inline void gen_put(struct gen *g, const char *s)
{
    if (sr_buf_append(&g->out, s, strlen(s)))
        abort();
}

static inline void gen_space(struct gen *g)
{
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t ", "\r\n  "};
    gen_put(g, spaces[gen_below(g, 8)]);
}

static inline void gen_string(struct gen *g)
{
    static const char *const parts[] = {
        "a",
        "hello world",
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\xC3\xA9",
        "\xE4\xB8\xAD\xE6\x96\x87",
        "\xF0\x9F\x98\x80",
        "\\u4E2D",
        " ",
        "{\\\"x\\\":[1]}",
        "\x7F",
        "\\u0000",
        "\xEF\xBF\xBF",
        "the quick brown fox jumps over it",
        "\\ud800",
        "\\udc00x",
    };
    gen_put(g, "\"");
    for (uint32_t n = gen_below(g, 4) ? gen_below(g, 5) : gen_below(g, 60); n; n--)
        gen_put(g, parts[gen_below(g, g->plain ? 18 : 20)]);
    gen_put(g, "\"");
}

static inline void gen_number(struct gen *g)
{
    static const char *const numbers[] = {"0",      "-0",   "1",           "-17",     "0.5",
                                          "3.25e2", "1E-3", "12345678901", "-0.0e+1", "1e5"};
    gen_put(g, numbers[gen_below(g, 10)]);
}

static inline void gen_key(struct gen *g, uint32_t ordinal)
{
    static const char *const keys[] = {
        "model",          "stream",
        "messages",       "role",
        "content",        "text",
        "tools",          "function",
        "name",           "metadata",
        "stream_options", "include_usage",
        "mod\\u0065l",    "x",
        "\\u00e9",        "\xC3\xA9",
        "t\\u0065xt",     "a key that is rather long, longer than others",
    };
    char text[96];
    if (g->unique && gen_below(g, 3) == 0)
        snprintf(text, sizeof text, "\"k%u\"", ordinal);
    else if (g->unique) /* twelve names in a random start order, none twice */
        snprintf(text, sizeof text, ordinal < 12 ? "\"%s\"" : "\"more%s%u\"", keys[ordinal % 12], ordinal);
    else
        snprintf(text, sizeof text, "\"%s\"", keys[gen_below(g, 18)]);
    gen_put(g, text);
}

static inline void gen_value(struct gen *g, int depth);

static inline void gen_members(struct gen *g, int depth, uint32_t count)
{
    uint32_t start = gen_below(g, 12);
    gen_put(g, "{");
    for (uint32_t i = 0; i < count; i++) {
        gen_space(g);
        gen_key(g, g->unique ? (count <= 12 ? (start + i) % 12 : i) : i);
        gen_space(g);
        gen_put(g, ":");
        gen_space(g);
        gen_value(g, depth - 1);
        gen_space(g);
        if (i + 1 < count)
            gen_put(g, ",");
    }
    gen_space(g);
    gen_put(g, "}");
}

static inline void gen_elements(struct gen *g, int depth, uint32_t count)
{
    gen_put(g, "[");
    for (uint32_t i = 0; i < count; i++) {
        gen_space(g);
        gen_value(g, depth - 1);
        gen_space(g);
        if (i + 1 < count)
            gen_put(g, ",");
    }
    gen_space(g);
    gen_put(g, "]");
}

static inline void gen_value(struct gen *g, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    uint32_t kind = gen_below(g, depth > 0 ? 10 : 5);
    if (kind < 3)
        gen_string(g);
    else if (kind == 3)
        gen_number(g);
    else if (kind == 4)
        gen_put(g, words[gen_below(g, 3)]);
    else if (kind < 8)
        gen_members(g, depth, gen_below(g, 5));
    else
        gen_elements(g, depth, gen_below(g, 5));
}

/* A chat body with random values in it: the paths of the table occur for certain. */
static inline void gen_chat(struct gen *g)
{
    sr_buf_clear(&g->out);
    gen_space(g);
    gen_put(g, "{\"model\":");
    gen_value(g, 0);
    gen_put(g, " ,\"messages\": [");
    for (uint32_t i = 0, n = gen_below(g, 5); i < n; i++) {
        gen_put(g, i ? ",{\"role\":" : "{\"role\":");
        gen_string(g);
        gen_put(g, ",\"content\":");
        if (gen_below(g, 2)) {
            gen_string(g);
        } else {
            gen_put(g, "[{\"type\":\"text\",\"text\":");
            gen_value(g, 1);
            gen_put(g, "} ,");
            gen_value(g, 2);
            gen_put(g, "]");
        }
        gen_put(g, "}");
    }
    gen_put(g, "],\"metadata\":");
    gen_members(g, 2, gen_below(g, 8));
    gen_put(g, ",\"tools\":[{\"function\":{\"name\":");
    gen_value(g, 0);
    gen_put(g, "}}],\"stream_options\":");
    gen_value(g, 3);
    gen_put(g, gen_below(g, 2) ? ", \"temp\\u0065rature\" : 0.5 }\n" : "}");
}

static inline void gen_document(struct gen *g)
{
    if (gen_below(g, 2)) {
        gen_chat(g);
        return;
    }
    sr_buf_clear(&g->out);
    gen_space(g);
    if (gen_below(g, 8))
        gen_members(g, 5, gen_below(g, 9));
    else
        gen_value(g, 5);
    gen_space(g);
}

/* Changes a few bytes, so that most documents break. */
static inline void gen_damage(struct gen *g)
{
    static const char bytes[] = "{}[]\",:\\u0e-+.1tfn \n\x01\x80\xC3\xE0\xED\xF4\xFF";
    for (uint32_t n = 1 + gen_below(g, 2); n && g->out.len; n--) {
        size_t at = gen_below(g, (uint32_t)g->out.len);
        switch (gen_below(g, 4)) {
        case 0:
            g->out.len = at;
            break;
        case 1:
            memmove(g->out.data + at, g->out.data + at + 1, g->out.len - at - 1);
            g->out.len--;
            break;
        default:
            g->out.data[at] = bytes[gen_below(g, sizeof bytes - 1)];
        }
    }
}

#endif

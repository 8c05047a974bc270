/* The scanner: what it accepts, what it records, where it reports an error, in one piece and in any pieces.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "tests/unit/json_check.h"

#include "json/path.h"
#include "json/simd.h"
#include <ctype.h>

#define DOCUMENTS 2000

static struct sr_paths *paths;

static int setup(void **state)
{
    (void)state;
    paths = check_paths();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sr_paths_unref(paths);
    return 0;
}

static const struct sr_span *find(const struct scanned *s, uint16_t id, size_t nth)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->spans[i].id == id && nth-- == 0)
            return &s->spans[i];
    return NULL;
}

static void assert_raw(const struct scanned *s, struct sr_bytes text, uint16_t id, size_t nth,
                       const char *raw)
{
    const struct sr_span *span = find(s, id, nth);
    assert_non_null(span);
    struct sr_bytes got = sr_span_raw(span, text);
    if (!sr_bytes_eq(got, sr_bytes_str(raw)))
        fail_msg("id %u #%zu: got %.*s, expected %s", id, nth, (int)got.n, got.p, raw);
}

static void records_the_paths(void **state)
{
    (void)state;
    struct sr_bytes text =
        SR_LIT(" {\"stream\" : true,\"messages\":[{\"role\":\"user\",\"content\":\"a\\nb\"},"
               "{\"content\":[{\"text\":\"x\"},{\"text\":\"y\",\"more\":[[]]}],\"role\":\"tool\"}],"
               "\"tools\":[{\"function\":{\"name\":\"f\"}}],\"metadata\":{\"k\":1,\"l\":{}},\"extra\":[],"
               "\"model\":\"m\"}\n");
    struct scanned s;
    scan_whole(&s, paths, text);
    assert_int_equal(s.rc, SR_OK);
    assert_int_equal(s.root_open, 2);
    assert_true(spans_are_sound(&s, text));
    assert_raw(&s, text, ID_MODEL, 0, "\"m\"");
    assert_raw(&s, text, ID_STREAM, 0, "true");
    assert_raw(&s, text, ID_ROLE, 1, "\"tool\"");
    assert_raw(&s, text, ID_TEXT, 1, "\"y\"");
    assert_raw(&s, text, ID_TOOL_NAME, 0, "\"f\"");
    assert_raw(&s, text, ID_META_ANY, 1, "{}");
    assert_raw(&s, text, SR_PATH_TOP, 1, "[]");
    assert_int_equal(find(&s, ID_TEXT, 1)->index[0], 1);
    assert_int_equal(find(&s, ID_TEXT, 1)->index[1], 1);
    assert_int_equal(find(&s, ID_CONTENT, 0)->flags, SR_SPAN_ESCAPED);
    assert_int_equal(find(&s, ID_META_ANY, 1)->flags, SR_SPAN_EMPTY);
    assert_int_equal(find(&s, ID_TOOL_NAME, 0)->flags, SR_SPAN_NESTED);
    assert_ptr_equal(s.spans + find(&s, ID_TEXT, 1)->parent, find(&s, ID_PART, 1));
    assert_ptr_equal(s.spans + find(&s, ID_TOOL_NAME, 0)->parent, find(&s, SR_PATH_TOP, 0));
    assert_int_equal(find(&s, ID_MODEL, 0)->parent, SR_SPAN_NONE);
    struct sr_bytes content = sr_span_text(find(&s, ID_CONTENT, 0), text, &s.arena);
    assert_true(sr_bytes_eq(content, SR_LIT("a\nb")));
    scanned_dispose(&s);
}

static void finds_duplicates(void **state)
{
    (void)state;
    struct sr_bytes text =
        SR_LIT("{\"mod\\u0065l\":1,\"model\":2,\"metadata\":{\"a\":1,\"b\":1,\"\\u0061\":2},\"zz\":1,"
               "\"z\\u007a\":2,\"\":0,\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2,"
               "\"messages\":[{\"role\":1},{\"role\":2,\"role\":3}],"
               "\"tools\":[{\"function\":{\"name\":1},\"function\":{\"name\":2}}]}");
    struct scanned s;
    scan_whole(&s, paths, text);
    assert_int_equal(s.rc, SR_OK);
    static const struct {
        uint16_t id;
        size_t nth;
        bool duplicate;
    } expected[] = {{ID_MODEL, 0, false},    {ID_MODEL, 1, true},      {ID_META_ANY, 0, false},
                    {ID_META_ANY, 1, false}, {ID_META_ANY, 2, true},   {SR_PATH_TOP, 0, false},
                    {SR_PATH_TOP, 1, true},  {SR_PATH_TOP, 2, false},  {SR_PATH_TOP, 3, false},
                    {SR_PATH_TOP, 4, true},  {ID_ROLE, 0, false},      {ID_ROLE, 1, false},
                    {ID_ROLE, 2, true},      {ID_TOOL_NAME, 0, false}, {ID_TOOL_NAME, 1, true}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct sr_span *span = find(&s, expected[i].id, expected[i].nth);
        assert_non_null(span);
        if (!!(span->flags & SR_SPAN_DUPLICATE) != expected[i].duplicate)
            fail_msg("id %u #%zu", expected[i].id, expected[i].nth);
    }
    scanned_dispose(&s);
}

static void long_keys_are_told_apart(void **state)
{
    (void)state;
    /* Names longer than what can match a path: told apart by their last byte, found again when equal. */
    char text[2048], name[400];
    memset(name, 'k', sizeof name);
    int n =
        snprintf(text, sizeof text, "{\"%.399sa\":1,\"%.399sb\":2,\"%.398s\\u006ba\":3}", name, name, name);
    struct scanned s;
    scan_whole(&s, paths, sr_bytes_of(text, (size_t)n));
    assert_int_equal(s.rc, SR_OK);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.spans[1].flags, 0);
    assert_int_equal(s.spans[2].flags, SR_SPAN_DUPLICATE);
    scanned_dispose(&s);
}

static void errors_have_offset_and_sense(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
        const char *message;
    } bad[] = {
        {"", 0, "unexpected end of input: there is no JSON value"},
        {"  ", 2, "unexpected end of input: there is no JSON value"},
        {"\xEF\xBB\xBF{}", 0, "expected a JSON value"},
        {"{\"a\":1,}", 7, "expected a name in quotes after `,`"},
        {"{,}", 1, "expected a name in quotes or `}`"},
        {"{\"a\" 1}", 5, "expected `:` after the name"},
        {"{\"a\":}", 5, "expected a value after `:`"},
        {"{\"a\":1 \"b\":2}", 7, "expected `,` or `}` after a member"},
        {"{\"a\":1]", 6, "expected `,` or `}` after a member"},
        {"[1 2]", 3, "expected `,` or `]` after an element"},
        {"[1,]", 3, "expected an element after `,`"},
        {"[,1]", 1, "expected an element or `]`"},
        {"{} x", 3, "unexpected data after the end of the document"},
        {"[tru]", 4, "expected `true`"},
        {"[nulL]", 4, "expected `null`"},
        {"[fals", 5, "unexpected end of input inside a value"},
        {"[01]", 2, "a number may not start with `0` and another digit"},
        {"[-]", 2, "expected a digit after `-`"},
        {"[1.]", 3, "expected a digit after the decimal point"},
        {"[1e+]", 4, "expected a digit in the exponent"},
        {"[+1]", 1, "expected an element or `]`"},
        {"-", 1, "unexpected end of input inside a value"},
        {"[\"\\x\"]", 3, "unknown escape in a string, after a backslash comes one of \" \\ / b f n r t u"},
        {"[\"\\u00g0\"]", 6, "expected four hexadecimal digits after `\\u`"},
        {"[\"a\nb\"]", 3, "control character 0x0A in a string, it has to be escaped"},
        {"[\"\xC0\xAF\"]", 2, "invalid UTF-8 in a string (byte 0xC0)"},
        {"[\"\xED\xA0\x80\"]", 3, "invalid UTF-8 in a string (byte 0xA0)"},
        {"[\"\xF4\x90\x80\x80\"]", 3, "invalid UTF-8 in a string (byte 0x90)"},
        {"[\"\xE4\xB8\"]", 4, "invalid UTF-8 in a string (byte 0x22)"},
        {"[\"\x80\"]", 2, "invalid UTF-8 in a string (byte 0x80)"},
        {"\"abc", 4, "unexpected end of input inside a string"},
        {"{\"a\":[1,{}]", 11, "unexpected end of input inside an object"},
        {"[[", 2, "unexpected end of input inside an array"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sr_bytes text = sr_bytes_str(bad[i].text);
        struct scanned s;
        scan_whole(&s, paths, text);
        assert_int_equal(s.rc, SR_EPARSE);
        assert_string_equal(s.err.message, bad[i].message);
        assert_int_equal(s.err.offset, bad[i].offset);
        assert_true(agrees_with_jansson(&s, text));
        scanned_dispose(&s);
    }
}

static void any_value_can_be_the_root(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int kind;
    } good[] = {{"null", SR_JSON_NULL},       {" false ", SR_JSON_FALSE}, {"true", SR_JSON_TRUE},
                {"-12.5e-3", SR_JSON_NUMBER}, {"0", SR_JSON_NUMBER},      {"\"\"", SR_JSON_STRING},
                {"[]", SR_JSON_ARRAY},        {"{}", SR_JSON_OBJECT}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct sr_arena arena;
        struct sr_scan *scan;
        struct sr_err err = {0};
        size_t n;
        sr_arena_init(&arena, 1 << 20);
        assert_int_equal(sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &arena), SR_OK);
        assert_int_equal(sr_scan_root_kind(scan), -1);
        int rc = sr_scan_feed(scan, good[i].text, strlen(good[i].text), &err);
        assert_int_equal(rc, good[i].kind == SR_JSON_NUMBER ? SR_MORE : SR_OK);
        assert_int_equal(sr_scan_root_kind(scan), good[i].kind);
        assert_int_equal(sr_scan_finish(scan, &err), SR_OK);
        assert_int_equal(sr_scan_root_open(scan), good[i].kind == SR_JSON_OBJECT ? 1 : 0);
        sr_scan_spans(scan, &n);
        assert_int_equal(n, 0);
        sr_arena_dispose(&arena);
    }
}

/* RFC 8259 allows these and the scanner does, where jansson refuses; and one the other way round. */
static void known_differences(void **state)
{
    (void)state;
    static const char *const texts[] = {"[\"\\ud800\"]", "[\"\\udc00\\ud800x\"]", "{\"a\\u0000b\":1}",
                                        "[1e999]", "[-123456789012345678901234567890e400]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sr_bytes text = sr_bytes_str(texts[i]);
        struct scanned s;
        json_error_t error;
        scan_whole(&s, paths, text);
        assert_int_equal(s.rc, SR_OK);
        assert_null(check_load(text, &error));
        assert_true(refused_on_purpose(&error));
        scanned_dispose(&s);
    }
    struct sr_bytes nul = SR_LIT("[1\0,null\0]");
    struct scanned s;
    scan_whole(&s, paths, nul);
    assert_int_equal(s.rc, SR_EPARSE);
    assert_int_equal(s.err.offset, 2);
    json_t *overlooked = check_load(nul, NULL);
    assert_int_equal(json_array_size(overlooked), 2);
    json_decref(overlooked);
    scanned_dispose(&s);
}

static void limits_hold(void **state)
{
    (void)state;
    struct sr_scan_limits limits = {.max_depth = 3, .max_spans = 2};
    struct scanned s;
    scan_pieces(&s, paths, limits, SR_LIT("[[[]]]"), NULL, NULL);
    assert_int_equal(s.rc, SR_OK);
    scanned_dispose(&s);
    scan_pieces(&s, paths, limits, SR_LIT("[[[1,{}]]]"), NULL, NULL);
    assert_int_equal(s.rc, SR_ELIMIT);
    assert_int_equal(s.err.offset, 5);
    assert_string_equal(s.err.message, "nested too deeply, the limit is 3");
    scanned_dispose(&s);
    scan_pieces(&s, paths, limits, SR_LIT("{\"a\":1,\"b\":2,\"c\":3}"), NULL, NULL);
    assert_int_equal(s.rc, SR_ELIMIT);
    assert_int_equal(s.err.offset, 17);
    assert_int_equal(s.n, 2);
    scanned_dispose(&s);
    /* Members on a path are bounded too, also where none of them is recorded. */
    scan_pieces(&s, paths, limits,
                SR_LIT("{\"tools\":[{\"function\":0,\"function\":0},{\"function\":0},{\"function\":0},{"
                       "\"function\":0}]}"),
                NULL, NULL);
    assert_int_equal(s.rc, SR_ELIMIT);
    scanned_dispose(&s);

    struct sr_arena arena;
    struct sr_scan *scan;
    sr_arena_init(&arena, 1 << 20);
    limits.max_depth = SR_SCAN_DEPTH_MAX + 1;
    assert_int_equal(sr_scan_new(&scan, paths, limits, &arena), SR_EINVAL);
    sr_arena_dispose(&arena);
    sr_arena_init(&arena, 8192); /* room for the scanner, not for many spans */
    assert_int_equal(sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &arena), SR_OK);
    int rc = sr_scan_feed(scan, "{", 1, NULL);
    for (int i = 0; i < 200 && rc == SR_MORE; i++) {
        char member[32];
        int n = snprintf(member, sizeof member, "\"m%d\":0,", i);
        rc = sr_scan_feed(scan, member, (size_t)n, NULL);
    }
    assert_int_equal(rc, SR_ENOMEM);
    sr_arena_dispose(&arena);

    char *deep = malloc(2 * SR_SCAN_DEPTH_MAX);
    memset(deep, '[', SR_SCAN_DEPTH_MAX);
    memset(deep + SR_SCAN_DEPTH_MAX, ']', SR_SCAN_DEPTH_MAX);
    limits = (struct sr_scan_limits){.max_depth = SR_SCAN_DEPTH_MAX, .max_spans = 0};
    scan_pieces(&s, paths, limits, sr_bytes_of(deep, 2 * SR_SCAN_DEPTH_MAX), NULL, NULL);
    assert_int_equal(s.rc, SR_OK);
    scanned_dispose(&s);
    free(deep);
}

static void spans_are_open_until_their_end(void **state)
{
    (void)state;
    struct sr_arena arena;
    struct sr_scan *scan;
    size_t n;
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &arena), SR_OK);
    assert_int_equal(sr_scan_feed(scan, "{\"model\":\"abc", 13, NULL), SR_MORE);
    const struct sr_span *spans = sr_scan_spans(scan, &n);
    assert_int_equal(n, 1);
    assert_int_equal(spans[0].flags, SR_SPAN_OPEN);
    assert_int_equal(sr_scan_feed(scan, NULL, 0, NULL), SR_MORE);
    assert_int_equal(sr_scan_feed(scan, "\"}", 2, NULL), SR_OK);
    spans = sr_scan_spans(scan, &n);
    assert_int_equal(spans[0].flags, 0);
    assert_int_equal(spans[0].end, 14);
    sr_arena_dispose(&arena);
}

static void tables_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", ".", "a.", ".a", "a..b", "a[", "a[0]", "a]", "a.[]", "a[]b", "a.b.c.d.e.f.g.h.i"};
    struct sr_paths *table;
    struct sr_err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sr_path_spec spec = {bad[i], 1};
        if (sr_paths_new(&table, &spec, 1, &err) != SR_EINVAL)
            fail_msg("`%s` was accepted", bad[i]);
        assert_null(table);
    }
    struct sr_path_spec twice[] = {{"a.b", 1}, {"a.b", 2}};
    assert_int_equal(sr_paths_new(&table, twice, 2, &err), SR_EINVAL);
    assert_string_equal(err.message, "path `a.b` is given twice");
    struct sr_path_spec reserved = {"a", SR_PATH_TOP};
    assert_int_equal(sr_paths_new(&table, &reserved, 1, &err), SR_EINVAL);

    struct sr_path_spec fine[] = {{"[].a", 7},  {"a.*.c", 1}, {"a.b.*", 2},
                                  {"a.b.c", 3}, {"*.b", 4},   {"a[][][].x", 5}};
    for (size_t nth = 1; nth < 40; nth++) { /* every allocation may fail */
        sr_mem_fail_at(nth);
        int rc = sr_paths_new(&table, fine, 6, &err);
        sr_mem_fail_at(0);
        if (rc == SR_OK)
            break;
        assert_int_equal(rc, SR_ENOMEM);
    }
    assert_non_null(table);
    struct sr_bytes text = SR_LIT("{\"a\":{\"x\":{\"c\":1},\"b\":{\"c\":2,\"d\":3}},\"q\":{\"b\":4}}");
    struct scanned s;
    scan_whole(&s, table, text);
    assert_int_equal(s.rc, SR_OK);
    assert_raw(&s, text, 1, 0, "1");
    assert_raw(&s, text, 3, 0, "2");
    assert_raw(&s, text, 2, 0, "3");
    assert_raw(&s, text, 4, 0, "{\"c\":2,\"d\":3}");
    assert_raw(&s, text, 4, 1, "4");
    scanned_dispose(&s);
    text = SR_LIT("[{\"a\":1},2,{\"b\":3,\"a\":4}]");
    scan_whole(&s, table, text);
    assert_raw(&s, text, 7, 1, "4");
    assert_int_equal(find(&s, 7, 1)->index[0], 2);
    assert_int_equal(s.n, 2);
    scanned_dispose(&s);
    sr_paths_unref(sr_paths_ref(table));
    sr_paths_unref(table);
}

static void unescapes(void **state)
{
    (void)state;
    static const struct {
        const char *inside, *text;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u4e2D\\ud83d\\uDE00", "A\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80"},
        {"\\ud800", "\xEF\xBF\xBD"},
        {"\\ud800x", "\xEF\xBF\xBDx"},
        {"\\ud800\\n", "\xEF\xBF\xBD\n"},
        {"\\ud800\\ud800\\udc00", "\xEF\xBF\xBD\xF0\x90\x80\x80"},
        {"\\udc00\\ud800", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    struct sr_arena arena;
    sr_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_bytes got = sr_json_unescape(sr_bytes_str(cases[i].inside), &arena);
        assert_true(sr_bytes_eq(got, sr_bytes_str(cases[i].text)));
    }
    struct sr_bytes nul = sr_json_unescape(SR_LIT("a\\u0000b"), &arena);
    assert_int_equal(nul.n, 3);
    assert_memory_equal(nul.p, "a\0b", 3);
    sr_arena_dispose(&arena);
    sr_arena_init(&arena, 0);
    assert_null(sr_json_unescape(SR_LIT("\\n"), &arena).p);
    assert_true(sr_bytes_eq(sr_json_unescape(SR_LIT("n"), &arena), SR_LIT("n")));
}

/* However a string is cut, its pieces decode to what the whole does. */
static void unescapes_pieces(void **state)
{
    (void)state;
    static const char inside[] =
        "a\\\\b\\n\\u00e9\\ud83d\\ude00\\ud83d\\ud83d\\ude00\\ude00x\\ud83dy\\\"\\u0041\\ud83d\\n\\ud83d";
    struct sr_bytes whole = {inside, sizeof inside - 1};
    struct sr_arena arena;
    sr_arena_init(&arena, 1 << 16);
    struct sr_bytes wanted = sr_json_unescape(whole, &arena);
    for (size_t cut = 0; cut <= whole.n; cut++) {
        for (size_t second = cut; second <= whole.n; second++) {
            char out[sizeof inside];
            const size_t ends[] = {cut, second, whole.n};
            size_t at = 0, length = 0;
            for (size_t i = 0; i < 3; i++) {
                size_t n;
                struct sr_bytes piece = {inside + at, ends[i] - at};
                size_t read = sr_json_unescape_part(piece, i == 2, out + length, &n);
                assert_true(read <= piece.n && piece.n - read <= (i == 2 ? 0 : 11));
                at += read;
                length += n;
            }
            assert_int_equal(length, wanted.n);
            assert_memory_equal(out, wanted.p, length);
        }
    }
    sr_arena_dispose(&arena);
}

/* ---- properties over generated documents ---- */

static size_t piece_of_one(void *ctx)
{
    (void)ctx;
    return 1;
}

struct two {
    size_t first;
};

static size_t piece_of_two(void *ctx)
{
    struct two *two = ctx;
    size_t n = two->first;
    two->first = 0;
    return n;
}

static size_t piece_random(void *ctx)
{
    struct gen *g = ctx;
    return gen_below(g, 3) ? 1 + gen_below(g, 8) : 1 + gen_below(g, 100);
}

static void check_splits(struct gen *g, const struct scanned *whole, struct sr_bytes text, const char *seed)
{
    struct scanned s;
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    scan_pieces(&s, paths, limits, text, piece_of_one, NULL);
    if (!scanned_equal(whole, &s))
        fail_msg("%s: byte by byte differs: %.*s", seed, (int)text.n, text.p);
    scanned_dispose(&s);
    for (size_t at = 1; at < text.n && text.n <= 160; at++) {
        struct two two = {at};
        scan_pieces(&s, paths, limits, text, piece_of_two, &two);
        if (!scanned_equal(whole, &s))
            fail_msg("%s: split at %zu differs: %.*s", seed, at, (int)text.n, text.p);
        scanned_dispose(&s);
    }
    for (int i = 0; i < 4; i++) {
        scan_pieces(&s, paths, limits, text, piece_random, g);
        if (!scanned_equal(whole, &s))
            fail_msg("%s: random split differs: %.*s", seed, (int)text.n, text.p);
        scanned_dispose(&s);
    }
}

/* The value that jansson has where `span` says its value is; `path` may end in a star. */
static json_t *value_at(json_t *root, const char *path, const struct sr_span *span, struct sr_bytes text)
{
    json_t *value = root;
    size_t arrays = 0;
    while (value && *path) {
        size_t n = strcspn(path, ".[");
        if (n && path[0] == '*') {
            json_t *key = json_loadb(text.p + span->key_start, span->key_end - span->key_start,
                                     JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            value = json_object_getn(value, json_string_value(key), json_string_length(key));
            json_decref(key);
        } else if (n) {
            value = json_object_getn(value, path, n);
        }
        path += n;
        if (*path == '[') {
            value = json_array_get(value, span->index[arrays++]);
            path += 2;
        }
        path += *path == '.';
    }
    return value;
}

/* How many values of the tree the path names. */
static size_t count_at(json_t *value, const char *path)
{
    size_t n = strcspn(path, ".["), count = 0;
    if (!value || !*path)
        return value ? 1 : 0;
    const char *rest = path + n;
    if (n == 0 && *path == '[') {
        rest = path + 2 + (path[2] == '.');
        for (size_t i = 0; i < json_array_size(value); i++)
            count += count_at(json_array_get(value, i), rest);
        return count;
    }
    rest += *rest == '.';
    if (*path == '*')
        return json_object_size(value);
    return count_at(json_object_getn(value, path, n), rest);
}

static const char *path_of(uint16_t id)
{
    for (size_t i = 0; i < CHECK_SPECS; i++)
        if (check_specs[i].id == id)
            return check_specs[i].path;
    return "*";
}

static void check_spans_against_tree(const struct scanned *s, struct sr_bytes text, json_t *root,
                                     const char *seed)
{
    size_t expected = json_object_size(root);
    for (size_t i = 0; i < CHECK_SPECS; i++)
        if (strpbrk(check_specs[i].path, ".[")) /* the others are top-level members, counted above */
            expected += count_at(root, check_specs[i].path);
    if (expected != s->n)
        fail_msg("%s: %zu spans, the tree has %zu: %.*s", seed, s->n, expected, (int)text.n, text.p);
    for (size_t i = 0; i < s->n; i++) {
        const struct sr_span *span = &s->spans[i];
        json_error_t error;
        json_t *got = check_load(sr_span_raw(span, text), &error);
        json_t *want = value_at(root, path_of(span->id), span, text);
        if (!got || !want || !json_equal(got, want))
            fail_msg("%s: span %zu (id %u) differs: %.*s", seed, i, span->id, (int)text.n, text.p);
        if (span->kind == SR_JSON_STRING) {
            struct sr_arena arena;
            sr_arena_init(&arena, 1 << 20);
            struct sr_bytes decoded = sr_span_text(span, text, &arena);
            if (!sr_bytes_eq(decoded, sr_bytes_of(json_string_value(want), json_string_length(want))))
                fail_msg("%s: span %zu decodes differently", seed, i);
            sr_arena_dispose(&arena);
        }
        json_decref(got);
    }
}

static void random_documents(void **state)
{
    (void)state;
    struct gen g = {.rng = UINT64_C(0x5EED5CA11)};
    sr_buf_init(&g.out, 16 << 20);
    size_t accepted = 0, compared = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        char seed[48];
        snprintf(seed, sizeof seed, "document %d, state %016llx", i, (unsigned long long)g.rng);
        g.unique = i % 2;
        g.plain = i % 3;
        gen_document(&g);
        if (i % 5 == 0)
            gen_damage(&g);
        struct sr_bytes text = {g.out.data, g.out.len};
        struct scanned whole;
        scan_whole(&whole, paths, text);
        if (!agrees_with_jansson(&whole, text))
            fail_msg("%s: scan %d %s, jansson thinks otherwise: %.*s", seed, whole.rc, whole.err.message,
                     (int)text.n, text.p);
        if (!spans_are_sound(&whole, text))
            fail_msg("%s: unsound spans: %.*s", seed, (int)text.n, text.p);
        check_splits(&g, &whole, text, seed);
        json_t *root = json_loadb(
            text.p, text.n,
            JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, NULL);
        accepted += whole.rc == SR_OK;
        if (root) {
            check_spans_against_tree(&whole, text, root, seed);
            compared++;
        }
        json_decref(root);
        scanned_dispose(&whole);
    }
    print_message("%d documents from seed 0x5eed5ca11: %zu accepted, %zu compared with the tree\n", DOCUMENTS,
                  accepted, compared);
    assert_true(compared > DOCUMENTS / 4);
    sr_buf_dispose(&g.out);
}

/* ---- the string kernels ---- */

/* What every kernel promises, byte by byte. */
static const uint8_t *skip_reference(const uint8_t *p, const uint8_t *end, bool *escaped)
{
    while (p < end) {
        size_t n = 1, left = (size_t)(end - p);
        if (*p >= 0x80)
            n = sr_utf8_multibyte(p, (size_t)(end - p));
        else if (*p == '\\' && escaped && left >= 2 && p[1] && strchr("\"\\/bfnrt", p[1]))
            n = 2;
        else if (*p == '\\' && escaped && left >= 6 && p[1] == 'u' && isxdigit(p[2]) && isxdigit(p[3]) &&
                 isxdigit(p[4]) && isxdigit(p[5]))
            n = 6;
        else if (*p < 0x20 || *p == '"' || *p == '\\')
            n = 0;
        if (n == 0)
            break;
        if (*p == '\\')
            *escaped = true;
        p += n;
    }
    return p;
}

static void fill_text(struct gen *g, uint8_t *p, size_t n)
{
    static const char *const units[] = {"a",
                                        "\xE4\xB8\xAD",
                                        "\xC2\x80",
                                        "\xDF\xBF",
                                        "\xE0\xA0\x80",
                                        "\xED\x9F\xBF",
                                        "\xEE\x80\x80",
                                        "\x7F",
                                        " ",
                                        "\xF0\x90\x80\x80",
                                        "\xF4\x8F\xBF\xBF",
                                        "\\n",
                                        "\\\"",
                                        "\\u4e2D",
                                        "\\\\"};
    uint32_t first = gen_below(g, 15), span = 1 + gen_below(g, 15 - first);
    for (size_t at = 0; at < n;) {
        const char *unit = units[gen_below(g, 2) ? first : first + gen_below(g, span)];
        size_t len = strlen(unit);
        if (len > n - at)
            unit = "z", len = 1;
        memcpy(p + at, unit, len);
        at += len;
    }
    for (uint32_t hits = gen_below(g, 3); hits && n; hits--) {
        static const uint8_t odd[] = {'"',  '\\', 'u',  0,    0x1F, 0x80, 0xBF, 0xC0,
                                      0xC1, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5, 0xFF};
        p[gen_below(g, (uint32_t)n)] = odd[gen_below(g, sizeof odd)];
    }
}

static void kernels_agree(void **state)
{
    (void)state;
    struct gen g = {.rng = 42};
    static const unsigned masks[] = {0, SR_SIMD_BASE, SR_SIMD_BASE | SR_SIMD_AVX2};
    for (int round = 0; round < 60000; round++) {
        size_t n = gen_below(&g, 200);
        uint8_t *text = malloc(n + 1);
        uint8_t *end = text + n + 1, *begin = end - n; /* ends where the block ends, for the sanitizer */
        fill_text(&g, begin, n);
        bool with = round % 2, escaped_want = false;
        const uint8_t *want = skip_reference(begin, end, with ? &escaped_want : NULL);
        for (size_t m = 0; m < 3; m++) {
            sr_simd_skip_fn *fn = sr_simd_skip_for(masks[m]);
            bool escaped = false;
            const uint8_t *got = fn(begin, end, with ? &escaped : NULL);
            if (got != want || escaped != escaped_want)
                fail_msg("%s stops at %td instead of %td of %zu (round %d)", sr_simd_name(fn), got - begin,
                         want - begin, n, round);
        }
        free(text);
    }
}

/* Every pair of bytes, and every triple and quadruple around the borders, after and before plain text. */
static void kernels_know_utf8(void **state)
{
    (void)state;
    static const uint8_t border[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1,
                                     0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5};
    enum { N = sizeof border };
    uint8_t text[64];
    sr_simd_skip_fn *fns[] = {sr_simd_skip_for(0), sr_simd_skip_for(SR_SIMD_BASE), sr_simd_skip_for(~0u)};
    for (size_t i = 0; i < (size_t)N * N * N * N; i++) {
        uint8_t four[4] = {border[i % N], border[i / N % N], border[i / N / N % N], border[i / N / N / N]};
        memset(text, 'x', sizeof text);
        memcpy(text, "\xE4\xB8\xAD", 3); /* the vector path of UTF-8 begins here */
        memcpy(text + 29 + i % 3, four, 4);
        const uint8_t *want = skip_reference(text, text + sizeof text, NULL);
        for (size_t k = 0; k < 3; k++)
            if (fns[k](text, text + sizeof text, NULL) != want)
                fail_msg("%s on %02x %02x %02x %02x", sr_simd_name(fns[k]), four[0], four[1], four[2],
                         four[3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_the_paths),
        cmocka_unit_test(finds_duplicates),
        cmocka_unit_test(long_keys_are_told_apart),
        cmocka_unit_test(errors_have_offset_and_sense),
        cmocka_unit_test(any_value_can_be_the_root),
        cmocka_unit_test(known_differences),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(spans_are_open_until_their_end),
        cmocka_unit_test(tables_are_checked),
        cmocka_unit_test(unescapes),
        cmocka_unit_test(unescapes_pieces),
        cmocka_unit_test(random_documents),
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(kernels_know_utf8),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

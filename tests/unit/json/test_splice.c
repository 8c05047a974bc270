/* Splices: untouched bytes stay, commas are correct, conflicts follow the rules, other parsers agree. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "tests/unit/json_check.h"
#include "json/splice.h"

#define DOCUMENTS 3000

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

/* A scanned body and the edits on it. */
struct fixture {
    struct scanned s;
    struct sr_bytes body;
    struct sr_edits *edits;
};

static void begin(struct fixture *f, const char *body)
{
    f->body = sr_bytes_str(body);
    scan_whole(&f->s, paths, f->body);
    assert_int_equal(f->s.rc, SR_OK);
    assert_int_equal(sr_edits_new(&f->edits, f->body, f->s.spans, f->s.n, f->s.root_open, 64, &f->s.arena),
                     SR_OK);
}

static uint32_t span_of(const struct fixture *f, uint16_t id, size_t nth)
{
    for (size_t i = 0; i < f->s.n; i++)
        if (f->s.spans[i].id == id && nth-- == 0)
            return (uint32_t)i;
    fail_msg("no span %u", id);
    return 0;
}

static struct sr_bytes join(const struct sr_bytes *slices, size_t n, size_t total, struct sr_arena *arena)
{
    char *out = sr_arena_alloc(arena, total + 1);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(out + at, slices[i].p, slices[i].n);
        at += slices[i].n;
    }
    assert_int_equal(at, total);
    out[at] = 0;
    return sr_bytes_of(out, at);
}

static struct sr_bytes render(struct sr_edits *edits, struct sr_arena *arena)
{
    const struct sr_bytes *slices;
    size_t n, total;
    struct sr_err err = {0};
    assert_int_equal(sr_edits_render(edits, &slices, &n, &total, &err), SR_OK);
    return join(slices, n, total, arena);
}

static void end(struct fixture *f, const char *expected)
{
    struct sr_bytes once = render(f->edits, &f->s.arena), again = render(f->edits, &f->s.arena);
    assert_string_equal(once.p, expected);
    assert_string_equal(again.p, expected);
    scanned_dispose(&f->s);
}

#define OK(call) assert_int_equal(call, SR_OK)

static void nothing_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, " {\"model\" : \"a\" } ");
    const struct sr_bytes *slices;
    size_t n, total;
    OK(sr_edits_render(f.edits, &slices, &n, &total, NULL));
    assert_int_equal(n, 1);
    assert_ptr_equal(slices[0].p, f.body.p);
    assert_int_equal(total, f.body.n);
    end(&f, " {\"model\" : \"a\" } ");
}

static void replaces_values(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{\"x\":1, \"model\" :\t\"auto\" ,\"y\":[ 1,2 ]}");
    OK(sr_edits_replace(f.edits, span_of(&f, ID_MODEL, 0), SR_LIT("\"first\"")));
    OK(sr_edits_replace(f.edits, span_of(&f, ID_MODEL, 0), SR_LIT("\"second\"")));
    end(&f, "{\"x\":1, \"model\" :\t\"second\" ,\"y\":[ 1,2 ]}");
    /* Each parser behind us has to see the same, whichever duplicate it picks. */
    begin(&f, "{\"model\":1,\"m\\u006fdel\":2,\"modem\":3,\"model\":[4]}");
    OK(sr_edits_replace(f.edits, span_of(&f, ID_MODEL, 1), SR_LIT("0")));
    end(&f, "{\"model\":0,\"m\\u006fdel\":0,\"modem\":3,\"model\":0}");
    begin(&f, "{\"a\":1,\"b\":2,\"\\u0061\":3}");
    OK(sr_edits_replace(f.edits, span_of(&f, SR_PATH_TOP, 0), SR_LIT("null")));
    end(&f, "{\"a\":null,\"b\":2,\"\\u0061\":null}");
}

static void removes_members_with_one_comma(void **state)
{
    (void)state;
    static const char *const body = "{ \"a\" : 1 , \"b\":2,\n\"c\":3 }";
    static const struct {
        unsigned removed; /* bit i: member i */
        const char *left;
    } cases[] = {
        {1, "{ \"b\":2,\n\"c\":3 }"},
        {2, "{ \"a\" : 1 , \"c\":3 }"},
        {4, "{ \"a\" : 1 , \"b\":2 }"},
        {3, "{ \"c\":3 }"},
        {5, "{ \"b\":2 }"},
        {6, "{ \"a\" : 1  }"},
        {7, "{  }"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int backwards = 0; backwards < 2; backwards++) {
            struct fixture f;
            begin(&f, body);
            for (uint32_t j = 0; j < 3; j++) {
                uint32_t member = backwards ? 2 - j : j;
                if (cases[i].removed >> member & 1)
                    OK(sr_edits_remove(f.edits, member));
            }
            end(&f, cases[i].left);
        }
    struct fixture f;
    begin(&f, "{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}");
    OK(sr_edits_remove(f.edits, 2));
    end(&f, "{\"b\":2,\"c\":4}");
    begin(&f, "{\"messages\":[{},{\"role\":1} , {}]}");
    OK(sr_edits_remove(f.edits, span_of(&f, ID_MESSAGE, 2)));
    OK(sr_edits_remove(f.edits, span_of(&f, ID_ROLE, 0)));
    end(&f, "{\"messages\":[{},{} ]}");
}

static void sets_members(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{\"model\":1 \n}");
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("model"), SR_LIT("2")));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("new \"key\"\n"), SR_LIT("3")));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("z"), SR_LIT("4")));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("new \"key\"\n"), SR_LIT("5")));
    end(&f, "{\"model\":2,\"new \\\"key\\\"\\n\":5,\"z\":4 \n}");
    begin(&f, "{ }\n");
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("a"), SR_LIT("1")));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("b"), SR_LIT("2")));
    end(&f, "{\"a\":1,\"b\":2 }\n");
    /* What is removed leaves no comma for what is appended. */
    begin(&f, "{\"a\":1,\"b\":2}");
    OK(sr_edits_remove(f.edits, 0));
    OK(sr_edits_remove(f.edits, 1));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("c"), SR_LIT("3")));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("d"), SR_LIT("4")));
    end(&f, "{\"c\":3,\"d\":4}");
    begin(&f, "{\"a\":1,\"b\":2}");
    OK(sr_edits_remove(f.edits, 1));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("c"), SR_LIT("3")));
    end(&f, "{\"a\":1,\"c\":3}");
    /* The later of two wishes about one member counts. */
    begin(&f, "{\"a\":1,\"b\":2}");
    OK(sr_edits_remove(f.edits, 1));
    OK(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("b"), SR_LIT("3")));
    end(&f, "{\"a\":1,\"b\":3}");
    begin(&f, "{\"a\":1,\"b\":2}");
    OK(sr_edits_replace(f.edits, 1, SR_LIT("3")));
    OK(sr_edits_remove(f.edits, 1));
    end(&f, "{\"a\":1}");
}

static void sets_members_of_recorded_objects(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{\"stream_options\":{\"include_usage\":false},\"metadata\":{}}");
    OK(sr_edits_set_member(f.edits, span_of(&f, ID_OPTIONS, 0), SR_LIT("include_usage"), SR_LIT("true")));
    OK(sr_edits_set_member(f.edits, span_of(&f, ID_METADATA, 0), SR_LIT("k"), SR_LIT("1")));
    end(&f, "{\"stream_options\":{\"include_usage\":true},\"metadata\":{\"k\":1}}");
    /* Every occurrence of the object, where it is one. */
    begin(&f, "{\"stream_options\":{ },\"stream_options\":null,\"stream_options\":{\"x\":1}}");
    OK(sr_edits_set_member(f.edits, span_of(&f, ID_OPTIONS, 2), SR_LIT("include_usage"), SR_LIT("true")));
    end(&f, "{\"stream_options\":{\"include_usage\":true },\"stream_options\":null,"
            "\"stream_options\":{\"x\":1,\"include_usage\":true}}");
    /* A recorded grandchild is not the object's own member. */
    begin(&f, "{\"tools\":[{\"function\":{\"name\":1}}],\"messages\":[{\"role\":1}]}");
    OK(sr_edits_set_member(f.edits, span_of(&f, ID_MESSAGE, 0), SR_LIT("name"), SR_LIT("2")));
    end(&f, "{\"tools\":[{\"function\":{\"name\":1}}],\"messages\":[{\"role\":1,\"name\":2}]}");
    static const struct sr_path_spec specs[] = {{"a.b.c", 1}, {"a.d", 2}};
    struct sr_paths *table;
    OK(sr_paths_new(&table, specs, 2, NULL));
    f.body = SR_LIT("{\"a\":{\"b\":{\"c\":1},\"d\":2}}");
    scan_whole(&f.s, table, f.body);
    OK(sr_edits_new(&f.edits, f.body, f.s.spans, f.s.n, f.s.root_open, 8, &f.s.arena));
    OK(sr_edits_set_member(f.edits, 0, SR_LIT("c"), SR_LIT("3")));
    OK(sr_edits_set_member(f.edits, 0, SR_LIT("d"), SR_LIT("4")));
    end(&f, "{\"a\":{\"b\":{\"c\":1},\"d\":4,\"c\":3}}");
    sr_paths_unref(table);
}

static void prepends_elements(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{\"messages\":[ {\"role\":1}]}");
    OK(sr_edits_prepend(f.edits, span_of(&f, ID_MESSAGES, 0), SR_LIT("{\"role\":2}")));
    OK(sr_edits_prepend(f.edits, span_of(&f, ID_MESSAGES, 0), SR_LIT("3")));
    end(&f, "{\"messages\":[{\"role\":2},3, {\"role\":1}]}");
    begin(&f, "{\"messages\":[ ]}");
    OK(sr_edits_prepend(f.edits, span_of(&f, ID_MESSAGES, 0), SR_LIT("1")));
    OK(sr_edits_prepend(f.edits, span_of(&f, ID_MESSAGES, 0), SR_LIT("2")));
    end(&f, "{\"messages\":[1,2 ]}");
    begin(&f, "{\"messages\":[{},{}]}");
    OK(sr_edits_remove(f.edits, span_of(&f, ID_MESSAGE, 0)));
    OK(sr_edits_remove(f.edits, span_of(&f, ID_MESSAGE, 1)));
    OK(sr_edits_prepend(f.edits, span_of(&f, ID_MESSAGES, 0), SR_LIT("1")));
    end(&f, "{\"messages\":[1]}");
}

static void conflicts_follow_the_rules(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{\"metadata\":{\"a\":1,\"b\":2}}");
    OK(sr_edits_replace(f.edits, span_of(&f, ID_META_ANY, 0), SR_LIT("9"))); /* inside: dropped */
    OK(sr_edits_set_member(f.edits, span_of(&f, ID_METADATA, 0), SR_LIT("c"), SR_LIT("3")));
    OK(sr_edits_remove(f.edits, span_of(&f, ID_META_ANY, 1)));
    OK(sr_edits_replace(f.edits, span_of(&f, ID_METADATA, 0), SR_LIT("null")));
    OK(sr_edits_range(f.edits, 0, 0, SR_LIT("1")));
    OK(sr_edits_range(f.edits, 0, 0, SR_LIT("2")));
    OK(sr_edits_range(f.edits, 12, 12, SR_LIT("<"))); /* at the borders of a replacement: kept */
    OK(sr_edits_range(f.edits, 25, 25, SR_LIT(">")));
    end(&f, "12{\"metadata\":<null>}");
    f.body = SR_LIT("[0123456789]");
    sr_arena_init(&f.s.arena, 1 << 20);
    OK(sr_edits_new(&f.edits, f.body, NULL, 0, 0, 3, &f.s.arena));
    OK(sr_edits_range(f.edits, 2, 5, SR_LIT("a")));
    OK(sr_edits_range(f.edits, 2, 5, SR_LIT("b"))); /* the same range: the later one */
    OK(sr_edits_range(f.edits, 5, 7, SR_LIT("c"))); /* adjacent: both */
    assert_int_equal(sr_edits_count(f.edits), 3);
    assert_int_equal(sr_edits_range(f.edits, 0, 0, SR_LIT("")), SR_ELIMIT);
    end(&f, "[0bc6789]");
    sr_arena_init(&f.s.arena, 1 << 20);
    OK(sr_edits_new(&f.edits, f.body, NULL, 0, 0, 3, &f.s.arena));
    OK(sr_edits_range(f.edits, 2, 5, SR_LIT("a")));
    OK(sr_edits_range(f.edits, 4, 6, SR_LIT("b")));
    const struct sr_bytes *slices;
    size_t n, total;
    struct sr_err err = {0};
    assert_int_equal(sr_edits_render(f.edits, &slices, &n, &total, &err), SR_ECONFLICT);
    assert_int_equal(err.offset, 4);
    scanned_dispose(&f.s);
}

static void refuses_what_makes_no_sense(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "{\"model\":1,\"messages\":[]}");
    assert_int_equal(sr_edits_replace(f.edits, 99, SR_LIT("1")), SR_EINVAL);
    assert_int_equal(sr_edits_remove(f.edits, SR_SPAN_NONE), SR_EINVAL);
    assert_int_equal(sr_edits_prepend(f.edits, 0, SR_LIT("1")), SR_EINVAL);
    assert_int_equal(sr_edits_set_member(f.edits, 1, SR_LIT("a"), SR_LIT("1")), SR_EINVAL);
    assert_int_equal(sr_edits_range(f.edits, 5, 4, SR_LIT("")), SR_EINVAL);
    assert_int_equal(sr_edits_range(f.edits, 0, 99, SR_LIT("")), SR_EINVAL);
    end(&f, "{\"model\":1,\"messages\":[]}");
    begin(&f, "[]");
    assert_int_equal(sr_edits_set_member(f.edits, SR_SPAN_NONE, SR_LIT("a"), SR_LIT("1")), SR_EINVAL);
    end(&f, "[]");
    struct sr_span open = {.id = 1, .flags = SR_SPAN_OPEN, .parent = SR_SPAN_NONE};
    struct sr_arena arena;
    struct sr_edits *edits;
    sr_arena_init(&arena, 1 << 16);
    OK(sr_edits_new(&edits, SR_LIT("{\"a\":"), &open, 1, 1, 4, &arena));
    assert_int_equal(sr_edits_replace(edits, 0, SR_LIT("1")), SR_EINVAL);
    assert_int_equal(sr_edits_new(&edits, SR_LIT("{}"), NULL, 0, 3, 4, &arena), SR_EINVAL);
    sr_arena_dispose(&arena);
    sr_arena_init(&arena, 0);
    assert_int_equal(sr_edits_new(&edits, SR_LIT("{}"), NULL, 0, 1, 4, &arena), SR_ENOMEM);
}

/* Scans and edits with the `nth` allocation failing; the first error that comes of it. */
static int scan_and_edit(size_t nth, struct sr_bytes body)
{
    struct sr_arena arena;
    struct sr_scan *scan;
    struct sr_edits *edits;
    const struct sr_bytes *slices;
    size_t n, total;
    sr_arena_init(&arena, 1 << 20);
    sr_mem_fail_at(nth);
    int rc = sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, body.p, body.n, NULL);
    if (rc == SR_OK) {
        const struct sr_span *spans = sr_scan_spans(scan, &n);
        rc = sr_edits_new(&edits, body, spans, n, sr_scan_root_open(scan), 1000, &arena);
    }
    for (int i = 0; i < 300 && rc == SR_OK; i++) {
        char key[16];
        snprintf(key, sizeof key, "key\n%d", i);
        rc = sr_edits_set_member(edits, SR_SPAN_NONE, sr_bytes_str(key), SR_LIT("1"));
    }
    if (rc == SR_OK)
        rc = sr_edits_render(edits, &slices, &n, &total, NULL);
    sr_mem_fail_at(0);
    sr_arena_dispose(&arena);
    return rc;
}

static void allocations_may_fail(void **state)
{
    (void)state;
    struct sr_buf body;
    sr_buf_init(&body, 1 << 20);
    OK(sr_buf_printf(&body, "{\"mod\\u0065l\":1"));
    for (int i = 0; i < 500; i++)
        OK(sr_buf_printf(&body, ",\"m%d\":[]", i));
    OK(sr_buf_printf(&body, ",\"model\":2}"));
    size_t nth = 1;
    int rc;
    while ((rc = scan_and_edit(nth, sr_buf_view(&body))) != SR_OK) {
        assert_int_equal(rc, SR_ENOMEM);
        nth++;
    }
    assert_true(nth > 4);
    sr_buf_dispose(&body);
}

/* ---- properties ---- */

/* One random edit of a top-level member or of metadata, on the bytes and on jansson's tree. */
static void random_edit(struct gen *g, struct fixture *f, json_t *root)
{
    static const char *const names[] = {"model", "stream", "fresh", "metadata", "other", "k3"};
    static const char *const values[] = {"null", "\"v\"", "[1,{\"a\":2}]", "{}", "-1.5"};
    const char *name = names[gen_below(g, 6)], *value = values[gen_below(g, 5)];
    struct sr_bytes json = sr_bytes_str(value);
    json_t *parsed = json_loads(value, JSON_DECODE_ANY, NULL);
    switch (gen_below(g, 4)) {
    case 0:
        OK(sr_edits_set_member(f->edits, SR_SPAN_NONE, sr_bytes_str(name), json));
        json_object_set(root, name, parsed);
        break;
    case 1:
    case 2:
        if (f->s.n) {
            uint32_t i = gen_below(g, (uint32_t)f->s.n);
            const struct sr_span *span = &f->s.spans[i];
            if (span->parent == SR_SPAN_NONE) {
                struct sr_bytes key = sr_json_unescape(
                    sr_bytes_of(f->body.p + span->key_start + 1, span->key_end - span->key_start - 2),
                    &f->s.arena);
                bool replaces = gen_below(g, 2);
                OK(replaces ? sr_edits_replace(f->edits, i, json) : sr_edits_remove(f->edits, i));
                if (replaces)
                    json_object_setn(root, key.p, key.n, parsed);
                else
                    json_object_deln(root, key.p, key.n);
            }
        }
        break;
    default:
        for (size_t i = 0; i < f->s.n; i++)
            if (f->s.spans[i].id == ID_MESSAGES && f->s.spans[i].kind == SR_JSON_ARRAY) {
                json_t *messages = json_object_get(root, "messages");
                /* Only when no earlier edit replaced the array: then the outer one wins. */
                if (json_array_size(messages) && json_is_object(json_array_get(messages, 0))) {
                    OK(sr_edits_prepend(f->edits, (uint32_t)i, SR_LIT("{\"p\":1}")));
                    json_t *added = json_loads("{\"p\":1}", 0, NULL);
                    size_t at = 0; /* after what was put in front before */
                    while (json_object_get(json_array_get(messages, at), "p"))
                        at++;
                    json_array_insert_new(messages, at, added);
                }
            }
    }
    json_decref(parsed);
}

/* Every slice that comes from the body is in order, and all bytes outside of edits are there. */
static void check_slices(const struct fixture *f, const struct sr_bytes *slices, size_t n)
{
    const char *at = f->body.p;
    for (size_t i = 0; i < n; i++) {
        if (slices[i].p < f->body.p || slices[i].p >= f->body.p + f->body.n)
            continue;
        assert_true(slices[i].p >= at);
        at = slices[i].p + slices[i].n;
    }
    assert_true(at <= f->body.p + f->body.n);
}

static void random_edits_match_the_tree(void **state)
{
    (void)state;
    struct gen g = {.rng = UINT64_C(0x5EED5B11CE), .unique = true, .plain = true};
    size_t done = 0;
    sr_buf_init(&g.out, 16 << 20);
    for (int i = 0; i < DOCUMENTS; i++) {
        uint64_t seed = g.rng;
        gen_document(&g);
        struct fixture f = {.body = sr_buf_view(&g.out)};
        json_t *root = json_loadb(f.body.p, f.body.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(root)) {
            json_decref(root);
            continue;
        }
        scan_whole(&f.s, paths, f.body);
        OK(sr_edits_new(&f.edits, f.body, f.s.spans, f.s.n, f.s.root_open, 64, &f.s.arena));
        for (uint32_t n = gen_below(&g, 7); n; n--)
            random_edit(&g, &f, root);
        const struct sr_bytes *slices;
        size_t n, total;
        OK(sr_edits_render(f.edits, &slices, &n, &total, NULL));
        check_slices(&f, slices, n);
        struct sr_bytes out = join(slices, n, total, &f.s.arena);
        json_error_t error;
        json_t *got = json_loadb(out.p, out.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
        if (!got || !json_equal(got, root))
            fail_msg("document %d, state %016llx: %.*s\nbecame %s", i, (unsigned long long)seed,
                     (int)f.body.n, f.body.p, out.p);
        json_decref(got);
        json_decref(root);
        scanned_dispose(&f.s);
        done++;
    }
    print_message("%zu documents edited, seed 0x5eed5b11ce\n", done);
    assert_true(done > DOCUMENTS / 2);
    sr_buf_dispose(&g.out);
}

/* Members of every kind removed at random, in documents with duplicates: still JSON, and what is left is what
 * the tree has left. */
static void random_removals_keep_json_valid(void **state)
{
    (void)state;
    struct gen g = {.rng = UINT64_C(0xC0FFEE)};
    sr_buf_init(&g.out, 16 << 20);
    for (int i = 0; i < DOCUMENTS; i++) {
        gen_document(&g);
        struct fixture f = {.body = sr_buf_view(&g.out)};
        scan_whole(&f.s, paths, f.body);
        if (f.s.rc == SR_OK) {
            OK(sr_edits_new(&f.edits, f.body, f.s.spans, f.s.n, f.s.root_open, 4096, &f.s.arena));
            for (uint32_t n = 0; n < f.s.n; n++)
                if (gen_below(&g, 3) == 0)
                    OK(sr_edits_remove(f.edits, n));
                else if (f.s.spans[n].kind == SR_JSON_OBJECT && gen_below(&g, 3) == 0)
                    OK(sr_edits_set_member(f.edits, n, SR_LIT("role"), SR_LIT("[0]")));
                else if (f.s.spans[n].kind == SR_JSON_ARRAY && gen_below(&g, 2))
                    OK(sr_edits_prepend(f.edits, n, SR_LIT("{}")));
            struct sr_bytes out = render(f.edits, &f.s.arena);
            struct scanned again;
            scan_whole(&again, paths, out);
            if (again.rc)
                fail_msg("document %d: %.*s\nbecame %s: %s", i, (int)f.body.n, f.body.p, out.p,
                         again.err.message);
            scanned_dispose(&again);
        }
        scanned_dispose(&f.s);
    }
    sr_buf_dispose(&g.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(replaces_values),
        cmocka_unit_test(removes_members_with_one_comma),
        cmocka_unit_test(sets_members),
        cmocka_unit_test(sets_members_of_recorded_objects),
        cmocka_unit_test(prepends_elements),
        cmocka_unit_test(conflicts_follow_the_rules),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(random_edits_match_the_tree),
        cmocka_unit_test(random_removals_keep_json_valid),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

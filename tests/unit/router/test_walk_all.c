/* Every position of every request: a text at any path of any table, beside it, or where no table reaches, is
 * given to the signals; nothing is given twice. */
#include "dialect/registry.h"
#include "router/request/walk.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT "say what no id is"

struct kit {
    struct sr_dialect_paths *paths;
    struct sr_arena arena;
    struct sr_request doc;
};

static void open_doc(struct kit *kit, const struct sr_dialect_ops *dialect, struct sr_bytes body)
{
    struct sr_scan *scan;
    struct sr_err err = {0};
    sr_arena_init(&kit->arena, 8 << 20);
    assert_int_equal(sr_scan_new(&scan, sr_dialect_request_paths(kit->paths, dialect),
                                 sr_scan_limits_defaults(), &kit->arena),
                     SR_OK);
    if (sr_scan_feed(scan, body.p, body.n, &err) != SR_OK)
        fail_msg("%s: %.*s", err.message, (int)body.n, body.p);
    kit->doc = (struct sr_request){.dialect = dialect, .body = body};
    kit->doc.spans = sr_scan_spans(scan, &kit->doc.n_spans);
    sr_request_index(&kit->doc);
}

/* How often the walk gives a string that contains `text`. */
static size_t times_given(struct kit *kit, const struct sr_dialect_ops *dialect, const char *body,
                          const char *text)
{
    struct sr_walk walk;
    struct sr_walk_string string;
    size_t n = 0, end = 0;
    open_doc(kit, dialect, sr_bytes_str(body));
    sr_walk_begin(&walk, &kit->doc);
    while (sr_walk_next(&walk, &string)) {
        assert_true(string.start >= end && string.end > string.start);
        end = string.end;
        assert_true(string.group < kit->doc.n_spans);
        n += sr_bytes_contains(sr_bytes_of(body + string.start, string.end - string.start),
                               sr_bytes_str(text));
    }
    sr_arena_dispose(&kit->arena);
    return n;
}

/* Writes a body with `value` at `path`: "a[].b" gives {"a":[{"b":value}]}. */
static void write_body(char *out, size_t size, const char *path, const char *value)
{
    char closing[64] = "";
    size_t n = 0, depth = 0;
    for (const char *p = path; *p;) {
        if (*p == '[') {
            n += (size_t)snprintf(out + n, size - n, "[");
            closing[depth++] = ']';
            p += 2;
        } else {
            size_t name = strcspn(p, ".[");
            n += (size_t)snprintf(out + n, size - n, "{\"%.*s\":", (int)name, p);
            closing[depth++] = '}';
            p += name;
        }
        p += *p == '.';
    }
    n += (size_t)snprintf(out + n, size - n, "%s", value);
    while (depth)
        n += (size_t)snprintf(out + n, size - n, "%c", closing[--depth]);
    assert_true(n < size);
}

static const char *const values[] = {
    "\"" TEXT "\"",
    "[\"" TEXT "\"]",
    "[1,[\"" TEXT "\"]]",
    "{\"type\":\"" TEXT "\"}",
    "{\"a\":{\"b\":[{\"c\":\"" TEXT "\"}]}}",
    "{\"" TEXT "\":1}",
    "{\"a\":[],\"" TEXT "\":{}}",
    "[{\"url\":\"data:image/png;base64," TEXT "\"}]",
    "{\"data\":\"" TEXT "\",\"id\":\"call_1\"}",
};

static void test_every_path(void **state)
{
    struct kit kit = {.paths = *state};
    const struct sr_dialect_ops *dialect;
    char body[1024];
    for (size_t i = 0; (dialect = sr_dialect_number(i)); i++)
        for (size_t k = 0; k < dialect->request.n; k++) {
            const struct sr_path_spec *row = &dialect->request.specs[k];
            for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
                write_body(body, sizeof body, row->path, values[v]);
                size_t wanted = row->id == SR_AT_MODEL ? 0 : 1, got = times_given(&kit, dialect, body, TEXT);
                if (got != wanted)
                    fail_msg("%s, %s: given %zu times: %s", dialect->name, row->path, got, body);
            }
        }
}

/* A member that no table names, in every object that a table enters. */
static void test_beside_every_path(void **state)
{
    struct kit kit = {.paths = *state};
    const struct sr_dialect_ops *dialect;
    char body[1024], path[256];
    for (size_t i = 0; (dialect = sr_dialect_number(i)); i++)
        for (size_t k = 0; k < dialect->request.n; k++)
            for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
                snprintf(path, sizeof path, "%s", dialect->request.specs[k].path);
                char *last = strrchr(path, '.');
                snprintf(last ? last + 1 : path, sizeof path - (last ? (size_t)(last + 1 - path) : 0),
                         "unheard");
                write_body(body, sizeof body, path, values[v]);
                if (times_given(&kit, dialect, body, TEXT) != 1)
                    fail_msg("%s: not given: %s", dialect->name, body);
            }
}

/* The same text in a message's part, as deep as the scanner allows, and in the key of the deepest object. */
static void test_depth(void **state)
{
    struct kit kit = {.paths = *state};
    static char body[1024];
    size_t n = (size_t)snprintf(body, sizeof body, "{\"messages\":[{\"content\":[{\"x\":");
    for (int i = 0; i < 60; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "[{\"\":");
    n += (size_t)snprintf(body + n, sizeof body - n, "{\"" TEXT "\":\"" TEXT "\"}");
    for (int i = 0; i < 60; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "}]");
    snprintf(body + n, sizeof body - n, "}]}]}");
    assert_int_equal(times_given(&kit, &sr_dialect_chat, body, TEXT), 2);
}

/* Past the limit of strings all others are unread. */
static void test_limit(void **state)
{
    struct kit kit = {.paths = *state};
    size_t n = 0, size = ((size_t)SR_WALK_STRINGS_MAX + 64) * 6;
    char *body = malloc(size);
    struct sr_walk walk;
    struct sr_walk_string string;
    assert_non_null(body);
    n += (size_t)snprintf(body, size, "{\"x\":[\"aa\"");
    for (size_t i = 0; i < SR_WALK_STRINGS_MAX + 6; i++)
        n += (size_t)snprintf(body + n, size - n, ",\"aa\"");
    n += (size_t)snprintf(body + n, size - n, "]}");
    open_doc(&kit, &sr_dialect_chat, sr_bytes_of(body, n));
    sr_walk_begin(&walk, &kit.doc);
    for (n = 0; sr_walk_next(&walk, &string);)
        n++;
    assert_int_equal(n, SR_WALK_STRINGS_MAX);
    assert_int_equal(walk.unread.of[SR_UNREAD_LIMIT].parts, 8); /* the key `x` was given too */
    sr_arena_dispose(&kit.arena);
    free(body);
}

static int setup(void **state)
{
    struct sr_dialect_paths *paths;
    int rc = sr_dialect_paths_new(&paths, NULL);
    *state = paths;
    return rc;
}

static int teardown(void **state)
{
    sr_dialect_paths_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_path),
        cmocka_unit_test(test_beside_every_path),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* The walk over a request's texts: what is text, which role it has, and how much of it has arrived. */
#include "dialect/registry.h"
#include "router/request/walk.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

struct kit {
    struct sr_dialect_paths *paths;
    struct sr_arena arena;
    struct sr_request doc;
};

/* Reads a body, or the beginning of one. */
static void open_doc(struct kit *kit, const struct sr_dialect_ops *dialect, const char *body)
{
    struct sr_scan *scan;
    memset(kit, 0, sizeof *kit);
    sr_arena_init(&kit->arena, 1 << 20);
    assert_int_equal(sr_dialect_paths_new(&kit->paths, NULL), SR_OK);
    assert_int_equal(sr_scan_new(&scan, sr_dialect_request_paths(kit->paths, dialect),
                                 sr_scan_limits_defaults(), &kit->arena),
                     SR_OK);
    int rc = sr_scan_feed(scan, body, strlen(body), NULL);
    assert_true(rc == SR_OK || rc == SR_MORE);
    kit->doc.dialect = dialect;
    kit->doc.body = sr_bytes_str(body);
    kit->doc.spans = sr_scan_spans(scan, &kit->doc.n_spans);
}

static void close_doc(struct kit *kit)
{
    sr_arena_dispose(&kit->arena);
    sr_dialect_paths_free(kit->paths);
}

static size_t count(const struct sr_request *doc, enum sr_texts which)
{
    size_t n = 0;
    for (size_t i = 0; (i = sr_walk_text(doc, i, SIZE_MAX, which)) < doc->n_spans; i++)
        n++;
    return n;
}

static void test_texts(void **state)
{
    struct kit kit;
    (void)state;
    open_doc(&kit, &sr_dialect_chat,
             "{\"model\":\"m\",\"x\":\"y\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
             "{\"content\":[{\"type\":\"text\",\"text\":\"b\"},\"c\"],\"refusal\":\"d\",\"tool_calls\":"
             "[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"content\":7}],\"user\":\"u\","
             "\"tools\":[{\"function\":{\"name\":\"f\",\"description\":\"e\"}}]}");
    assert_int_equal(count(&kit.doc, SR_TEXTS_CONTENT), 2);
    assert_int_equal(count(&kit.doc, SR_TEXTS_JUDGED), 4);
    close_doc(&kit);
    open_doc(&kit, &sr_dialect_other,
             "{\"input\":[\"a\",{\"content\":[{\"text\":\"b\"}],\"output\":\"c\"}],\"instructions\":\"d\"}");
    assert_int_equal(count(&kit.doc, SR_TEXTS_CONTENT), 4);
    assert_int_equal(count(&kit.doc, SR_TEXTS_JUDGED), 4);
    close_doc(&kit);
}

static void test_roles(void **state)
{
    static const struct {
        const char *role;
        enum sr_signal_role wanted;
    } cases[] = {
        {"\"user\"", SR_ROLE_USER},
        {"\"\\u0075ser\"", SR_ROLE_USER},
        {"\"assistant\"", SR_ROLE_ASSISTANT},
        {"\"tool\"", SR_ROLE_TOOL},
        {"\"function\"", SR_ROLE_TOOL},
        {"\"system\"", SR_ROLE_SYSTEM},
        {"\"\\u0064\\u0065\\u0076\\u0065\\u006c\\u006f\\u0070\\u0065\\u0072\"", SR_ROLE_SYSTEM},
        {"\"User\"", SR_ROLE_OTHER},
        {"\"\"", SR_ROLE_OTHER},
        {"7", SR_ROLE_OTHER},
        {"\"a role whose name is longer than any role that there is, by far, by very far\"", SR_ROLE_OTHER},
    };
    struct kit kit;
    char body[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(body, sizeof body, "{\"messages\":[{\"content\":\"x\",\"role\":%s}]}", cases[i].role);
        open_doc(&kit, &sr_dialect_chat, body);
        size_t message = sr_walk_message(&kit.doc, 0);
        assert_int_equal(sr_walk_role(&kit.doc, message), cases[i].wanted);
        assert_int_equal(kit.doc.spans[sr_walk_content(&kit.doc, message)].id, SR_AT_CONTENT);
        assert_int_equal(sr_walk_message(&kit.doc, message + 1), kit.doc.n_spans);
        close_doc(&kit);
    }
}

/* A message that is still arriving has the role that has arrived. */
static void test_arriving(void **state)
{
    struct kit kit;
    (void)state;
    open_doc(&kit, &sr_dialect_chat, "{\"messages\":[{\"role\":\"us");
    assert_int_equal(sr_walk_role(&kit.doc, sr_walk_message(&kit.doc, 0)), SR_ROLE_OTHER);
    close_doc(&kit);
    open_doc(&kit, &sr_dialect_chat, "{\"messages\":[{\"role\":\"user\",\"cont");
    size_t message = sr_walk_message(&kit.doc, 0);
    assert_int_equal(sr_walk_role(&kit.doc, message), SR_ROLE_USER);
    assert_int_equal(sr_walk_content(&kit.doc, message), SR_SPAN_NONE);
    close_doc(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_arriving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The document wrapper: reading, looking up, writing. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "tests/unit/doc_path.h"
#include "json/doc.h"

static struct sr_doc *parse(const char *text)
{
    struct sr_doc *doc;
    struct sr_err err = {0};
    if (sr_doc_parse(&doc, sr_bytes_str(text), 1 << 20, &err))
        fail_msg("%s: %s", text, err.message);
    return doc;
}

static void reads_values(void **state)
{
    (void)state;
    struct sr_doc *doc = parse("{\"usage\":{\"total_tokens\":42,\"cost\":0.5},\"ok\":true,\"no\":null,"
                               "\"s\":\"a\\u0000b\",\"list\":[1,\"two\",{}],\"big\":9223372036854775807}");
    const sr_doc_value *root = sr_doc_root(doc);
    int64_t n = -1;
    double d = 0;
    assert_int_equal(sr_doc_kind(root), SR_JSON_OBJECT);
    assert_int_equal(sr_doc_size(root), 6);
    assert_true(sr_doc_int(doc_path(root, "usage.total_tokens"), &n));
    assert_int_equal(n, 42);
    assert_true(sr_doc_int(sr_doc_get(root, "big"), &n));
    assert_true(n == INT64_MAX);
    assert_false(sr_doc_int(doc_path(root, "usage.cost"), &n));
    assert_true(sr_doc_number(doc_path(root, "usage.cost"), &d));
    assert_true(d == 0.5);
    assert_true(sr_doc_number(doc_path(root, "usage.total_tokens"), &d));
    assert_false(sr_doc_number(sr_doc_get(root, "s"), &d));
    assert_true(sr_doc_is_true(sr_doc_get(root, "ok")));
    assert_false(sr_doc_is_true(sr_doc_get(root, "no")));
    assert_int_equal(sr_doc_kind(sr_doc_get(root, "no")), SR_JSON_NULL);
    struct sr_bytes s = sr_doc_string(sr_doc_get(root, "s"));
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b", 3);
    const sr_doc_value *list = sr_doc_get(root, "list");
    assert_int_equal(sr_doc_kind(list), SR_JSON_ARRAY);
    assert_int_equal(sr_doc_size(list), 3);
    assert_int_equal(sr_doc_kind(sr_doc_at(list, 2)), SR_JSON_OBJECT);
    assert_null(sr_doc_at(list, 3));
    sr_doc_free(doc);
}

static void what_is_not_there_is_null(void **state)
{
    (void)state;
    struct sr_doc *doc = parse("[false]");
    const sr_doc_value *root = sr_doc_root(doc);
    int64_t n;
    assert_null(sr_doc_get(root, "a"));
    assert_null(doc_path(root, "a.b.c"));
    assert_null(doc_path(NULL, "a"));
    assert_int_equal(sr_doc_kind(NULL), -1);
    assert_int_equal(sr_doc_kind(sr_doc_at(root, 0)), SR_JSON_FALSE);
    assert_int_equal(sr_doc_size(NULL), 0);
    assert_null(sr_doc_string(root).p);
    assert_false(sr_doc_int(NULL, &n));
    struct sr_buf buf;
    sr_buf_init(&buf, 100);
    assert_int_equal(sr_doc_dump(NULL, &buf), SR_EINVAL);
    sr_doc_free(doc);
    sr_doc_free(NULL);
}

static void dumps_in_order(void **state)
{
    (void)state;
    struct sr_doc *doc = parse(" { \"z\" : 1 , \"a\":[ ], \"z\":\"\xC3\xA9\" } ");
    struct sr_buf buf;
    assert_int_equal(sr_doc_kind(sr_doc_get(sr_doc_root(doc), "z")),
                     SR_JSON_STRING); /* of two the last counts */
    sr_buf_init(&buf, 100);
    assert_int_equal(sr_doc_dump(sr_doc_root(doc), &buf), SR_OK);
    assert_string_equal(buf.data, "{\"z\":\"\xC3\xA9\",\"a\":[]}");
    sr_buf_dispose(&buf);
    sr_buf_init(&buf, 10);
    assert_int_equal(sr_doc_dump(sr_doc_root(doc), &buf), SR_ELIMIT);
    sr_buf_dispose(&buf);
    sr_doc_free(doc);
}

static void errors_say_where(void **state)
{
    (void)state;
    struct sr_doc *doc;
    struct sr_err err = {0};
    assert_int_equal(sr_doc_parse(&doc, SR_LIT("{\n  \"secret\": \"s3cr3t\" x}"), 1000, &err), SR_EPARSE);
    assert_null(doc);
    assert_int_equal(err.line, 2);
    assert_true(err.column > 0 && err.offset > 0);
    assert_null(strstr(err.message, "s3cr3t")); /* no text of users in messages */
    assert_int_equal(sr_doc_parse(&doc, SR_LIT(""), 1000, &err), SR_EPARSE);
    assert_int_equal(sr_doc_parse(&doc, SR_LIT("[1,2,3]"), 6, &err), SR_ELIMIT);
    assert_string_equal(err.message, "the document is larger than 6 bytes");
    sr_mem_fail_at(1);
    int rc = sr_doc_parse(&doc, SR_LIT("1"), 6, &err);
    sr_mem_fail_at(0);
    assert_int_equal(rc, SR_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_values),
        cmocka_unit_test(what_is_not_there_is_null),
        cmocka_unit_test(dumps_in_order),
        cmocka_unit_test(errors_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

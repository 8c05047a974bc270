/* The JSON writer: commas, escapes, numbers, and the first failure that stays. */
#include "tests/unit/cmocka_all.h"

#include "base/json_write.h"

#include <math.h>

struct scene {
    struct sr_buf out;
    struct sr_json_writer w;
};

static void begin(struct scene *s, size_t max)
{
    sr_buf_init(&s->out, max);
    s->w = sr_json_writer_of(&s->out);
}

static void assert_written(struct scene *s, const char *expected)
{
    assert_int_equal(s->w.rc, SR_OK);
    assert_string_equal(s->out.data, expected);
    sr_buf_dispose(&s->out);
}

static void test_members_and_elements(void **state)
{
    (void)state;
    struct scene s;
    begin(&s, 1024);
    sr_json_object(&s.w, NULL);
    sr_json_array(&s.w, "empty");
    sr_json_array_end(&s.w);
    sr_json_array(&s.w, "mixed");
    sr_json_uint(&s.w, NULL, UINT64_MAX);
    sr_json_int(&s.w, NULL, INT64_MIN);
    sr_json_bool(&s.w, NULL, true);
    sr_json_object(&s.w, NULL);
    sr_json_null(&s.w, "a");
    sr_json_text(&s.w, "b", NULL);
    sr_json_object_end(&s.w);
    sr_json_object(&s.w, NULL);
    sr_json_object_end(&s.w);
    sr_json_array_end(&s.w);
    sr_json_raw(&s.w, "raw", SR_LIT("[1,2]"));
    sr_json_object_end(&s.w);
    assert_written(&s, "{\"empty\":[],\"mixed\":[18446744073709551615,-9223372036854775808,true,"
                       "{\"a\":null,\"b\":null},{}],\"raw\":[1,2]}");
}

static void test_lines(void **state)
{
    (void)state;
    struct scene s;
    begin(&s, 1024);
    sr_json_object(&s.w, NULL);
    sr_json_line(&s.w, 2);
    sr_json_uint(&s.w, "a", 1);
    sr_json_line(&s.w, 0);
    sr_json_array(&s.w, "b");
    sr_json_uint(&s.w, NULL, 2);
    sr_json_uint(&s.w, NULL, 3);
    sr_json_array_end(&s.w);
    sr_json_object_end(&s.w);
    assert_written(&s, "{\n  \"a\":1,\n\"b\":[2,3]}");
}

static void test_numbers(void **state)
{
    (void)state;
    struct scene s;
    begin(&s, 4096);
    sr_json_array(&s.w, NULL);
    sr_json_real(&s.w, NULL, "%.3f", 0.5);
    sr_json_real(&s.w, NULL, "%.6g", 1e300);
    sr_json_real(&s.w, NULL, "%.6f", (double)NAN);
    sr_json_real(&s.w, NULL, "%.6f", (double)-INFINITY);
    sr_json_uint(&s.w, NULL, 0);
    sr_json_array_end(&s.w);
    assert_written(&s, "[0.500,1e+300,null,null,0]");
}

static void test_strings(void **state)
{
    (void)state;
    struct scene s;
    begin(&s, 1024);
    sr_json_object(&s.w, NULL);
    sr_json_text(&s.w, "a", "\"\\/\n\x01\x7F");
    sr_json_bytes(&s.w, "b", SR_LIT("\xC3\xA9\xFF\xE2\x82"));
    sr_json_name(&s.w, SR_LIT("q\"q"));
    sr_json_text(&s.w, NULL, "");
    sr_json_string(&s.w, "parts");
    sr_json_string_part(&s.w, SR_LIT("one "));
    sr_json_string_part(&s.w, SR_LIT("\t"));
    sr_json_string_end(&s.w);
    sr_json_object_end(&s.w);
    assert_written(
        &s, "{\"a\":\"\\\"\\\\/\\n\\u0001\\u007f\",\"b\":\"\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\","
            "\"q\\\"q\":\"\",\"parts\":\"one \\t\"}");
}

static void test_the_first_failure_stays(void **state)
{
    (void)state;
    struct scene s;
    begin(&s, 8);
    sr_json_object(&s.w, NULL);
    sr_json_text(&s.w, "long", "more than fits");
    assert_int_equal(s.w.rc, SR_ELIMIT);
    size_t length = s.out.len;
    sr_json_object_end(&s.w);
    assert_int_equal(s.w.rc, SR_ELIMIT);
    assert_int_equal(s.out.len, length);
    sr_buf_dispose(&s.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_and_elements),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_the_first_failure_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

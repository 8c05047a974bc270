/* Stored responses: their records, keys, pages, and the input of the next turn. */
#include "router/state/list.h"
#include "tests/unit/cmocka_all.h"

#define OUTPUT   "[{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"yes\"}]"
#define RESPONSE "{\"id\":\"resp_1\",\"output\":" OUTPUT ",\"previous_response_id\":null}"
#define ITEMS    "[{\"role\":\"user\",\"content\":\"one\"},{\"id\":\"msg_2\",\"role\":\"user\",\"content\":[]}]"

static const struct sr_stored_owner red = {
    .name = {"red", 3}, .user = {"", 0}, .model = "one", .now_ms = 1000, .ttl_ms = 500};

static struct sr_cache_record *written(const char *response, const char *input, int turns, int expected)
{
    struct sr_stored stored = {
        .response = sr_bytes_str(response), .input = sr_bytes_str(input), .turns = turns};
    struct sr_cache_record *record;
    assert_int_equal(sr_stored_write(&record, &stored, &red, 4096), expected);
    return record;
}

static void assert_text(struct sr_bytes got, const char *wanted)
{
    assert_int_equal(got.n, strlen(wanted));
    assert_memory_equal(got.p, wanted, got.n);
}

static void what_is_written_is_read(void **state)
{
    struct sr_cache_record *record = written(RESPONSE, ITEMS, 3, SR_OK);
    struct sr_stored stored;
    struct sr_cache_key key;
    (void)state;
    assert_int_equal(sr_stored_read(&stored, record), SR_OK);
    assert_text(stored.response, RESPONSE);
    assert_text(stored.input, ITEMS);
    assert_text(stored.output, OUTPUT);
    assert_int_equal(stored.turns, 3);
    assert_int_equal(record->f.expires_ms, 1500);
    assert_int_equal(sr_stored_key(SR_LIT("red"), SR_LIT("resp_1"), &key), SR_OK);
    assert_memory_equal(&key, &record->f.exact, sizeof key);
    sr_cache_record_unref(record);
}

static void a_withdrawn_id_has_no_response(void **state)
{
    struct sr_cache_record *record = written(RESPONSE, ITEMS, 3, SR_OK), *empty, *again;
    struct sr_stored stored;
    (void)state;
    assert_int_equal(sr_stored_withdraw(&empty, record), SR_OK);
    assert_int_equal(sr_stored_read(&stored, empty), SR_EPARSE);
    assert_memory_equal(&empty->f.exact, &record->f.exact, sizeof record->f.exact);
    assert_int_equal(empty->f.expires_ms, record->f.expires_ms);
    assert_int_equal(empty->f.answer.n, 0);
    assert_int_equal(sr_stored_withdraw(&again, empty), SR_OK);
    assert_int_equal(sr_stored_read(&stored, again), SR_EPARSE);
    sr_cache_record_unref(record);
    sr_cache_record_unref(empty);
    sr_cache_record_unref(again);
}

static void what_is_no_response_is_not_written(void **state)
{
    (void)state;
    assert_null(written("{\"id\":\"resp_1\"}", "[]", 1, SR_EPARSE));
    assert_null(written("{\"id\":7,\"output\":[]}", "[]", 1, SR_EPARSE));
    assert_null(written("{\"id\":\"\",\"output\":[]}", "[]", 1, SR_EINVAL));
    assert_null(written("[]", "[]", 1, SR_EPARSE));
    assert_null(written(RESPONSE, "{}", 1, SR_EPARSE));
    assert_null(written(RESPONSE, "[", 1, SR_EPARSE));
    char large[5000];
    memset(large, ' ', sizeof large);
    large[sizeof large - 1] = '\0';
    assert_null(written(RESPONSE, large, 1, SR_ELIMIT));
}

static void what_is_damaged_is_not_read(void **state)
{
    static const char *const heads[] = {"",      "1",      "1 1",    "2 1 2", "1 0 2", "1 1000001 2",
                                        "1 1 9", "1 1 2 ", "1 1 -1", "x 1 2"};
    struct sr_cache_record *record;
    struct sr_stored stored;
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct sr_cache_fields fields = {
            .form = SR_CACHE_JSON, .verdict = sr_bytes_str(heads[i]), .answer = SR_LIT("{}[]")};
        assert_int_equal(sr_cache_record_new(&record, &fields), SR_OK);
        assert_int_equal(sr_stored_read(&stored, record), SR_EPARSE);
        sr_cache_record_unref(record);
    }
}

static void keys_are_of_owner_and_id(void **state)
{
    struct sr_cache_key keys[4];
    char longest[SR_STORED_ID_MAX + 1];
    (void)state;
    memset(longest, 'x', sizeof longest);
    assert_int_equal(sr_stored_key(SR_LIT("a"), SR_LIT("bc"), &keys[0]), SR_OK);
    assert_int_equal(sr_stored_key(SR_LIT("ab"), SR_LIT("c"), &keys[1]), SR_OK);
    assert_int_equal(sr_stored_key(SR_LIT(""), SR_LIT("abc"), &keys[2]), SR_OK);
    assert_int_equal(sr_stored_key(SR_LIT("a"), SR_LIT("bd"), &keys[3]), SR_OK);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(&keys[i], &keys[k], sizeof keys[i]);
    assert_int_equal(sr_stored_key(SR_LIT("a"), SR_LIT(""), &keys[0]), SR_EINVAL);
    assert_int_equal(sr_stored_key(SR_LIT("a"), sr_bytes_of(longest, sizeof longest), &keys[0]), SR_EINVAL);
}

static void the_next_turn_has_all_items(void **state)
{
    static const char user[] = "{\"type\":\"message\",\"role\":\"user\",\"content\":\"next\"}";
    struct {
        const char *input, *own;
    } cases[] = {{"\"next\"", user}, {"[ 1, 2 ]", "1, 2"}, {"[]", NULL}, {"null", NULL}, {"", NULL}};
    struct sr_cache_record *record = written(RESPONSE, ITEMS, 1, SR_OK);
    struct sr_stored stored;
    struct sr_buf out, wanted;
    (void)state;
    sr_buf_init(&out, 4096);
    sr_buf_init(&wanted, 4096);
    assert_int_equal(sr_stored_read(&stored, record), SR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sr_buf_clear(&out);
        sr_buf_clear(&wanted);
        assert_int_equal(sr_stored_continue(&stored, sr_bytes_str(cases[i].input), &out), SR_OK);
        assert_int_equal(sr_buf_printf(&wanted, "%.*s,%.*s%s%s]", (int)sizeof ITEMS - 2, ITEMS,
                                       (int)sizeof OUTPUT - 3, &OUTPUT[1], cases[i].own ? "," : "",
                                       cases[i].own ? cases[i].own : ""),
                         SR_OK);
        assert_text(sr_buf_view(&out), wanted.data);
        sr_buf_clear(&out);
        assert_int_equal(sr_stored_items(sr_bytes_str(cases[i].input), &out), SR_OK);
        sr_buf_clear(&wanted);
        assert_int_equal(sr_buf_printf(&wanted, "[%s]", cases[i].own ? cases[i].own : ""), SR_OK);
        assert_text(sr_buf_view(&out), wanted.data);
    }
    assert_int_equal(sr_stored_continue(&stored, SR_LIT("7"), &out), SR_EINVAL);
    sr_cache_record_unref(record);
    sr_buf_dispose(&out);
    sr_buf_dispose(&wanted);
}

static void assert_page(const char *query, int rc, const char *wanted)
{
    struct sr_cache_record *record = written(RESPONSE, ITEMS, 1, SR_OK);
    struct sr_stored stored;
    struct sr_stored_page page;
    struct sr_arena arena;
    struct sr_buf out;
    sr_arena_init(&arena, 1 << 20);
    sr_buf_init(&out, 4096);
    assert_int_equal(sr_stored_read(&stored, record), SR_OK);
    assert_null(sr_stored_page_read(&page, sr_bytes_str(query)));
    assert_int_equal(sr_stored_list(&stored, &page, &arena, &out), rc);
    if (wanted)
        assert_non_null(strstr(out.data, wanted));
    sr_buf_dispose(&out);
    sr_arena_dispose(&arena);
    sr_cache_record_unref(record);
}

static void pages(void **state)
{
    struct sr_stored_page page;
    (void)state;
    assert_page(
        "", SR_OK,
        "\"data\":[{\"type\":\"message\",\"id\":\"msg_2\",\"role\":\"user\",\"content\":[]},{\"id\":\"msg_");
    assert_page(
        "?order=asc", SR_OK,
        "\"content\":[{\"type\":\"input_text\",\"text\":\"one\"}]},{\"type\":\"message\",\"id\":\"msg_2\"");
    assert_page("?limit=1", SR_OK, "\"first_id\":\"msg_2\",\"last_id\":\"msg_2\",\"has_more\":true}");
    assert_page("?after=msg_2&x&limit=1", SR_OK, "\"has_more\":false}");
    assert_page("?order=asc&after=msg_2", SR_OK,
                "\"data\":[],\"first_id\":null,\"last_id\":null,\"has_more\":false}");
    assert_page("?after=msg_3", SR_ENOENT, NULL);
    assert_string_equal(sr_stored_page_read(&page, SR_LIT("?limit=0")), "limit");
    assert_string_equal(sr_stored_page_read(&page, SR_LIT("?limit=101")), "limit");
    assert_string_equal(sr_stored_page_read(&page, SR_LIT("?order=")), "order");
}

static void the_response_before_is_named(void **state)
{
    struct sr_buf out;
    (void)state;
    sr_buf_init(&out, 4096);
    assert_int_equal(sr_stored_name_previous(SR_LIT(RESPONSE), SR_LIT("resp_0"), &out), SR_OK);
    assert_text(sr_buf_view(&out),
                "{\"id\":\"resp_1\",\"output\":" OUTPUT ",\"previous_response_id\":\"resp_0\"}");
    sr_buf_clear(&out);
    assert_int_equal(sr_stored_name_previous(SR_LIT("{\"a\":1}"), SR_LIT("resp_0"), &out), SR_OK);
    assert_text(sr_buf_view(&out), "{\"a\":1}");
    sr_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_withdrawn_id_has_no_response),
        cmocka_unit_test(what_is_no_response_is_not_written),
        cmocka_unit_test(what_is_damaged_is_not_read),
        cmocka_unit_test(keys_are_of_owner_and_id),
        cmocka_unit_test(the_next_turn_has_all_items),
        cmocka_unit_test(pages),
        cmocka_unit_test(the_response_before_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

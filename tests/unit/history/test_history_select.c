/* Queries of URLs, what passes them, pages, and sums. */
#include "tests/unit/history_kit.h"

#include "history/json.h"
#include "history/sums.h"

#include <math.h>
#include <stdlib.h>

static const char *const none[] = {NULL};
static const struct sr_history_words words = {none, none, 0, 0};

static struct sr_arena arena;

static int begin(void **state)
{
    (void)state;
    sr_arena_init(&arena, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sr_arena_dispose(&arena);
    return 0;
}

static struct sr_history_query read_query(const char *text)
{
    struct sr_history_query query;
    const char *why;
    if (!sr_history_query_read(&query, sr_bytes_str(text), &arena, &why))
        fail_msg("%s: %s", text, why);
    return query;
}

static void test_queries(void **state)
{
    static const char *const bad[] = {
        "limit=0",    "limit=-1",      "limit=x",        "offset=-1",
        "offset=",    "cache_status=", "model=%",        "model=%4",
        "model=%00",  "min_ms=a",      "per_second=0",   "per_second=1001",
        "max_ms=1.5", "%=1",           "per_second=1e2", "limit=99999999999999999999",
        "why=2",      "why=yes",       "showDetails=2",  "min_ms=2&max_ms=1"};
    struct sr_history_query q =
        read_query("model=a+b%2Fc&limit=500&offset=7&unknown=1&&showDetails=true&tenant");
    const char *why;
    (void)state;
    assert_true(sr_bytes_eq(q.filter.model, SR_LIT("a b/c")));
    assert_int_equal(q.limit, SR_HISTORY_PAGE_MAX);
    assert_int_equal(q.offset, 7);
    assert_true(q.details);
    assert_int_equal(read_query("").limit, SR_HISTORY_PAGE);
    assert_int_equal(read_query("cache_status=cached").filter.cache, SR_HISTORY_CACHE_CACHED);
    assert_int_equal(read_query("cache_status=all").filter.cache, SR_HISTORY_CACHE_ANY);
    assert_true(read_query("min_ms=5&max_ms=10").filter.max_ms == 10);
    assert_true(read_query("min_ms=5&max_ms=0").filter.min_ms == 5);
    assert_true(read_query("why=1").why && read_query("why=True").why && !read_query("why=0&why=").why);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (strcmp(bad[i], "cache_status=") != 0 &&
            sr_history_query_read(&q, sr_bytes_str(bad[i]), &arena, &why))
            fail_msg("%s is taken", bad[i]);
    static char longer[SR_HISTORY_QUERY_MAX + 1];
    memset(longer, 'a', sizeof longer);
    assert_false(sr_history_query_read(&q, sr_bytes_of(longer, sizeof longer), &arena, &why));
}

static struct sr_history *sample(void)
{
    static const struct sr_history_signal signal = {SR_LIT("keyword"), SR_LIT(""), SR_LIT(""), 0, 0};
    static const struct sr_history_rule rule = {0, true, 1, 0, SR_LIT("r")};
    struct sr_history_limits limits = {100, 1 << 20, 0};
    struct sr_history_facts f;
    struct sr_history *history;
    char id[16];
    assert_int_equal(sr_history_new(&history), SR_OK);
    assert_int_equal(sr_history_set(history, &limits), SR_OK);
    for (int i = 0; i < 10; i++) {
        sr_history_facts_init(&f);
        snprintf(id, sizeof id, "id-%d", i);
        f.texts[SR_HISTORY_REQUEST_ID] = sr_bytes_str(id);
        f.texts[SR_HISTORY_SELECTED_MODEL] = i % 2 ? SR_LIT("odd") : SR_LIT("even");
        f.texts[SR_HISTORY_ORIGINAL_MODEL] = SR_LIT("auto");
        f.texts[SR_HISTORY_DECISION] = i < 3 ? SR_LIT("d") : SR_LIT("");
        f.texts[SR_HISTORY_LIFECYCLE] = i ? SR_LIT("completed") : SR_LIT("failed");
        f.numbers[SR_HISTORY_TOTAL_MS] = i;
        f.numbers[SR_HISTORY_FROM_CACHE] = i == 9;
        f.signals = &signal;
        f.rules = &rule;
        f.n_signals = f.n_rules = 1;
        if (i < 4) {
            f.numbers[SR_HISTORY_PROMPT_TOKENS] = 10;
            f.numbers[SR_HISTORY_COMPLETION_TOKENS] = i;
            f.numbers[SR_HISTORY_TOTAL_TOKENS] = 10 + i;
            f.numbers[SR_HISTORY_COST] = 1;
            f.numbers[SR_HISTORY_BASELINE_COST] = 3;
            f.numbers[SR_HISTORY_SAVED] = 2;
        }
        struct sr_history_entry *entry = history_entry(&f, id, (int64_t)i * 60000000 + 1000000000);
        sr_history_add(history, entry);
        sr_history_entry_unref(entry);
    }
    return history;
}

static size_t count(struct sr_history *history, const char *query)
{
    struct sr_history_query q = read_query(query);
    struct sr_history_selection set;
    assert_int_equal(sr_history_select(history, &q.filter, &set), SR_OK);
    for (size_t i = 1; i < set.n; i++)
        assert_true(set.items[i - 1]->f.time_us > set.items[i]->f.time_us);
    size_t n = set.n;
    sr_history_selection_dispose(&set);
    return n;
}

static void test_filters(void **state)
{
    struct sr_history *history = sample();
    (void)state;
    assert_int_equal(count(history, ""), 10);
    assert_int_equal(count(history, "model=odd"), 5);
    assert_int_equal(count(history, "model=auto"), 10);
    assert_int_equal(count(history, "model=od"), 0);
    assert_int_equal(count(history, "decision=d&model=even"), 2);
    assert_int_equal(count(history, "search=ID-3"), 1);
    assert_int_equal(count(history, "search=-"), 10);
    assert_int_equal(count(history, "search=id-33"), 0);
    assert_int_equal(count(history, "min_ms=3&max_ms=5"), 3);
    assert_int_equal(count(history, "cache_status=cached"), 1);
    assert_int_equal(count(history, "cache_status=streamed"), 0);
    assert_int_equal(count(history, "session_id=s"), 0);
    struct sr_history_entry *found = sr_history_find(history, SR_HISTORY_ID, SR_LIT("id-4"));
    assert_non_null(found);
    sr_history_entry_unref(found);
    assert_null(sr_history_find(history, SR_HISTORY_ID, SR_LIT("id-44")));
    sr_history_free(history);
}

static char *page_of(struct sr_history *history, const char *query)
{
    struct sr_history_query q = read_query(query);
    struct sr_history_selection set;
    struct sr_buf out;
    sr_buf_init(&out, SR_HISTORY_JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    assert_int_equal(sr_history_select(history, &q.filter, &set), SR_OK);
    sr_history_json_page(&w, &set, &q, &words);
    assert_int_equal(w.rc, SR_OK);
    sr_history_selection_dispose(&set);
    return out.data;
}

static void check_start(struct sr_history *history, const char *query, const char *expected)
{
    char *page = page_of(history, query);
    if (strncmp(page, expected, strlen(expected)) != 0)
        fail_msg("%s", page);
    free(page);
}

static void test_pages(void **state)
{
    struct sr_history *history = sample();
    (void)state;
    check_start(history, "limit=3&offset=2",
                "{\"object\":\"router_replay.list\",\"count\":3,\"total\":10,\"limit\":3,\"offset\":2,"
                "\"has_more\":true,\"next_offset\":5,\"data\":[{\"id\":\"id-7\",");
    check_start(history, "limit=3&offset=9",
                "{\"object\":\"router_replay.list\",\"count\":1,\"total\":10,\"limit\":3,\"offset\":9,"
                "\"has_more\":false,\"data\":[{\"id\":\"id-0\",");
    check_start(history, "offset=999",
                "{\"object\":\"router_replay.list\",\"count\":0,\"total\":10,\"limit\":20,\"offset\":10,"
                "\"has_more\":false,\"data\":[]}");
    sr_history_free(history);
}

/* A page ends when it has so many bytes, and says where the next one begins. */
static void test_large_pages(void **state)
{
    static char body[1 << 20];
    struct sr_history_limits limits = {100, 1 << 30, 0};
    struct sr_history_facts f;
    struct sr_history *history;
    (void)state;
    memset(body, '\x01', sizeof body); /* six bytes each in JSON */
    assert_int_equal(sr_history_new(&history), SR_OK);
    assert_int_equal(sr_history_set(history, &limits), SR_OK);
    sr_history_facts_init(&f);
    f.texts[SR_HISTORY_REQUEST_BODY] = f.texts[SR_HISTORY_RESPONSE_BODY] = sr_bytes_of(body, sizeof body);
    for (int i = 0; i < 3; i++) {
        struct sr_history_entry *entry = history_entry(&f, "x", history_now_us());
        sr_history_add(history, entry);
        sr_history_entry_unref(entry);
    }
    check_start(history, "showDetails=true",
                "{\"object\":\"router_replay.list\",\"count\":1,\"total\":3,\"limit\":20,\"offset\":0,"
                "\"has_more\":true,\"next_offset\":1,\"data\":[{");
    check_start(history, "", "{\"object\":\"router_replay.list\",\"count\":3,");
    sr_history_free(history);
}

static void test_sums(void **state)
{
    struct sr_history *history = sample();
    struct sr_history_query all_query = read_query(""), query = read_query("model=even");
    struct sr_history_selection all, some;
    struct sr_buf out;
    (void)state;
    sr_buf_init(&out, 1 << 20);
    struct sr_json_writer w = sr_json_writer_of(&out);
    assert_int_equal(sr_history_select(history, &all_query.filter, &all), SR_OK);
    assert_int_equal(sr_history_select(history, &query.filter, &some), SR_OK);
    sr_history_sums_json(&w, &all, &some);
    assert_int_equal(w.rc, SR_OK);
    static const char expected[] =
        "{\"object\":\"router_replay.aggregate\",\"record_count\":5,\"lifecycle\":{\"completed\":4,"
        "\"failed\":1,"
        "\"aborted\":0},\"summary\":{\"total_saved\":4,\"baseline_spend\":6,\"actual_spend\":2,"
        "\"cost_record_count\":2,\"excluded_record_count\":3},\"model_selection\":[{\"name\":\"even\","
        "\"value\":5}],"
        "\"decision_distribution\":[{\"name\":\"Unknown\",\"value\":3},{\"name\":\"d\",\"value\":2}],"
        "\"signal_distribution\":[{\"name\":\"keyword\",\"value\":5}],\"token_volume\":{\"input_tokens\":20,"
        "\"output_tokens\":2,\"total_tokens\":22,\"excluded_record_count\":3},\"token_breakdown\":{"
        "\"by_decision\":[{\"name\":\"d\",\"input_tokens\":20,\"output_tokens\":2,\"total_tokens\":22}],"
        "\"by_selected_model\":[{\"name\":\"even\",\"input_tokens\":20,\"output_tokens\":2,\"total_tokens\":"
        "22}]},"
        "\"cost_by_model\":[{\"name\":\"even\",\"actual_cost\":2,\"baseline_cost\":6}],"
        "\"request_timeline\":{\"bucket_interval\":\"1m\",\"models\":[\"even\"],\"points\":[{\"timestamp\":"
        "\"1970-01-01T00:16:00.000000Z\",\"counts\":{\"even\":1}},";
    if (strncmp(out.data, expected, sizeof expected - 1) != 0)
        fail_msg("%s", out.data);
    assert_non_null(strstr(
        out.data, "\"available_decisions\":[\"d\"],\"available_models\":[\"auto\",\"even\",\"odd\"]}"));
    sr_buf_dispose(&out);
    sr_history_selection_dispose(&all);
    sr_history_selection_dispose(&some);
    sr_history_free(history);
}

/* More names than are told apart, and more time than a timeline shows. */
static void test_many_names(void **state)
{
    struct sr_history_limits limits = {2000, 1 << 24, 0};
    struct sr_history_query query = read_query("");
    struct sr_history_selection all;
    struct sr_history_facts f;
    struct sr_history *history;
    struct sr_buf out;
    char name[16];
    (void)state;
    assert_int_equal(sr_history_new(&history), SR_OK);
    assert_int_equal(sr_history_set(history, &limits), SR_OK);
    sr_history_facts_init(&f);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "m%d", i);
        f.texts[SR_HISTORY_SELECTED_MODEL] = f.texts[SR_HISTORY_DECISION] = sr_bytes_str(name);
        struct sr_history_entry *entry = history_entry(&f, name, (int64_t)i * 86400 * 1000000);
        sr_history_add(history, entry);
        sr_history_entry_unref(entry);
    }
    sr_buf_init(&out, 1 << 22);
    struct sr_json_writer w = sr_json_writer_of(&out);
    assert_int_equal(sr_history_select(history, &query.filter, &all), SR_OK);
    sr_history_sums_json(&w, &all, &all);
    assert_int_equal(w.rc, SR_OK);
    assert_non_null(strstr(out.data, "{\"name\":\"Other\",\"value\":744}"));
    size_t points = 0;
    for (const char *p = strstr(out.data, "request_timeline"); (p = strstr(p, "\"counts\"")); p++)
        points++;
    assert_true(points > 500 && points <= SR_HISTORY_BUCKETS_MAX + 1);
    sr_buf_dispose(&out);
    sr_history_selection_dispose(&all);
    sr_history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),     cmocka_unit_test(test_filters), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_large_pages), cmocka_unit_test(test_sums),    cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

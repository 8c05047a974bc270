/* Entries: their limits, their bytes, their JSON. */
#include "tests/unit/history_kit.h"

#include "history/json.h"

#include <math.h>
#include <stdlib.h>

static const char *const edits[] = {"model", "tools"}, *const types[] = {"PERSON", "US_SSN"};
static const struct sr_history_words words = {edits, types, sizeof edits / sizeof edits[0],
                                              sizeof types / sizeof types[0]};

static void full(struct sr_history_facts *f)
{
    static const struct sr_history_signal signals[] = {
        {SR_LIT("keyword"), SR_LIT("regex"), SR_LIT(""), 10, 20},
        {SR_LIT("domain"), SR_LIT("linear"), SR_LIT("timeout"), 30, 40}};
    static const struct sr_history_rule rules[] = {{0, true, 1, 3.5, SR_LIT("code")},
                                                   {1, false, 0.25f, (double)NAN, SR_LIT("math")}};
    static const struct sr_history_candidate candidates[] = {
        {SR_LIT("small"), SR_LIT("too slow"), -1.5, false}, {SR_LIT("large"), SR_LIT(""), (double)NAN, true}};
    static const struct sr_history_outcome outcomes[] = {{1700000001000000, (double)NAN, SR_LIT("agent"),
                                                          SR_LIT("model"), SR_LIT(""), SR_LIT("good_fit"),
                                                          SR_LIT("")}};
    sr_history_facts_init(f);
    f->outcomes = outcomes;
    f->n_outcomes = 1;
    f->texts[SR_HISTORY_ID] = SR_LIT("replay_1");
    f->texts[SR_HISTORY_DECISION] = SR_LIT("code");
    f->texts[SR_HISTORY_REQUEST_BODY] = SR_LIT("{\"a\":1}");
    f->numbers[SR_HISTORY_STATUS] = 200;
    f->numbers[SR_HISTORY_FROM_CACHE] = 0;
    f->numbers[SR_HISTORY_STREAMING] = 1;
    f->numbers[SR_HISTORY_COST] = 0.125;
    f->edits = 2;
    f->private_types = 1;
    f->signals = signals;
    f->rules = rules;
    f->candidates = candidates;
    f->n_signals = f->n_rules = f->n_candidates = 2;
    f->time_us = 1700000000123456;
    f->ended_us = 1700000000223456;
}

static char *json_of(const struct sr_history_entry *entry, bool details)
{
    struct sr_buf out;
    sr_buf_init(&out, 1 << 20);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_history_json(&w, NULL, entry, &words, details);
    assert_int_equal(w.rc, SR_OK);
    return out.data;
}

/* How it came about is for those who look now: copied, not in the JSON of a record, not on the disk. */
static void test_why(void **state)
{
    static char many[SR_HISTORY_WHY_MAX + 1];
    struct sr_history_facts facts;
    struct sr_history_entry *entry, *read;
    uint8_t bytes[4096];
    char why[] = "{\"phases\":[]}";
    (void)state;
    full(&facts);
    facts.why = sr_bytes_of(why, sizeof why - 1);
    assert_int_equal(sr_history_entry_new(&entry, &facts), SR_OK);
    memset(why, 'x', sizeof why - 1);
    assert_true(sr_bytes_eq(entry->f.why, SR_LIT("{\"phases\":[]}")));
    char *json = json_of(entry, true);
    assert_null(strstr(json, "phases"));
    free(json);
    assert_true(sr_history_entry_size(entry) <= sizeof bytes);
    sr_history_entry_write(entry, bytes);
    assert_int_equal(sr_history_entry_read(&read, sr_bytes_of((char *)bytes, sr_history_entry_size(entry))),
                     SR_OK);
    assert_int_equal(read->f.why.n, 0);
    sr_history_entry_unref(read);
    sr_history_entry_unref(entry);
    facts.why = sr_bytes_of(many, sizeof many);
    assert_int_equal(sr_history_entry_new(&entry, &facts), SR_OK);
    assert_int_equal(entry->f.why.n, 0);
    sr_history_entry_unref(entry);
}

static void test_json(void **state)
{
    struct sr_history_facts facts;
    struct sr_history_entry *entry;
    (void)state;
    full(&facts);
    assert_int_equal(sr_history_entry_new(&entry, &facts), SR_OK);
    char *json = json_of(entry, false);
    assert_string_equal(
        json,
        "{\"id\":\"replay_1\",\"timestamp\":\"2023-11-14T22:13:20.123456Z\","
        "\"ended_at\":\"2023-11-14T22:13:20.223456Z\",\"decision\":\"code\",\"response_status\":200,"
        "\"streaming\":true,\"actual_cost\":0.125,\"edits\":[\"tools\"],\"pii_entities\":[\"PERSON\"],"
        "\"signals\":{\"keyword\":[\"code\"]},\"signal_details\":[{\"type\":\"keyword\",\"start_us\":10,"
        "\"us\":20,\"tier\":\"regex\",\"rules\":[{\"name\":\"code\",\"matched\":true,\"confidence\":1,"
        "\"value\":3.5}]},{\"type\":\"domain\",\"start_us\":30,\"us\":40,\"tier\":\"linear\","
        "\"error\":\"timeout\",\"rules\":[{\"name\":\"math\",\"matched\":false,\"confidence\":0.25}]}],"
        "\"candidates\":[{\"model\":\"small\",\"chosen\":false,\"score\":-1.5,\"excluded\":\"too slow\"},"
        "{\"model\":\"large\",\"chosen\":true}],\"outcomes\":[{\"timestamp\":"
        "\"2023-11-14T22:13:21.000000Z\",\"source\":\"agent\",\"target\":\"model\",\"verdict\":\"good_fit\"}]"
        "}");
    free(json);
    json = json_of(entry, true);
    assert_non_null(strstr(json, "\"request_body\":\"{\\\"a\\\":1}\""));
    free(json);
    sr_history_entry_unref(entry);
}

static void test_bytes(void **state)
{
    struct sr_history_facts facts;
    struct sr_history_entry *entry, *again;
    (void)state;
    full(&facts);
    assert_int_equal(sr_history_entry_new(&entry, &facts), SR_OK);
    size_t n = sr_history_entry_size(entry);
    uint8_t *bytes = malloc(n), *back = malloc(n);
    sr_history_entry_write(entry, bytes);
    assert_int_equal(sr_history_entry_read(&again, sr_bytes_of(bytes, n)), SR_OK);
    assert_int_equal(again->bytes, entry->bytes);
    assert_int_equal(sr_history_entry_size(again), n);
    sr_history_entry_write(again, back);
    assert_memory_equal(bytes, back, n);
    sr_history_entry_unref(again);
    for (size_t i = 0; i < n; i++) { /* no prefix is an entry */
        uint8_t *exact = malloc(i ? i : 1);
        memcpy(exact, bytes, i);
        assert_int_equal(sr_history_entry_read(&again, sr_bytes_of(exact, i)), SR_EPARSE);
        assert_null(again);
        free(exact);
    }
    for (size_t i = 0; i < 28; i++) { /* magic, version and counts */
        bytes[i] ^= 0x80;
        assert_int_equal(sr_history_entry_read(&again, sr_bytes_of(bytes, n)), SR_EPARSE);
        bytes[i] ^= 0x80;
    }
    free(bytes);
    free(back);
    sr_history_entry_unref(entry);
}

static void test_limits(void **state)
{
    static char text[SR_HISTORY_BODY_MAX + 10];
    struct sr_history_signal signals[SR_HISTORY_SIGNALS_MAX + 5];
    struct sr_history_rule rules[SR_HISTORY_RULES_MAX + 5];
    struct sr_history_candidate candidates[SR_HISTORY_CANDIDATES_MAX + 5];
    struct sr_history_facts facts;
    struct sr_history_entry *entry;
    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + 254, "\xc3\xa4\xc3\xa4", 4); /* the limit of a name is between two characters */
    sr_history_facts_init(&facts);
    struct sr_bytes all = sr_bytes_of(text, sizeof text), odd = sr_bytes_of(text + 1, sizeof text - 1);
    for (size_t i = 0; i < SR_HISTORY_SIGNALS_MAX + 5; i++)
        signals[i] = (struct sr_history_signal){.type = all, .tier = all, .error = odd};
    for (size_t i = 0; i < SR_HISTORY_RULES_MAX + 5; i++)
        rules[i] = (struct sr_history_rule){.name = odd, .value = (double)NAN};
    for (size_t i = 0; i < SR_HISTORY_CANDIDATES_MAX + 5; i++)
        candidates[i] = (struct sr_history_candidate){.model = all, .excluded = odd};
    facts.signals = signals;
    facts.rules = rules;
    facts.candidates = candidates;
    facts.n_signals = SR_HISTORY_SIGNALS_MAX + 5;
    facts.n_rules = SR_HISTORY_RULES_MAX + 5;
    facts.n_candidates = SR_HISTORY_CANDIDATES_MAX + 5;
    for (int i = 0; i < SR_HISTORY_TEXTS; i++)
        facts.texts[i] = i % 2 ? all : odd;
    assert_int_equal(sr_history_entry_new(&entry, &facts), SR_OK);
    assert_int_equal(entry->f.n_signals, SR_HISTORY_SIGNALS_MAX);
    assert_int_equal(entry->f.n_rules, SR_HISTORY_RULES_MAX);
    assert_int_equal(entry->f.n_candidates, SR_HISTORY_CANDIDATES_MAX);
    assert_int_equal(entry->f.texts[1].n, 256);
    assert_int_equal(entry->f.texts[2].n, 255); /* not in the middle of a character */
    assert_int_equal(entry->f.texts[SR_HISTORY_REQUEST_BODY].n, SR_HISTORY_BODY_MAX);
    assert_true(entry->f.numbers[SR_HISTORY_REQUEST_CUT] == 1);
    assert_true(entry->f.numbers[SR_HISTORY_RESPONSE_CUT] == 1);
    struct sr_history_entry *again;
    size_t n = sr_history_entry_size(entry);
    uint8_t *bytes = malloc(n);
    sr_history_entry_write(entry, bytes);
    assert_int_equal(sr_history_entry_read(&again, sr_bytes_of(bytes, n)), SR_OK);
    sr_history_entry_unref(again);
    free(bytes);
    sr_history_entry_unref(entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_json), cmocka_unit_test(test_why),
                                       cmocka_unit_test(test_bytes), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

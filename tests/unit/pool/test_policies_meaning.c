/* The policies that compare vectors: similar requests meet, and topics are bounded. */
#include "pool/warm/topics.h"
#include "tests/unit/policy_kit.h"

static void test_meaning_goes_to_the_similar(void **state)
{
    (void)state;
    static const char *const policies[] = {"meaning", "auto"};
    enum { D = 384, TOPICS = 8 };
    for (size_t p = 0; p < 2; p++) {
        struct site s;
        float v[D];
        int of[TOPICS];
        uint64_t blocks[BLOCKS];
        site_init(&s, policies[p], NULL);
        for (uint32_t i = 0; i < TOPICS * 4; i++) {
            vector_of(v, D, i % TOPICS, 0.4f, i);
            prompt(blocks, BLOCKS, 0, 0, 900 + i);
            struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
            ask.vector = v;
            ask.dimensions = D;
            struct sr_ticket ticket;
            int at = begin(&s, &ticket, &ask);
            if (i >= TOPICS) {
                assert_int_equal(at, of[i % TOPICS]);
                assert_string_equal(ticket.why.reason, "meaning");
                assert_true(ticket.why.similarity > 0.8f);
            }
            of[i % TOPICS] = at;
            sr_ticket_dispose(&ticket);
        }
        site_dispose(&s);
    }
}

static void test_topics_are_bounded(void **state)
{
    (void)state;
    enum { D = 100 };
    struct sr_topics *topics;
    struct sr_topics_seat seat = {0};
    float v[D], old[D];
    assert_int_equal(sr_topics_new(&topics), SR_OK);
    vector_of(old, D, 1, 0, 0);
    sr_topics_add(topics, &seat, old, D);
    sr_topics_compare(topics, old, D);
    assert_true(sr_topics_similarity(topics, &seat, 64) > 0.99f);
    size_t bytes = sr_topics_bytes(topics);
    for (uint32_t i = 2; i < 60; i++) {
        vector_of(v, D, i, 0, 0);
        sr_topics_add(topics, &seat, v, D);
    }
    sr_topics_compare(topics, old, D);
    assert_true(sr_topics_similarity(topics, &seat, 64) > 0.99f);
    assert_true(sr_topics_similarity(topics, &seat, 20) < 0.9f); /* not recent */
    for (uint32_t i = 60; i < 400; i++) {
        vector_of(v, D, i, 0, 0);
        sr_topics_add(topics, &seat, v, D);
    }
    sr_topics_compare(topics, old, D);
    assert_true(sr_topics_similarity(topics, &seat, 1000000) < 0.9f); /* another topic has its place */
    assert_int_equal(sr_topics_bytes(topics), bytes);
    sr_topics_compare(topics, old, D - 1); /* another encoder */
    assert_true(sr_topics_similarity(topics, &seat, 1000000) < 0.01f);
    sr_topics_free(topics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning_goes_to_the_similar),
        cmocka_unit_test(test_topics_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

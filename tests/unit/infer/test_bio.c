/* BIO labels: names, decisions for words, spans. */
#include "infer/classifier/bio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const LABELS[] = {"O", "B-PERSON", "I-PERSON", "B-GPE", "I-GPE"};

static void names_become_types(void **state)
{
    struct sr_bio bio;
    (void)state;
    assert_int_equal(sr_bio_open(&bio, LABELS, 5, NULL), SR_OK);
    assert_int_equal(bio.n_types, 2);
    assert_string_equal(bio.types[0], "PERSON");
    assert_string_equal(bio.types[1], "GPE");
    assert_int_equal(bio.type_of[0], 0);
    assert_int_equal(bio.type_of[4], 2);
    assert_true(bio.begins[3]);
    assert_false(bio.begins[4]);
    sr_bio_close(&bio);
}

static void lists_that_are_no_bio(void **state)
{
    static const char *const NO_OUTSIDE[] = {"B-X", "I-X"}, *const ONLY_OUTSIDE[] = {"O"};
    struct sr_bio bio;
    struct sr_err err = {0};
    (void)state;
    assert_int_equal(sr_bio_open(&bio, NO_OUTSIDE, 2, &err), SR_EMISMATCH);
    assert_int_equal(sr_bio_open(&bio, ONLY_OUTSIDE, 1, &err), SR_EMISMATCH);
}

/* A type whose B and I are each below "outside" wins when both together are above. */
static void a_word_is_decided_together(void **state)
{
    struct sr_bio bio;
    struct sr_bio_token tokens[2];
    const float logits[2][5] = {{1.0f, 0.8f, 0.7f, -9, -9}, {1.0f, -9, 0.2f, -9, -9}};
    (void)state;
    assert_int_equal(sr_bio_open(&bio, LABELS, 5, NULL), SR_OK);
    sr_bio_word(&bio, logits[0], 1, 1, tokens);
    assert_int_equal(tokens[0].type, 1);
    assert_true(tokens[0].begins);
    assert_float_equal(tokens[0].p, 0.609, 0.002);
    sr_bio_word(&bio, logits[0], 2, 1, tokens);
    assert_int_equal(tokens[0].type, 0); /* mean of .391, .690 outside against .609, .310 */
    assert_int_equal(tokens[1].type, 0);
    assert_true(tokens[1].joined);
    sr_bio_close(&bio);
}

/* With odds of 3 for a capital inside a sentence and a tenth for small letters. */
static void capitals_count(void **state)
{
    struct sr_bio bio;
    struct sr_bio_token token;
    const float logits[5] = {1.0f, 0.2f, -9, -9, -9}; /* .69 outside, .31 PERSON */
    const uint8_t plain = SR_WORD_PLAIN, inside = SR_WORD_INSIDE, small = SR_WORD_SMALL;
    (void)state;
    assert_int_equal(sr_bio_open(&bio, LABELS, 5, NULL), SR_OK);
    bio.odds[SR_WORD_INSIDE][0] = bio.reach = 3;
    bio.odds[SR_WORD_SMALL][0] = 0.1f;
    sr_bio_word(&bio, logits, 1, 1, &token);
    assert_int_equal(token.type, 1);
    assert_float_equal(token.outside, 0.69, 0.01);
    sr_bio_settle(&bio, &plain, &token, 1);
    assert_int_equal(token.type, 0);
    sr_bio_word(&bio, logits, 1, 1, &token);
    sr_bio_settle(&bio, &inside, &token, 1);
    assert_int_equal(token.type, 1);
    assert_float_equal(token.p, 0.574, 0.01); /* .31 * 3 / (.31 * 3 + .69) */
    token = (struct sr_bio_token){.type = 1, .p = 0.8f, .outside = 0.2f};
    sr_bio_settle(&bio, &small, &token, 1);
    assert_int_equal(token.type, 0);
    sr_bio_close(&bio);
}

static void temperature_softens(void **state)
{
    struct sr_bio bio;
    struct sr_bio_token sharp, soft;
    const float logits[5] = {0, 4, 0, 0, 0};
    (void)state;
    assert_int_equal(sr_bio_open(&bio, LABELS, 5, NULL), SR_OK);
    sr_bio_word(&bio, logits, 1, 1, &sharp);
    sr_bio_word(&bio, logits, 1, 4, &soft);
    assert_true(sharp.p > soft.p);
    assert_int_equal(soft.type, 1);
    sr_bio_close(&bio);
}

static void neighbours_become_spans(void **state)
{
    /* "Ann Lee, Bo in Rome" and an address in touching pieces */
    const struct sr_bio_token tokens[] = {{.type = 1, .begins = true, .p = 0.9f},
                                          {.type = 1, .p = 0.7f},
                                          {.type = 0},
                                          {.type = 1, .begins = true, .p = 0.5f},
                                          {.type = 0},
                                          {.type = 2, .p = 0.8f},
                                          {.type = 1, .begins = true, .p = 0.6f},
                                          {.type = 1, .begins = true, .p = 0.6f}};
    const uint32_t starts[] = {0, 4, 7, 9, 12, 15, 20, 22}, ends[] = {3, 7, 8, 11, 14, 19, 22, 25};
    struct sr_bio_span spans[8];
    (void)state;
    assert_int_equal(sr_bio_spans(tokens, starts, ends, 8, spans), 4);
    assert_int_equal(spans[0].start, 0);
    assert_int_equal(spans[0].end, 7);
    assert_float_equal(spans[0].confidence, 0.8, 1e-6);
    assert_int_equal(spans[1].start, 9);
    assert_int_equal(spans[2].type, 1);
    assert_int_equal(spans[3].start, 20);
    assert_int_equal(spans[3].end, 25);
}

static void two_of_a_kind_in_a_row(void **state)
{
    const struct sr_bio_token tokens[] = {
        {.type = 1, .begins = true, .p = 1}, {.type = 1, .begins = true, .p = 1}, {.type = 2, .p = 1}};
    const uint32_t starts[] = {0, 4, 8}, ends[] = {3, 7, 11};
    struct sr_bio_span spans[3];
    (void)state;
    assert_int_equal(sr_bio_spans(tokens, starts, ends, 3, spans), 3);
    assert_int_equal(sr_bio_spans(tokens, starts, ends, 0, spans), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_types),         cmocka_unit_test(lists_that_are_no_bio),
        cmocka_unit_test(a_word_is_decided_together), cmocka_unit_test(capitals_count),
        cmocka_unit_test(temperature_softens),        cmocka_unit_test(neighbours_become_spans),
        cmocka_unit_test(two_of_a_kind_in_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

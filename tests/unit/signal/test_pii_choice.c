/* What of a request the neural classifier is asked for private data: over the budget each unit has a share,
 * and the last user turn comes first; all of it, or it fails, where nothing else reads. */
#include "signal/guard/pii_units.h"
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

static char mass[1 << 20];

/* Bytes of each unit that are asked about. */
static int choose(struct sr_signal_unit *texts, size_t n, size_t budget, size_t *read)
{
    struct sr_pii_unit *items = calloc(n, sizeof *items);
    struct sr_pii_units units = {.items = items, .n = n};
    struct sr_signal_question *questions;
    struct sr_arena arena;
    size_t asked, all = 0;
    sr_arena_init(&arena, (size_t)64 << 20);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct sr_pii_unit){
            .unit = (uint32_t)i, .text = texts[i].text, .own = texts[i].text.n, .all = &units};
    int rc = sr_pii_choose(&units, texts, budget, &arena, &questions, &asked);
    for (size_t i = 0; i < n; i++)
        read[i] = 0;
    for (size_t i = 0; rc == SR_OK && i < asked; i++) {
        read[(struct sr_pii_unit *)questions[i].about - items] += questions[i].text.n;
        all += questions[i].text.n;
    }
    if (rc == SR_OK)
        assert_true(asked <= SR_PII_QUESTIONS_MAX && all <= budget);
    sr_arena_dispose(&arena);
    free(items);
    return rc;
}

static struct sr_signal_unit unit_of(size_t bytes, enum sr_signal_role role, uint32_t group)
{
    return (struct sr_signal_unit){
        .role = role, .source = SR_SOURCE_MESSAGE, .group = group, .text = sr_bytes_of(mass, bytes)};
}

/* A long unit, before or behind, leaves the others their share. */
static void test_shares(void **state)
{
    struct sr_signal_unit texts[12];
    size_t read[12];
    (void)state;
    memset(mass, 'x', sizeof mass);
    texts[0] = unit_of(sizeof mass, SR_ROLE_TOOL, 0);
    for (uint32_t i = 1; i < 11; i++)
        texts[i] = unit_of(1000, SR_ROLE_TOOL, i);
    texts[11] = unit_of(sizeof mass, SR_ROLE_TOOL, 11);
    assert_int_equal(choose(texts, 12, 64 << 10, read), SR_OK);
    for (size_t i = 1; i < 11; i++)
        assert_int_equal(read[i], 1000);
    assert_true(read[0] > 20 << 10 && read[11] > 20 << 10);
}

/* Thousands of units do not push out what the user asks now. */
static void test_the_last_user_turn(void **state)
{
    enum { UNITS = 5000 };
    struct sr_signal_unit *texts = calloc(UNITS, sizeof *texts);
    size_t *read = calloc(UNITS, sizeof *read);
    (void)state;
    for (size_t i = 0; i < UNITS; i++)
        texts[i] = unit_of(500, i == 2000 ? SR_ROLE_USER : SR_ROLE_TOOL, (uint32_t)i);
    assert_int_equal(choose(texts, UNITS, 64 << 10, read), SR_OK);
    assert_int_equal(read[2000], 500);
    assert_int_equal(choose(texts, UNITS, SIZE_MAX / 2, read), SR_OK);
    assert_int_equal(read[2000], 500);
    assert_int_equal(choose(texts, UNITS, SIZE_MAX, read), SR_ELIMIT);
    assert_int_equal(choose(texts, 1000, SIZE_MAX, read), SR_OK);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(read[i], 500);
    free(texts);
    free(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares),
                                       cmocka_unit_test(test_the_last_user_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

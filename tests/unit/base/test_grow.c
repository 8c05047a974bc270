/* Growing arrays: what was in them stays, room doubles up to its maximum, and a failure changes nothing. */
#include "tests/unit/cmocka_all.h"

#include "base/grow.h"
#include "base/mem.h"

struct list {
    uint32_t *items;
    size_t n, cap;
};

static int add(struct list *list, uint32_t value, size_t max)
{
    int rc = sr_grow(&list->items, &list->cap, list->n + 1, sizeof *list->items, max);
    if (rc == SR_OK)
        list->items[list->n++] = value;
    return rc;
}

static void what_was_there_stays(void **state)
{
    struct list list = {0};
    size_t moves = 0;
    (void)state;
    for (uint32_t i = 0; i < 10000; i++) {
        size_t cap = list.cap;
        assert_int_equal(add(&list, i, SR_GROW_NO_MAX), SR_OK);
        moves += list.cap != cap;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(list.items[i], i);
    assert_true(list.cap >= list.n && moves < 12);
    sr_mem_free(list.items);
}

static void limits(void **state)
{
    struct list list = {0};
    (void)state;
    for (uint32_t i = 0; i < 21; i++)
        assert_int_equal(add(&list, i, 21), SR_OK);
    assert_int_equal(list.cap, 21);
    uint32_t *items = list.items;
    assert_int_equal(add(&list, 21, 21), SR_ELIMIT);
    assert_ptr_equal(list.items, items);
    assert_int_equal(list.cap, 21);
    /* more bytes than there are numbers for */
    assert_int_equal(sr_grow(&list.items, &list.cap, SIZE_MAX / 2, sizeof *items, SR_GROW_NO_MAX), SR_ELIMIT);
    assert_int_equal(sr_grow(&list.items, &list.cap, SIZE_MAX, 1, 100), SR_ELIMIT);
    assert_int_equal(sr_grow(&list.items, &list.cap, 5, sizeof *items, 1), SR_OK); /* there is room */
    /* many at once */
    assert_int_equal(sr_grow(&list.items, &list.cap, 5000, sizeof *items, SR_GROW_NO_MAX), SR_OK);
    assert_true(list.cap >= 5000 && list.items[20] == 20);
    sr_mem_free(list.items);
}

static void out_of_memory(void **state)
{
    struct list list = {0};
    (void)state;
    while (list.n == 0 || list.n < list.cap)
        assert_int_equal(add(&list, 7, 1000), SR_OK);
    uint32_t *items = list.items;
    size_t cap = list.cap;
    sr_mem_fail_at(1);
    assert_int_equal(add(&list, 8, 1000), SR_ENOMEM);
    sr_mem_fail_at(0);
    assert_ptr_equal(list.items, items);
    assert_true(list.cap == cap && list.n == cap && items[cap - 1] == 7);
    assert_int_equal(add(&list, 8, 1000), SR_OK);
    sr_mem_free(list.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_stays),
        cmocka_unit_test(limits),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of keys and the heap against plain models. */
#include "tests/unit/cache_kit.h"

#include "base/mem.h"
#include "cache/heap.h"
#include "cache/keymap.h"

#include <stdlib.h>

#define KEYS 5000u

struct item {
    struct sr_keymap_node node;
    struct sr_heap_place place;
    struct sr_cache_key key;
    uint64_t number;
    bool in;
};

static struct item items[KEYS];

static void a_table_has_what_was_added(void **state)
{
    struct sr_keymap map;
    uint64_t random = 1;
    size_t n = 0;
    (void)state;
    assert_int_equal(sr_keymap_init(&map, 7), SR_OK);
    for (uint32_t i = 0; i < KEYS; i++)
        items[i] = (struct item){.key = kit_key(KIT_EXACT, i)};
    for (int turn = 0; turn < 100000; turn++) {
        struct item *item = &items[kit_random(&random) % KEYS];
        if (item->in) {
            sr_keymap_remove(&map, &item->node);
        } else {
            item->node.key = &item->key;
            sr_keymap_insert(&map, &item->node);
        }
        item->in = !item->in;
        item = &items[kit_random(&random) % KEYS];
        assert_ptr_equal(sr_keymap_find(&map, &item->key), item->in ? &item->node : NULL);
    }
    for (size_t b = 0; b < map.buckets; b++)
        for (struct sr_keymap_node *node = sr_keymap_bucket(&map, b); node; node = node->next)
            n++;
    assert_int_equal(n, map.n);
    for (uint32_t i = 0; i < KEYS; i++)
        if (items[i].in)
            sr_keymap_remove(&map, &items[i].node);
    size_t grown = sr_keymap_memory(&map);
    sr_keymap_shrink(&map);
    assert_true(sr_keymap_memory(&map) < grown);
    assert_int_equal(map.n, 0);
    sr_keymap_dispose(&map);
}

static void a_walk_in_steps_sees_every_key(void **state)
{
    struct sr_keymap map;
    size_t seen = 0;
    uint32_t added = 100;
    (void)state;
    assert_int_equal(sr_keymap_init(&map, 7), SR_OK);
    for (uint32_t i = 0; i < KEYS; i++) {
        items[i] = (struct item){.key = kit_key(KIT_EXACT, i)};
        items[i].node.key = &items[i].key;
        if (i < added)
            sr_keymap_insert(&map, &items[i].node);
    }
    for (size_t b = 0; b < map.buckets; b++) {
        for (struct sr_keymap_node *node = sr_keymap_bucket(&map, b); node; node = node->next) {
            struct item *item = (struct item *)((char *)node - offsetof(struct item, node));
            seen += item < &items[100] && !item->in;
            item->in = true;
        }
        for (int i = 0; i < 10 && added < KEYS; i++) /* the table grows under the walk */
            sr_keymap_insert(&map, &items[added++].node);
    }
    assert_int_equal(seen, 100);
    sr_keymap_dispose(&map);
}

static void a_heap_gives_the_smallest(void **state)
{
    struct sr_heap heap = {0};
    uint64_t random = 2, number;
    (void)state;
    memset(items, 0, sizeof items);
    assert_int_equal(sr_heap_reserve(&heap, 64), SR_OK);
    for (int turn = 0; turn < 50000; turn++) {
        struct item *item = &items[kit_random(&random) % 64], *least = NULL;
        if (kit_random(&random) % 3) {
            item->number = kit_random(&random) % 1000;
            item->in = true;
            sr_heap_set(&heap, &item->place, item->number);
        } else {
            item->in = false;
            sr_heap_remove(&heap, &item->place);
        }
        for (size_t i = 0; i < 64; i++)
            if (items[i].in && (!least || items[i].number < least->number))
                least = &items[i];
        struct sr_heap_place *first = sr_heap_first(&heap, &number);
        assert_int_equal(first != NULL, least != NULL);
        if (least)
            assert_int_equal(number, least->number);
    }
    sr_heap_dispose(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_what_was_added),
        cmocka_unit_test(a_walk_in_steps_sees_every_key),
        cmocka_unit_test(a_heap_gives_the_smallest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

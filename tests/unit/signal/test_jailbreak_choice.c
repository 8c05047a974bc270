/* What of a request the neural classifier is asked about: all of it, or it fails, where nothing else reads.
 */
#include "signal/guard/jailbreak.h"
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

#define UNITS (SR_JAILBREAK_REGIONS_MAX + 100)

static int choose(size_t n, size_t budget, size_t *n_regions)
{
    struct sr_signal_unit *texts = calloc(n, sizeof *texts);
    struct sr_jailbreak_unit *units = calloc(n, sizeof *units);
    struct sr_jailbreak_region *regions;
    struct sr_arena arena;
    sr_arena_init(&arena, (size_t)64 << 20);
    for (size_t i = 0; i < n; i++) {
        texts[i].text = SR_LIT("a short message");
        units[i].unit = (uint32_t)i;
    }
    int rc = sr_jailbreak_choose(units, n, texts, budget, &arena, &regions, n_regions);
    sr_arena_dispose(&arena);
    free(units);
    free(texts);
    return rc;
}

/* Many units must not keep the classifier from one of them in silence. */
static void test_all_or_nothing(void **state)
{
    size_t n = 0;
    (void)state;
    assert_int_equal(choose(SR_JAILBREAK_REGIONS_MAX, SIZE_MAX, &n), SR_OK);
    assert_int_equal(n, SR_JAILBREAK_REGIONS_MAX);
    assert_int_equal(choose(UNITS, SIZE_MAX, &n), SR_ELIMIT);
    assert_int_equal(choose(UNITS, 1 << 20, &n), SR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_or_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

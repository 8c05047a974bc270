/* What of a request the neural classifier is asked about: all of it, or it fails, where nothing else reads;
 * over the budget what is suspicious and a share of each unit, whatever stands beside it. */
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

/* ---- over the budget: random requests ---- */

#define MOST 3000

/* A request of units with linear windows of 1,536 bytes. */
struct request {
    struct sr_signal_unit texts[MOST];
    struct sr_jailbreak_unit units[MOST];
    size_t n;
    struct sr_arena arena;
    struct sr_jailbreak_region *regions;
    size_t n_regions;
};

static char mass[1 << 20];

static void begin(struct request *request)
{
    memset(mass, 'x', sizeof mass);
    request->n = 0;
    sr_arena_init(&request->arena, (size_t)64 << 20);
}

/* Adds a unit whose windows have this risk; returns its index. */
static size_t add(struct request *request, size_t bytes, float risk, enum sr_signal_role role, uint32_t group)
{
    size_t at = request->n++, windows = bytes > SR_JAILBREAK_WINDOW ? (bytes - 512 + 1023) / 1024 : 1;
    struct sr_jailbreak_unit *unit = &request->units[at];
    *unit = (struct sr_jailbreak_unit){.unit = (uint32_t)at, .worst = {.risk = risk}};
    request->texts[at] = (struct sr_signal_unit){
        .role = role, .source = SR_SOURCE_MESSAGE, .group = group, .text = sr_bytes_of(mass, bytes)};
    unit->linear.windows = sr_arena_calloc(&request->arena, windows, sizeof *unit->linear.windows);
    unit->linear.n = windows;
    for (size_t i = 0; i < windows; i++)
        unit->linear.windows[i] =
            (struct sr_risk_window){.start = (uint32_t)(i * 1024),
                                    .end = (uint32_t)(i * 1024 + 1536 < bytes ? i * 1024 + 1536 : bytes),
                                    .risk = risk};
    return at;
}

static void choose_of(struct request *request, size_t budget)
{
    assert_int_equal(sr_jailbreak_choose(request->units, request->n, request->texts, budget, &request->arena,
                                         &request->regions, &request->n_regions),
                     SR_OK);
    size_t bytes = 0;
    assert_true(request->n_regions <= SR_JAILBREAK_REGIONS_MAX);
    for (size_t i = 0; i < request->n_regions; i++)
        bytes += request->regions[i].text.n;
    assert_true(bytes <= budget);
}

static bool reads(const struct request *request, size_t unit, size_t start, size_t end)
{
    for (size_t i = 0; i < request->n_regions; i++) {
        const struct sr_jailbreak_region *region = &request->regions[i];
        if (region->of == &request->units[unit] && region->from <= start &&
            end <= region->from + region->text.n)
            return true;
    }
    return false;
}

static void end(struct request *request)
{
    sr_arena_dispose(&request->arena);
}

/* The window with the highest linear risk is read, wherever it stands and whatever stands beside it. */
static void test_the_highest_risk_is_read(void **state)
{
    static struct request request;
    unsigned seed = 3;
    (void)state;
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + (size_t)rand_r(&seed) % 400, worst = (size_t)rand_r(&seed) % n, k = 0;
        float most = round & 1 ? 0.09F : 0.9F; /* also where nothing is suspicious */
        begin(&request);
        for (size_t i = 0; i < n; i++)
            add(&request, 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 8 ? 4000 : 40000),
                most * 0.9F * (float)(rand_r(&seed) % 100) / 100, (enum sr_signal_role)(rand_r(&seed) % 4),
                (uint32_t)i);
        struct sr_jailbreak_unit *unit = &request.units[worst];
        k = (size_t)rand_r(&seed) % unit->linear.n;
        unit->linear.windows[k].risk = unit->worst.risk = most;
        struct sr_risk_window window = unit->linear.windows[k];
        choose_of(&request, 4096 + (size_t)rand_r(&seed) % 100000);
        assert_true(reads(&request, worst, window.start, window.end));
        assert_true(round & 1 || request.regions[0].of == unit);
        end(&request);
    }
}

/* What the user asks now is read, however much stands before, behind and beside it. */
static void test_the_last_user_turn_is_read(void **state)
{
    static struct request request;
    unsigned seed = 5;
    (void)state;
    for (int round = 0; round < 30; round++) {
        size_t asked = 0, n = 1500, at = (size_t)rand_r(&seed) % n;
        begin(&request);
        for (size_t i = 0; i < n; i++)
            if (i == at)
                asked = add(&request, 900, 0.01F, SR_ROLE_USER, 7);
            else
                add(&request, 1500, 0.01F + 0.8F * (float)(rand_r(&seed) % 2), SR_ROLE_TOOL, i < at ? 6 : 8);
        choose_of(&request, 64 << 10);
        assert_true(reads(&request, asked, 0, 900));
        end(&request);
    }
}

/* A long unit leaves the others their share. */
static void test_fair_shares(void **state)
{
    static struct request request;
    (void)state;
    begin(&request);
    add(&request, 600 << 10, 0.05F, SR_ROLE_TOOL, 0);
    for (uint32_t i = 1; i <= 20; i++)
        add(&request, 1000, 0.01F, SR_ROLE_TOOL, i);
    add(&request, 600 << 10, 0.05F, SR_ROLE_TOOL, 21);
    choose_of(&request, 64 << 10);
    for (size_t i = 1; i <= 20; i++)
        assert_true(reads(&request, i, 0, 1000));
    end(&request);
}

/* What the linear tier has no window for, because a view stands for it, is read in its turn. */
static void test_what_has_no_window(void **state)
{
    static struct request request;
    (void)state;
    begin(&request);
    size_t unit = add(&request, 40 << 10, 0.05F, SR_ROLE_TOOL, 0);
    request.units[unit].linear.n = 1;
    choose_of(&request, 39 << 10);
    assert_true(reads(&request, unit, 0, 1536) && reads(&request, unit, 10 << 10, 40 << 10));
    end(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_the_highest_risk_is_read),
        cmocka_unit_test(test_the_last_user_turn_is_read),
        cmocka_unit_test(test_fair_shares),
        cmocka_unit_test(test_what_has_no_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

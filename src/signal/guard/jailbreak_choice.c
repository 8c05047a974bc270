/*
 * What of a request the neural classifier reads. Units are whole where the budget allows it; a longer one is
 * cut, because the classifier reads a limited number of windows of one text.
 *
 * Over the budget the linear tier's windows are chosen: first those with the highest risk, then in rounds,
 * one of each unit, so that no unit has its place from what stands beside it. Neighbours that were chosen
 * become one text again.
 */
#include "base/utf8.h"
#include "signal/guard/jailbreak.h"
#include "text/slices.h"

#include <stdlib.h>

#define REGION_MAX     ((size_t)256 << 10) /* bytes of one text */
#define REGION_OVERLAP SR_JAILBREAK_OVERLAP
#define BESIDE         ((size_t)512) /* bytes read on either side of a suspicious window */
#define SUSPICIOUS     0.1F          /* linear risk from which on a window comes first */

/* A part of a unit, before it becomes a region. */
struct part {
    size_t unit; /* index in `units` */
    size_t start, end;
    float risk;    /* the highest linear risk in it; below SUSPICIOUS: 0 */
    uint32_t rank; /* among those of the same risk */
    float highest; /* the highest linear risk, among those of the same rank */
};

/* A window that may be chosen. */
struct candidate {
    uint32_t unit; /* index in `units` */
    uint32_t round;
    uint32_t start, end; /* bytes of the unit, with what is beside it once it was chosen for its risk */
    float risk;
    uint32_t turn;   /* of its unit: 0 for the last user turn */
    float highest;   /* of its unit */
    uint32_t chosen; /* its place in the order of reading, from 1 on; 0: not chosen */
};

struct choice {
    struct sr_jailbreak_unit *units;
    size_t n_units;
    const struct sr_signal_unit *texts;
    size_t budget; /* bytes that are left */
    struct part *parts;
    size_t n_parts, most;
    struct candidate *candidates; /* by unit and start */
    size_t n_candidates, n_chosen;
    size_t n_runs; /* of candidates that were chosen and meet */
};

static const struct sr_signal_unit *text_of(const struct choice *choice, size_t unit)
{
    return &choice->texts[choice->units[unit].unit];
}

static float suspicion(float risk)
{
    return risk < SUSPICIOUS ? 0 : risk;
}

static int by_worth(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->risk < y->risk || x->risk > y->risk)
        return x->risk < y->risk ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->highest < y->highest || x->highest > y->highest)
        return x->highest < y->highest ? 1 : -1;
    if (x->unit != y->unit)
        return x->unit < y->unit ? 1 : -1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Parts of at most REGION_MAX bytes for [start, end) of a unit, as long as there is room. */
static void add_parts(struct choice *choice, size_t unit, size_t start, size_t end, float risk, uint32_t rank)
{

    struct sr_bytes text = text_of(choice, unit)->text;
    struct sr_slices slices =
        sr_slices_of(sr_bytes_of(text.p + start, end - start), REGION_MAX, REGION_OVERLAP);
    struct sr_slice slice;
    while (choice->n_parts < choice->most && sr_slices_next(&slices, &slice))
        choice->parts[choice->n_parts++] =
            (struct part){unit, start + slice.start, start + slice.end, suspicion(risk), rank, risk};
}

static size_t bytes_of(const struct choice *choice)
{
    size_t bytes = 0;
    for (size_t i = 0; i < choice->n_units; i++)
        bytes += text_of(choice, i)->text.n;
    return bytes;
}

/* True for what the user says in the message of group `last`. */
static bool is_asked(const struct sr_signal_unit *text, uint32_t last)
{
    return text->role == SR_ROLE_USER && text->source == SR_SOURCE_MESSAGE && text->group == last;
}

/* The group of the last user message; UINT32_MAX without one. */
static uint32_t last_turn(const struct choice *choice)
{
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < choice->n_units; i++) {
        const struct sr_signal_unit *text = text_of(choice, i);
        if (is_asked(text, text->group) && (last == UINT32_MAX || text->group > last))
            last = text->group;
    }
    return last;
}

/* Suspicious units first, then the last user turn, then by risk. */
static void choose_all(struct choice *choice)
{
    uint32_t last = last_turn(choice);
    for (size_t i = 0; i < choice->n_units; i++)
        add_parts(choice, i, 0, text_of(choice, i)->text.n,
                  sr_jailbreak_linear_risk(&choice->units[i], choice->units[i].worst.risk),
                  !is_asked(text_of(choice, i), last));
}

/* ---- more than the budget ---- */

/* A bound of [start, end), moved into the text and to the begin of a character. */
static size_t bound(struct sr_bytes text, size_t at)
{
    while (at < text.n && sr_utf8_is_tail(text.p[at]))
        at++;
    return at < text.n ? at : text.n;
}

static int by_unit_and_risk(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    if (x->risk < y->risk || x->risk > y->risk)
        return x->risk < y->risk ? 1 : -1;
    return (x->start < y->start) - (x->start > y->start);
}

static int by_place(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int newest(const struct candidate *x, const struct candidate *y)
{
    if (x->unit != y->unit)
        return x->unit < y->unit ? 1 : -1;
    return (x->start < y->start) - (x->start > y->start);
}

/* Pointers to candidates by risk; of equal ones the newest. */
static int by_risk(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
    if (x->risk < y->risk || x->risk > y->risk)
        return x->risk < y->risk ? 1 : -1;
    return newest(x, y);
}

/* Round by round; in a round the last user turn first, then the units with the highest risk. */
static int by_round(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x->highest < y->highest || x->highest > y->highest)
        return x->highest < y->highest ? 1 : -1;
    return newest(x, y);
}

static void add_candidate(struct choice *choice, size_t at, bool asked, size_t start, size_t end, float risk)
{
    const struct sr_jailbreak_unit *unit = &choice->units[at];
    choice->candidates[choice->n_candidates++] =
        (struct candidate){.unit = (uint32_t)at,
                           .start = (uint32_t)start,
                           .end = (uint32_t)end,
                           .risk = sr_jailbreak_linear_risk(unit, risk),
                           .highest = sr_jailbreak_linear_risk(unit, unit->worst.risk),
                           .turn = !asked};
}

/* Makes a candidate of each linear window, and of what stands between them: of a disguised part the linear
 * tier gives its worst window only. */
static void add_unit(struct choice *choice, size_t at, uint32_t last)
{
    const struct sr_jailbreak_unit *unit = &choice->units[at];
    const struct sr_signal_unit *text = text_of(choice, at);
    bool asked = is_asked(text, last);
    size_t first = choice->n_candidates, covered = 0, end;
    for (size_t k = 0; k < unit->linear.n; k++)
        add_candidate(choice, at, asked, unit->linear.windows[k].start, unit->linear.windows[k].end,
                      unit->linear.windows[k].risk);
    size_t n = choice->n_candidates - first;
    qsort(choice->candidates + first, n, sizeof *choice->candidates, by_place);
    for (size_t k = 0; k <= n; k++) {
        size_t until = k < n ? choice->candidates[first + k].start : text->text.n;
        for (; covered < until; covered = end) {
            end = bound(text->text, covered + SR_JAILBREAK_WINDOW);
            end = end < until ? end : until;
            add_candidate(choice, at, asked, covered, end, 0);
        }
        if (k < n && choice->candidates[first + k].end > covered)
            covered = choice->candidates[first + k].end;
    }
}

/* Makes the candidates of all units and counts rounds in each. */
static int make_candidates(struct choice *choice, struct sr_arena *arena)
{
    uint32_t last = last_turn(choice);
    size_t most = 0;
    for (size_t i = 0; i < choice->n_units; i++)
        most += 2 * choice->units[i].linear.n + 1 + text_of(choice, i)->text.n / SR_JAILBREAK_WINDOW;
    choice->candidates = sr_arena_calloc(arena, most + 1, sizeof *choice->candidates);
    if (!choice->candidates)
        return SR_ENOMEM;
    for (size_t i = 0; i < choice->n_units; i++)
        add_unit(choice, i, last);
    size_t n = choice->n_candidates;
    qsort(choice->candidates, n, sizeof *choice->candidates, by_unit_and_risk);
    for (size_t i = 1; i < n; i++)
        if (choice->candidates[i].unit == choice->candidates[i - 1].unit)
            choice->candidates[i].round = choice->candidates[i - 1].round + 1;
    qsort(choice->candidates, n, sizeof *choice->candidates, by_place);
    return SR_OK;
}

/* The chosen neighbour of a candidate (`step` -1 or 1); NULL when there is none in its unit. */
static const struct candidate *neighbour(const struct choice *choice, const struct candidate *of, int step)
{
    size_t at = (size_t)(of - choice->candidates);
    if (step < 0 ? at == 0 : at + 1 == choice->n_candidates)
        return NULL;
    const struct candidate *beside = of + step;
    return beside->unit == of->unit && beside->chosen ? beside : NULL;
}

/* Chooses a window with `beside` bytes on either side, unless it costs more than `budget`. */
static void choose(struct choice *choice, struct candidate *one, size_t beside, size_t *budget)
{
    struct sr_bytes text = text_of(choice, one->unit)->text;
    const struct candidate *left = neighbour(choice, one, -1), *right = neighbour(choice, one, 1);
    size_t start = one->start > beside ? bound(text, one->start - beside) : 0;
    size_t end = bound(text, one->end + beside);
    bool meets_left = left && left->end >= start, meets_right = right && right->start <= end;
    size_t from = meets_left && left->end < end ? left->end : start;
    size_t to = meets_right && right->start > from ? right->start : end;
    if (to - from > *budget || (choice->n_runs >= choice->most && !meets_left && !meets_right))
        return;
    *budget -= to - from;
    choice->n_runs += 1 - (size_t)meets_left;
    choice->n_runs -= meets_right && choice->n_runs > 1;
    one->start = (uint32_t)start;
    one->end = (uint32_t)end;
    one->chosen = (uint32_t)++choice->n_chosen;
}

/* Makes a part of each run of chosen windows that meet. */
static void join_chosen(struct choice *choice)
{
    for (size_t i = 0, next; i < choice->n_candidates; i = next) {
        struct candidate run = choice->candidates[i];
        next = i + 1;
        if (!run.chosen)
            continue;
        for (; next < choice->n_candidates; next++) {
            const struct candidate *more = &choice->candidates[next];
            if (more->unit != run.unit || !more->chosen || more->start > run.end ||
                more->end - run.start > REGION_MAX)
                break;
            run.end = more->end > run.end ? more->end : run.end;
            run.risk = more->risk > run.risk ? more->risk : run.risk;
            run.chosen = more->chosen < run.chosen ? more->chosen : run.chosen;
        }
        add_parts(choice, run.unit, run.start, run.end, run.risk, run.chosen);
    }
}

/* Three quarters of the budget, and half of the texts, go to the windows with the highest risk, of which the
 * highest is always read; the rest goes round the units. */
static int choose_some(struct choice *choice, size_t cuts, struct sr_arena *arena)
{
    size_t spare = choice->budget / 4, first, most = choice->most;
    int rc = make_candidates(choice, arena);
    struct candidate **order = rc ? NULL : sr_arena_calloc(arena, choice->n_candidates + 1, sizeof *order);
    if (!order)
        return SR_ENOMEM;
    for (size_t i = 0; i < choice->n_candidates; i++)
        order[i] = &choice->candidates[i];
    qsort(order, choice->n_candidates, sizeof(struct candidate *), by_risk);
    first = choice->budget - spare;
    choice->most = most / 2;
    for (size_t i = 0; i < choice->n_candidates && (i == 0 || order[i]->risk >= SUSPICIOUS); i++)
        choose(choice, order[i], BESIDE, &first);
    if (choice->n_candidates && !order[0]->chosen)
        choose(choice, order[0], 0, &first);
    choice->budget = spare + first;
    choice->most = most > cuts ? most - cuts : 1; /* long runs become several texts */
    qsort(order, choice->n_candidates, sizeof(struct candidate *), by_round);
    for (size_t i = 0; i < choice->n_candidates && choice->budget; i++)
        if (!order[i]->chosen)
            choose(choice, order[i], 0, &choice->budget);
    choice->most = most;
    join_chosen(choice);
    return SR_OK;
}

/* Makes the regions, the most suspicious first, and links them to their units. */
static void make_regions(struct choice *choice, struct sr_jailbreak_region *regions)
{
    qsort(choice->parts, choice->n_parts, sizeof *choice->parts, by_worth);
    for (size_t i = choice->n_parts; i-- > 0;) {
        const struct part *part = &choice->parts[i];
        struct sr_jailbreak_unit *unit = &choice->units[part->unit];
        const struct sr_signal_unit *text = text_of(choice, part->unit);
        regions[i] = (struct sr_jailbreak_region){
            .of = unit,
            .next = (struct sr_jailbreak_region *)unit->first,
            .text = sr_bytes_of(text->text.p + part->start, part->end - part->start),
            .from = part->start,
            .bytes = text->n_parts ? 0 : part->end - part->start};
        unit->first = &regions[i];
    }
}

int sr_jailbreak_choose(struct sr_jailbreak_unit *units, size_t n, const struct sr_signal_unit *texts,
                        size_t budget, struct sr_arena *arena, struct sr_jailbreak_region **out,
                        size_t *n_out)
{
    struct choice choice = {.units = units, .n_units = n, .texts = texts, .budget = budget};
    size_t bytes = bytes_of(&choice), cuts = bytes / (REGION_MAX / 2);
    bool all = bytes + cuts * REGION_OVERLAP <= budget && n + cuts <= SR_JAILBREAK_REGIONS_MAX;
    int rc = SR_OK;
    choice.most = all ? n + cuts : SR_JAILBREAK_REGIONS_MAX;
    choice.parts = sr_arena_calloc(arena, choice.most + 1, sizeof *choice.parts);
    if (!choice.parts)
        return SR_ENOMEM;
    if (all)
        choose_all(&choice);
    else if (budget == SIZE_MAX)
        return SR_ELIMIT;
    else
        rc = choose_some(&choice, cuts, arena);
    struct sr_jailbreak_region *regions = sr_arena_calloc(arena, choice.n_parts + 1, sizeof *regions);
    if (rc || !regions)
        return SR_ENOMEM;
    make_regions(&choice, regions);
    *out = regions;
    *n_out = choice.n_parts;
    return SR_OK;
}

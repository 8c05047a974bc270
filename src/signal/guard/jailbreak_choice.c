/*
 * What of a request the neural classifier reads. Units are whole where the budget allows it; a longer one is
 * cut, because the classifier reads a limited number of windows of one text.
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
    float risk; /* the highest linear risk in it; below SUSPICIOUS: 0 */
};

struct choice {
    struct sr_jailbreak_unit *units;
    size_t n_units;
    const struct sr_signal_unit *texts;
    size_t budget; /* bytes that are left */
    struct part *parts;
    size_t n_parts, most;
};

static const struct sr_signal_unit *text_of(const struct choice *choice, size_t unit)
{
    return &choice->texts[choice->units[unit].unit];
}

/* The most suspicious first, then what is current, then the newest. */
static int by_worth(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->risk < y->risk || x->risk > y->risk)
        return x->risk < y->risk ? 1 : -1;
    if (x->unit != y->unit)
        return x->unit < y->unit ? 1 : -1;
    return (x->start > y->start) - (x->start < y->start);
}

static float suspicion(float risk)
{
    return risk < SUSPICIOUS ? 0 : risk;
}

/* Parts of at most REGION_MAX bytes for [start, end) of a unit, as long as budget and room last. */
static void add_parts(struct choice *choice, size_t unit, size_t start, size_t end, float risk)
{
    struct sr_bytes text = text_of(choice, unit)->text;
    struct sr_slices slices =
        sr_slices_of(sr_bytes_of(text.p + start, end - start), REGION_MAX, REGION_OVERLAP);
    struct sr_slice slice;
    while (choice->n_parts < choice->most && sr_slices_next(&slices, &slice)) {
        size_t n = slice.end - slice.start;
        if (n > choice->budget)
            return;
        choice->budget -= n;
        choice->parts[choice->n_parts++] =
            (struct part){unit, start + slice.start, start + slice.end, suspicion(risk)};
    }
}

static size_t bytes_of(const struct choice *choice)
{
    size_t bytes = 0;
    for (size_t i = 0; i < choice->n_units; i++)
        bytes += text_of(choice, i)->text.n;
    return bytes;
}

static void choose_all(struct choice *choice)
{
    for (size_t i = 0; i < choice->n_units; i++)
        add_parts(choice, i, 0, text_of(choice, i)->text.n, choice->units[i].worst.risk);
    qsort(choice->parts, choice->n_parts, sizeof *choice->parts, by_worth);
}

/* ---- more than the budget ---- */

/* A bound of [start, end), moved into the text and to the begin of a character. */
static size_t bound(struct sr_bytes text, size_t at)
{
    while (at < text.n && sr_utf8_is_tail(text.p[at]))
        at++;
    return at < text.n ? at : text.n;
}

/* The windows of all units with a suspicious linear risk, with what is beside them. */
static int suspects(const struct choice *choice, struct sr_arena *arena, struct part **out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < choice->n_units; i++)
        for (size_t k = 0; k < choice->units[i].linear.n; k++)
            *n += choice->units[i].linear.windows[k].risk >= SUSPICIOUS;
    *out = sr_arena_calloc(arena, *n + 1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    size_t at = 0;
    for (size_t i = 0; i < choice->n_units; i++) {
        struct sr_bytes text = text_of(choice, i)->text;
        for (size_t k = 0; k < choice->units[i].linear.n; k++) {
            const struct sr_risk_window *w = &choice->units[i].linear.windows[k];
            if (w->risk < SUSPICIOUS)
                continue;
            size_t start = w->start > BESIDE ? bound(text, w->start - BESIDE) : 0;
            (*out)[at++] = (struct part){i, start, bound(text, w->end + BESIDE), w->risk};
        }
    }
    qsort(*out, *n, sizeof **out, by_worth);
    return SR_OK;
}

/* True when a chosen part has these bytes already. */
static bool is_chosen(const struct choice *choice, const struct part *part)
{
    for (size_t i = 0; i < choice->n_parts; i++) {
        const struct part *known = &choice->parts[i];
        if (known->unit == part->unit && known->start <= part->start && part->end <= known->end)
            return true;
    }
    return false;
}

/* Most of the budget goes to the windows with the highest risk, the rest to the newest units. Of a unit that
 * is too long for what is left the end is read, which is nearest to the answer. */
static int choose_some(struct choice *choice, struct sr_arena *arena)
{
    struct part *list;
    size_t n, spare = choice->budget / 4;
    int rc = suspects(choice, arena, &list, &n);
    if (rc)
        return rc;
    choice->budget -= spare;
    for (size_t i = 0; i < n && choice->n_parts < choice->most / 2; i++)
        if (!is_chosen(choice, &list[i]))
            add_parts(choice, list[i].unit, list[i].start, list[i].end, list[i].risk);
    choice->budget += spare;
    size_t chosen = choice->n_parts;
    for (size_t i = choice->n_units; i-- > 0 && choice->budget >= SR_JAILBREAK_WINDOW;) {
        struct sr_bytes text = text_of(choice, i)->text;
        size_t start = text.n > choice->budget ? bound(text, text.n - choice->budget) : 0;
        add_parts(choice, i, start, text.n, 0);
    }
    qsort(choice->parts + chosen, choice->n_parts - chosen, sizeof *choice->parts, by_worth);
    return SR_OK;
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
        rc = choose_some(&choice, arena);
    struct sr_jailbreak_region *regions = sr_arena_calloc(arena, choice.n_parts + 1, sizeof *regions);
    if (rc || !regions)
        return SR_ENOMEM;
    for (size_t i = choice.n_parts; i-- > 0;) {
        const struct part *part = &choice.parts[i];
        struct sr_jailbreak_unit *unit = &units[part->unit];
        const struct sr_signal_unit *text = text_of(&choice, part->unit);
        regions[i] = (struct sr_jailbreak_region){
            .of = unit,
            .next = (struct sr_jailbreak_region *)unit->first,
            .text = sr_bytes_of(text->text.p + part->start, part->end - part->start),
            .from = part->start,
            .bytes = text->n_parts ? 0 : part->end - part->start};
        unit->first = &regions[i];
    }
    *out = regions;
    *n_out = choice.n_parts;
    return SR_OK;
}

/* Compares each window of one tier with those of the other that overlap it. */
#include "signal/guard/risk.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct sr_risk_window sr_risk_higher(struct sr_risk_window a, struct sr_risk_window b)
{
    return b.risk > a.risk ? b : a;
}

static int by_start(const void *a, const void *b)
{
    const struct sr_risk_window *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void sort(struct sr_risk_window *windows, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < n; i++)
        sorted = windows[i - 1].start <= windows[i].start;
    if (!sorted)
        qsort(windows, n, sizeof *windows, by_start);
}

/* How windows of each neural classifier are mixed with linear ones. */
struct fusions {
    const struct sr_fusion *first, *other;
};

/* What both say of the bytes that both read: the place is that of the one with the higher risk. */
static struct sr_risk_window mix(const struct sr_risk_window *linear, const struct sr_risk_window *neural,
                                 struct fusions fusions)
{
    float a[2] = {1 - neural->risk, neural->risk}, b[2] = {1 - linear->risk, linear->risk};
    struct sr_risk_window mixed = neural->risk > linear->risk ? *neural : *linear;
    sr_fusion_mix(neural->other ? fusions.other : fusions.first, a, b, 2, a);
    mixed.label = linear->label;
    mixed.other = neural->other;
    mixed.risk = a[1] < SR_RISK_MAX ? a[1] : SR_RISK_MAX;
    return mixed;
}

static bool is_whole(const struct sr_risk_sides *sides, const struct sr_risk_window *window)
{
    for (size_t i = 0; i < sides->n_whole; i++)
        if (sides->whole[i].start <= window->start && window->end <= sides->whole[i].end)
            return true;
    return false;
}

/* The highest mix of one window with those of `others` that overlap it, from *low on, before which none
 * does; later windows begin later. False: none overlaps it. */
static bool mix_with(const struct sr_risk_window *window, bool is_linear, const struct sr_risk_window *others,
                     size_t n, size_t *low, struct fusions fusions, struct sr_risk_window *out)
{
    bool any = false;
    while (*low < n && others[*low].end <= window->start)
        ++*low;
    for (size_t i = *low; i < n && others[i].start < window->end; i++) {
        if (others[i].end <= window->start)
            continue;
        struct sr_risk_window mixed =
            is_linear ? mix(window, &others[i], fusions) : mix(&others[i], window, fusions);
        *out = any ? sr_risk_higher(*out, mixed) : mixed;
        any = true;
    }
    return any;
}

float sr_risk_long_shift(size_t stretches)
{
    float shift = stretches < SR_RISK_LONG_FROM ? 0 : SR_RISK_LONG_SHIFT * logf((float)stretches);
    return shift < SR_RISK_LONG_MOST ? shift : SR_RISK_LONG_MOST;
}

/* The highest of `alone` that overlaps the window, from *low on, as in mix_with; NULL: none. */
static const struct sr_risk_window *highest_in(const struct sr_risk_window *window,
                                               const struct sr_risk_sides *sides, size_t *low)
{
    const struct sr_risk_window *highest = NULL;
    while (*low < sides->n_alone && sides->alone[*low].end <= window->start)
        ++*low;
    for (size_t i = *low; i < sides->n_alone && sides->alone[i].start < window->end; i++) {
        const struct sr_risk_window *passage = &sides->alone[i];
        if (passage->end > window->start && (!highest || passage->risk > highest->risk))
            highest = passage;
    }
    return highest;
}

/* A window with a passage in it that was read alone. The place is the passage's where that is the higher. */
static struct sr_risk_window with_passage(const struct sr_risk_window *window,
                                          const struct sr_risk_window *passage)
{
    static const struct sr_fusion fusion = {
        .neural = SR_RISK_ALONE, .linear = 1 - SR_RISK_ALONE, .temperature = 1};
    float a[2] = {1 - passage->risk, passage->risk}, b[2] = {1 - window->risk, window->risk};
    struct sr_risk_window mixed = passage->risk > window->risk ? *passage : *window;
    sr_fusion_mix(&fusion, a, b, 2, a);
    float least = sr_risk_lowered(window->risk, SR_RISK_ALONE_MOST);
    mixed.risk = a[1] < least ? least : a[1] < SR_RISK_MAX ? a[1] : SR_RISK_MAX;
    return mixed;
}

struct sr_risk_window sr_risk_of_parts(const struct sr_risk_part *parts, size_t n, size_t stretches,
                                       struct sr_risk_window rest)
{
    struct sr_risk_window highest = {.risk = 0};
    for (size_t i = 0; i < n; i++)
        highest = sr_risk_higher(highest, parts[i].all);
    highest.risk = sr_risk_lowered(highest.risk, sr_risk_long_shift(stretches));
    return sr_risk_higher(highest, rest);
}

/* What both tiers say of a long unit. */
static struct sr_risk_window long_risk(struct sr_risk_sides *sides)
{
    static const struct sr_fusion fusion = {.neural = SR_RISK_LONG_NEURAL,
                                            .linear = 1 - SR_RISK_LONG_NEURAL,
                                            .temperature = 1,
                                            .linear_limit = SR_RISK_LONG_LIMIT};
    const struct fusions fusions = {&fusion, sides->other};
    struct sr_risk_window highest = {.risk = 0}, mixed;
    size_t low = 0, low_alone = 0;
    sort(sides->passages, sides->n_passages);
    sort(sides->alone, sides->n_alone);
    for (size_t i = 0; i < sides->n_neural; i++) {
        const struct sr_risk_window *window = &sides->neural[i];
        const struct sr_risk_window *alone = highest_in(window, sides, &low_alone);
        if (!mix_with(window, false, sides->passages, sides->n_passages, &low, fusions, &mixed))
            mixed = *window;
        mixed = alone ? with_passage(&mixed, alone) : mixed;
        if (sides->parts)
            sides->parts[i] =
                (struct sr_risk_part){window->start, window->end, !window->other && !window->disguise, mixed};
        highest = sr_risk_higher(highest, mixed);
    }
    sides->rest = (struct sr_risk_window){.risk = 0};
    for (size_t i = 0; i < sides->n_linear; i++)
        if (!is_whole(sides, &sides->linear[i]))
            sides->rest = sr_risk_higher(sides->rest, sides->linear[i]);
    highest.risk = sr_risk_lowered(highest.risk, sr_risk_long_shift(sides->stretches));
    return sr_risk_higher(highest, sides->rest);
}

/* The same of a short one. */
static struct sr_risk_window short_risk(struct sr_risk_sides *sides, const struct sr_fusion *fusion)
{
    const struct fusions fusions = {fusion, sides->other};
    struct sr_risk_window highest = {.risk = 0}, mixed;
    size_t low = 0;
    for (size_t i = 0; i < sides->n_linear; i++) {
        const struct sr_risk_window *window = &sides->linear[i];
        bool both = mix_with(window, true, sides->neural, sides->n_neural, &low, fusions, &mixed);
        if (both)
            highest = sr_risk_higher(highest, mixed);
        if (!both || !is_whole(sides, window))
            highest = sr_risk_higher(highest, *window);
    }
    low = 0;
    for (size_t i = 0; i < sides->n_neural; i++)
        if (!mix_with(&sides->neural[i], false, sides->linear, sides->n_linear, &low, fusions, &mixed))
            highest = sr_risk_higher(highest, sides->neural[i]);
    return highest;
}

struct sr_risk_window sr_risk_of(struct sr_risk_sides *sides, const struct sr_fusion *fusion)
{
    sort(sides->linear, sides->n_linear);
    sort(sides->neural, sides->n_neural);
    return sides->stretches < SR_RISK_LONG_FROM ? short_risk(sides, fusion) : long_risk(sides);
}

float sr_risk_distance(float risk)
{
    float odds = logf(SR_RISK_SECOND_AT / (1 - SR_RISK_SECOND_AT));
    return risk > 0 && risk < 1 ? fabsf(logf(risk / (1 - risk)) - odds) : INFINITY;
}

float sr_risk_lowered(float risk, float shift)
{
    float odds = risk * expf(-shift);
    return odds / (1 - risk + odds);
}

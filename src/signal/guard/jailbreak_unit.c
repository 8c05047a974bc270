/*
 * One unit: the windows of the linear tier and those of the neural classifier, for its text and its disguised
 * parts, and what both say together.
 */
#include "signal/guard/jailbreak.h"

/* What the linear tier says of a unit. */
static struct sr_risk_sides sides_of(const struct sr_jailbreak_unit *unit)
{
    return (struct sr_risk_sides){.linear = unit->linear.windows,
                                  .n_linear = unit->linear.n,
                                  .passages = unit->linear.passages,
                                  .n_passages = unit->linear.n_passages,
                                  .stretches = unit->stretches};
}

int sr_jailbreak_unit_read(struct sr_jailbreak_unit *unit, struct sr_jailbreak_session *session,
                           struct sr_bytes text, struct sr_arena *arena, struct sr_signal_result *result)
{
    int rc = sr_jailbreak_read(session, text, arena, &unit->linear);
    struct sr_risk_sides sides = sides_of(unit);
    unit->worst = sr_risk_of(&sides, &(struct sr_fusion){.linear = 1, .temperature = 1});
    result->remembered += unit->linear.remembered;
    return rc;
}

int sr_jailbreak_region_views(struct sr_jailbreak_region *region, struct sr_arena *arena,
                              struct sr_bytes *out, bool *instead)
{
    size_t total = 0, at = 0;
    int rc = sr_undisguise(region->text, SR_JAILBREAK_OVERLAP, arena, &region->views);
    *out = SR_LIT("");
    *instead = false;
    for (size_t i = 0; !rc && i < region->views.n; i++)
        total += region->views.items[i].text.n + 1;
    if (rc || total == 0)
        return rc;
    char *joined = sr_arena_alloc(arena, total);
    if (!joined)
        return SR_ENOMEM;
    for (size_t i = 0; i < region->views.n; i++) {
        memcpy(joined + at, region->views.items[i].text.p, region->views.items[i].text.n);
        at += region->views.items[i].text.n;
        joined[at++] = '\n';
    }
    *out = sr_bytes_of(joined, total - 1);
    *instead = sr_undisguised_stand_for(region->text, &region->views, 0, region->text.n);
    return SR_OK;
}

float sr_jailbreak_unit_risk(const struct sr_jailbreak_unit *unit)
{
    if (unit->mixed && unit->system)
        return sr_risk_lowered(unit->worst.risk,
                               unit->worst.other ? SR_RISK_SYSTEM_OTHER : SR_RISK_SYSTEM_BOTH);
    return sr_jailbreak_linear_risk(unit, unit->worst.risk);
}

float sr_jailbreak_linear_risk(const struct sr_jailbreak_unit *unit, float risk)
{
    return unit->system ? sr_risk_lowered(risk, SR_RISK_SYSTEM_LINEAR) : risk;
}

size_t sr_jailbreak_region_read(const struct sr_jailbreak_region *region)
{
    const struct sr_signal_question *question = region->plain ? region->plain : region->undisguised;
    size_t read = question->status == SR_OK ? sr_neural_scope(question->result).read_bytes : 0;
    if (region->bytes == 0)
        return 0;
    return sr_signal_question_is_whole(question) || read > region->bytes ? region->bytes : read;
}

static bool is_whole(const struct sr_jailbreak_region *region)
{
    return (!region->plain || sr_signal_question_is_whole(region->plain)) &&
           (!region->undisguised || sr_signal_question_is_whole(region->undisguised));
}

/* Moves a window of the joined views to the bytes of the region that these stand for. */
static void place_in_text(const struct sr_jailbreak_region *region, struct sr_risk_window *window)
{
    uint32_t start = window->start, end = window->end;
    size_t at = 0;
    for (size_t i = 0; i < region->views.n; i++) {
        const struct sr_undisguised *view = &region->views.items[i];
        if (at < end && at + view->text.n > start) {
            window->start = window->disguise ? window->start : (uint32_t)view->start;
            window->end = (uint32_t)view->end;
            window->disguise |= view->disguise;
        }
        at += view->text.n + 1;
    }
}

static size_t count_windows(const struct sr_signal_question *question)
{
    return question && question->status == SR_OK ? sr_neural_scope(question->result).windows : 0;
}

/* The head that has answered; both neural classifiers' heads have the same labels. */
static const struct sr_head_info *head_of(const struct sr_signal_question *question,
                                          const struct sr_jailbreak_models *models)
{
    const struct sr_head_info *other =
        question->neural ? sr_neural_head(question->neural, SR_JAILBREAK_TASK) : NULL;
    return other ? other : models->head;
}

/* The neural classifier's windows of an answer. */
static size_t take_windows(const struct sr_jailbreak_region *region,
                           const struct sr_signal_question *question,
                           const struct sr_jailbreak_models *models, struct sr_risk_window *out)
{
    size_t n = count_windows(question), from = region->from;
    const struct sr_head_info *head = question ? head_of(question, models) : NULL;
    if (question && question != region->undisguised)
        from += (size_t)(question->text.p - region->text.p);
    for (size_t i = 0; i < n; i++) {
        struct sr_risk_window *window = &out[i];
        float best = -1;
        *window = (struct sr_risk_window){.other = question->neural != NULL};
        const float *p = sr_neural_window(question->result, head, i, &window->start, &window->end);
        for (size_t k = 0; k < head->n_labels; k++) {
            if (!(models->attack >> k & 1))
                continue;
            window->risk += p[k];
            window->label = p[k] > best ? (uint16_t)k : window->label;
            best = p[k] > best ? p[k] : best;
        }
        window->risk = window->risk < SR_RISK_MAX ? window->risk : SR_RISK_MAX;
        if (question == region->undisguised)
            place_in_text(region, window);
        window->start += (uint32_t)from;
        window->end += (uint32_t)from;
    }
    return n;
}

/* What both tiers say of the passages that were read alone, each as of a short text. */
static size_t take_alone(const struct sr_jailbreak_region *region, const struct sr_jailbreak_models *models,
                         struct sr_risk_window *out)
{
    size_t n = 0;
    for (size_t i = 0; i < region->n_alone; i++) {
        const struct sr_risk_window *linear = region->alone_are[i];
        if (!sr_signal_question_is_whole(&region->alone[i]))
            continue;
        struct sr_risk_window *neural = out + n + 1, whole = *linear;
        size_t windows = take_windows(region, &region->alone[i], models, neural);
        struct sr_risk_sides sides = {.linear = &whole, .n_linear = 1, .neural = neural, .n_neural = windows};
        sides.whole = &(struct sr_risk_range){linear->start, linear->end};
        sides.n_whole = 1;
        out[n] = sr_risk_of(&sides, &models->fusion);
        out[n].start = linear->start;
        out[n++].end = linear->end;
    }
    return n;
}

int sr_jailbreak_unit_mix(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                          struct sr_arena *arena)
{
    struct sr_risk_sides sides = sides_of(unit);
    size_t n = 0, n_alone = 1, regions = 0;
    for (const struct sr_jailbreak_region *region = unit->first; region; region = region->next) {
        n += count_windows(region->plain) + count_windows(region->undisguised);
        for (size_t i = 0; i < region->n_alone; i++)
            n_alone += 1 + count_windows(&region->alone[i]);
        for (size_t i = 0; i < region->n_stretches; i++)
            n += count_windows(&region->stretches[i]);
        regions++;
    }
    struct sr_risk_window *windows = sr_arena_calloc(arena, n + 1, sizeof *windows);
    struct sr_risk_range *whole = sr_arena_calloc(arena, regions + 1, sizeof *whole);
    sides.alone = sr_arena_calloc(arena, n_alone, sizeof *sides.alone);
    if (!windows || !whole || !sides.alone)
        return SR_ENOMEM;
    for (const struct sr_jailbreak_region *region = unit->first; region; region = region->next) {
        sides.n_neural += take_windows(region, region->plain, models, windows + sides.n_neural);
        sides.n_neural += take_windows(region, region->undisguised, models, windows + sides.n_neural);
        for (size_t i = 0; i < region->n_stretches; i++)
            sides.n_neural += take_windows(region, &region->stretches[i], models, windows + sides.n_neural);
        sides.n_alone += take_alone(region, models, sides.alone + sides.n_alone);
        if (is_whole(region))
            whole[sides.n_whole++] =
                (struct sr_risk_range){(uint32_t)region->from, (uint32_t)(region->from + region->text.n)};
    }
    bool parted = models->reads_twice && unit->stretches >= SR_RISK_LONG_FROM && sides.n_neural;
    if (parted && !(sides.parts = sr_arena_calloc(arena, sides.n_neural, sizeof *sides.parts)))
        return SR_ENOMEM;
    sides.neural = windows;
    sides.other = &models->other_fusion;
    sides.whole = whole;
    if (sides.n_neural)
        unit->worst = sr_risk_of(&sides, &models->fusion);
    unit->mixed = sides.n_neural > 0;
    unit->parts = sides.parts;
    unit->n_parts = sides.parts ? sides.n_neural : 0;
    unit->rest = sides.rest;
    return SR_OK;
}

/*
 * One unit: the results of the linear tier and the neural classifier for its text and its disguised parts,
 * and their combination.
 */
#include "signal/guard/jailbreak.h"
#include "signal/guard/risk.h"

#define SCRATCH_MAX ((size_t)64 << 20)

int sr_jailbreak_unit_read(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                           struct sr_bytes text, struct sr_bytes tenant, struct sr_signal_result *result)
{
    struct sr_signal_finding *finding = &unit->finding;
    struct sr_jailbreak_finding found;
    struct sr_arena scratch;
    sr_arena_init(&scratch, SCRATCH_MAX);
    int rc = sr_jailbreak_read(models->reader, text, tenant, &scratch, &found);
    sr_arena_dispose(&scratch);
    if (rc)
        return rc;
    finding->type = found.label;
    finding->start = found.start;
    finding->end = found.end;
    finding->confidence = found.risk;
    finding->disguise = found.disguise;
    result->remembered += found.windows == 0;
    return SR_OK;
}

int sr_jailbreak_unit_views(struct sr_jailbreak_unit *unit, struct sr_bytes text, struct sr_arena *arena,
                            struct sr_bytes *out)
{
    size_t total = 0, at = 0;
    int rc = sr_undisguise(text, SR_JAILBREAK_OVERLAP, arena, &unit->views, &unit->n_views);
    *out = SR_LIT("");
    for (size_t i = 0; !rc && i < unit->n_views; i++)
        total += unit->views[i].text.n + 1;
    if (rc || total == 0)
        return rc;
    char *joined = sr_arena_alloc(arena, total);
    if (!joined)
        return SR_ENOMEM;
    for (size_t i = 0; i < unit->n_views; i++) {
        memcpy(joined + at, unit->views[i].text.p, unit->views[i].text.n);
        at += unit->views[i].text.n;
        joined[at++] = '\n';
    }
    *out = sr_bytes_of(joined, total - 1);
    return SR_OK;
}

bool sr_jailbreak_unit_is_views(const struct sr_jailbreak_unit *unit, struct sr_bytes text)
{
    return sr_undisguised_stand_for(text, unit->views, unit->n_views, 0, text.n);
}

/* Maps bytes [start, end) of the joined views to offsets in the text. */
static void place_in_text(struct sr_jailbreak_unit *unit, uint32_t start, uint32_t end)
{
    size_t at = 0;
    unit->disguise = 0;
    for (size_t i = 0; i < unit->n_views; i++) {
        const struct sr_undisguised *view = &unit->views[i];
        if (at < end && at + view->text.n > start) {
            unit->start = unit->disguise ? unit->start : view->start;
            unit->end = view->end;
            unit->disguise |= view->disguise;
        }
        at += view->text.n + 1;
    }
}

/* Takes the neural classifier's result for a text: the combined risk of its windows, and the span of the
 * worst one. */
void sr_jailbreak_unit_answer(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                              const struct sr_signal_question *question)
{
    struct sr_risk all = {.spread = SR_RISK_SPREAD_NEURAL};
    uint32_t worst_start = 0, worst_end = 0, worst_label = 0;
    float worst = -1;
    for (size_t i = 0, n = sr_neural_scope(question->result).windows; i < n; i++) {
        uint32_t start, end, label = 0;
        const float *p = sr_neural_window(question->result, models->head, i, &start, &end);
        float risk = 0, best = -1;
        for (size_t k = 0; k < models->head->n_labels; k++) {
            if (!(models->attack >> k & 1))
                continue;
            risk += p[k];
            label = p[k] > best ? (uint32_t)k : label;
            best = p[k] > best ? p[k] : best;
        }
        sr_risk_add(&all, risk);
        if (risk <= worst)
            continue;
        worst = risk;
        worst_label = label;
        worst_start = start;
        worst_end = end;
    }
    float risk = sr_risk_gathered(&all);
    if (all.n == 0 || risk <= unit->neural)
        return;
    unit->neural = risk;
    unit->label = worst_label;
    unit->start = worst_start;
    unit->end = worst_end;
    unit->disguise = 0;
    if (question->view)
        place_in_text(unit, worst_start, worst_end);
}

/* Combines the results of both tiers for a unit; a neural result without a linear one is used unchanged.
 * The span is that of the tier with the higher risk. */
void sr_jailbreak_unit_mix(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models)
{
    struct sr_signal_finding *finding = &unit->finding;
    if (unit->neural < 0)
        return;
    float linear = models->reader ? finding->confidence : 0;
    float a[2] = {1 - unit->neural, unit->neural}, b[2] = {1 - linear, linear};
    if (models->reader)
        sr_fusion_mix(&models->fusion, a, b, 2, a);
    if (unit->unread && a[1] < linear)
        return;
    if (!models->reader || unit->neural > linear) {
        finding->start = unit->start;
        finding->end = unit->end;
        finding->disguise = unit->disguise;
        finding->type = models->reader ? finding->type : unit->label;
    }
    finding->confidence = a[1];
}

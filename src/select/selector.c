/* Opens an algorithm and asks it; what it has no say in falls back to the scores of the category. */
#include "select/select.h"

#include <math.h>

int sr_selector_open(struct sr_selector *out, const struct sr_select_setup *setup, struct sr_err *err)
{
    *out = (struct sr_selector){.ops = sr_select_find(setup->config->type), .config = setup->config};
    if (!out->ops)
        return sr_err_set(err, SR_ENOENT, "there is no algorithm `%.40s`", setup->config->type);
    int rc = out->ops->open ? out->ops->open(&out->state, setup, err) : SR_OK;
    if (rc)
        *out = (struct sr_selector){0};
    return rc;
}

void sr_selector_close(struct sr_selector *selector)
{
    if (selector->ops && selector->ops->close)
        selector->ops->close(selector->state);
    *selector = (struct sr_selector){0};
}

int sr_selector_rank(const struct sr_selector *selector, const struct sr_select_ask *ask,
                     const struct sr_select_candidate *candidates, size_t n, struct sr_arena *arena,
                     struct sr_ranking *out)
{
    *out = (struct sr_ranking){.algorithm = selector->ops->name, .why = "", .n = n};
    if (!selector->ops->rank || n == 0)
        return SR_OK;
    out->items = sr_arena_calloc(arena, n, sizeof *out->items);
    double *scores = sr_arena_calloc(arena, n, sizeof *scores);
    if (!out->items || !scores)
        return SR_ENOMEM;
    size_t most = n < SR_SELECT_CANDIDATES_MAX ? n : SR_SELECT_CANDIDATES_MAX;
    int rc = selector->ops->rank(selector->state, selector->config, ask, candidates, most, out);
    if (rc == SR_ENOENT)
        return SR_OK;
    for (size_t i = 0; i < n; i++)
        scores[i] = i >= most || isnan(out->items[i].score) ? -HUGE_VAL : out->items[i].score;
    out->scores = scores;
    return rc;
}

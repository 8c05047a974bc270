/* Finds the entry, makes one with the outcome, and swaps them; anew where another outcome was faster. */
#include "history/report.h"

#include "history/select.h"

static bool same(struct sr_bytes a, struct sr_bytes b)
{
    return sr_bytes_eq(a, b);
}

/* The outcomes of an entry with this one as the last. */
static size_t with(const struct sr_history_facts *f, const struct sr_history_outcome *added,
                   struct sr_history_outcome out[SR_HISTORY_OUTCOMES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const struct sr_history_outcome *o = &f->outcomes[i];
        if (!same(o->source, added->source) || !same(o->target, added->target) ||
            !same(o->target_ref, added->target_ref))
            out[n++] = *o;
    }
    if (n == SR_HISTORY_OUTCOMES_MAX) {
        n--;
        memmove(out, out + 1, n * sizeof *out);
    }
    out[n++] = *added;
    return n;
}

int sr_history_report(struct sr_history *history, struct sr_bytes id, bool by_request,
                      const struct sr_history_outcome *outcome)
{
    struct sr_history_outcome outcomes[SR_HISTORY_OUTCOMES_MAX];
    bool done = false;
    int rc = SR_OK;
    while (!done && !rc) {
        struct sr_history_entry *made = NULL,
                                *old = sr_history_find(
                                    history, by_request ? SR_HISTORY_REQUEST_ID : SR_HISTORY_ID, id);
        if (!old)
            return SR_ENOENT;
        struct sr_history_facts f = old->f;
        f.n_outcomes = with(&f, outcome, outcomes);
        f.outcomes = outcomes;
        rc = sr_history_entry_new(&made, &f);
        if (!rc)
            done = sr_history_replace(history, old, made);
        sr_history_entry_unref(made);
        sr_history_entry_unref(old);
    }
    return rc;
}

/* Takes an exchange from phase to phase. The last phase of each order settles it. */
#include "router/exchange/phases.h"

#include "base/clock.h"

static const struct sr_phase *const route[] = {
    &sr_phase_expand,    &sr_phase_look,  &sr_phase_early,  &sr_phase_route, &sr_phase_permit,
    &sr_phase_limit,     &sr_phase_tools, &sr_phase_recall, &sr_phase_edit,  &sr_phase_upload,
    &sr_phase_translate, &sr_phase_pick,  &sr_phase_send,
};

static const struct sr_phase *const named[] = {
    &sr_phase_expand,    &sr_phase_look,   &sr_phase_early, &sr_phase_permit,
    &sr_phase_limit,     &sr_phase_recall, &sr_phase_edit,  &sr_phase_upload,
    &sr_phase_translate, &sr_phase_pick,   &sr_phase_send,
};

static const struct sr_phase *const pass[] = {
    &sr_phase_expand, &sr_phase_permit,    &sr_phase_limit, &sr_phase_whole,
    &sr_phase_upload, &sr_phase_translate, &sr_phase_pick,  &sr_phase_send,
};

static const struct sr_phase *const again[] = {
    &sr_phase_permit,    &sr_phase_recall, &sr_phase_edit, &sr_phase_upload,
    &sr_phase_translate, &sr_phase_pick,   &sr_phase_send,
};

static const struct sr_phase *const embed[] = {
    &sr_phase_look,
    &sr_phase_limit,
    &sr_phase_whole,
    &sr_phase_embed,
};

static const struct sr_phase *const embed_guarded[] = {
    &sr_phase_look, &sr_phase_route, &sr_phase_limit, &sr_phase_edit, &sr_phase_embed,
};

static const struct sr_phase *const stored[] = {&sr_phase_stored};

static const struct sr_phase *const *const orders[] = {
    [SR_PHASES_ROUTE] = route,   [SR_PHASES_NAMED] = named, [SR_PHASES_PASS] = pass,
    [SR_PHASES_AGAIN] = again,   [SR_PHASES_EMBED] = embed, [SR_PHASES_EMBED_GUARDED] = embed_guarded,
    [SR_PHASES_STORED] = stored,
};

/* ---- their times ---- */

static void note_begin(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    enum sr_record_part part = (*x->phase)->part;
    if (part && r->n_phases < SR_RECORD_PHASES_MAX)
        r->phases[r->n_phases++] = (struct sr_record_phase){.part = part, .began = sr_clock_ns()};
}

/* The step of a phase; it has ended, unless it waits. */
static enum sr_phase_step noted(sr_exchange *x, const struct sr_phase *phase, enum sr_phase_step step)
{
    struct sr_record *r = &x->record;
    struct sr_record_phase *last = r->n_phases ? &r->phases[r->n_phases - 1] : NULL;
    if (step != SR_PHASE_WAITS && phase->part && last->part == phase->part && !last->ended)
        last->ended = sr_clock_ns();
    return step;
}

/* ---- the way ---- */

static enum sr_phase_step begin(sr_exchange *x)
{
    const struct sr_phase *phase = *x->phase;
    note_begin(x);
    enum sr_phase_step step = phase->begin(x);
    if (step == SR_PHASE_WAITS && x->hurries && phase->hurries) {
        phase->give_up(x);
        step = phase->end(x);
    }
    return noted(x, phase, step);
}

/* Goes on after a phase that made this step. */
static void go_on(sr_exchange *x, enum sr_phase_step step)
{
    while (step == SR_PHASE_NEXT) {
        x->phase++;
        step = begin(x);
    }
    if (step == SR_PHASE_WAITS)
        x->state = SR_EXCHANGE_WAITING;
}

void sr_exchange_begin_phases(sr_exchange *x, enum sr_phases phases)
{
    x->phase = orders[phases];
    go_on(x, begin(x));
}

void sr_exchange_resume(sr_exchange *x)
{
    const struct sr_phase *phase = *x->phase;
    go_on(x, noted(x, phase, phase->end(x)));
}

void sr_exchange_give_up(sr_exchange *x)
{
    x->hurries = true;
    (*x->phase)->give_up(x);
    sr_exchange_resume(x);
}

uint64_t sr_exchange_waits_until_ns(const sr_exchange *x)
{
    return (*x->phase)->deadline_ns(x);
}

bool sr_exchange_waits_for_own_work(const sr_exchange *x)
{
    return (*x->phase)->own_work;
}

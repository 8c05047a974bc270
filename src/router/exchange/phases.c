/* Takes an exchange from phase to phase. The last phase of each order settles it. */
#include "router/exchange/phases.h"

static const struct sr_phase *const route[] = {
    &sr_phase_look,      &sr_phase_early, &sr_phase_route,  &sr_phase_permit,
    &sr_phase_limit,     &sr_phase_tools, &sr_phase_recall, &sr_phase_edit,
    &sr_phase_translate, &sr_phase_pick,  &sr_phase_send,
};

static const struct sr_phase *const named[] = {
    &sr_phase_look, &sr_phase_early,     &sr_phase_permit, &sr_phase_limit, &sr_phase_recall,
    &sr_phase_edit, &sr_phase_translate, &sr_phase_pick,   &sr_phase_send,
};

static const struct sr_phase *const pass[] = {
    &sr_phase_permit, &sr_phase_limit, &sr_phase_whole, &sr_phase_translate, &sr_phase_pick, &sr_phase_send,
};

static const struct sr_phase *const again[] = {
    &sr_phase_permit,    &sr_phase_limit, &sr_phase_recall, &sr_phase_edit,
    &sr_phase_translate, &sr_phase_pick,  &sr_phase_send,
};

static const struct sr_phase *const *const orders[] = {
    [SR_PHASES_ROUTE] = route,
    [SR_PHASES_NAMED] = named,
    [SR_PHASES_PASS] = pass,
    [SR_PHASES_AGAIN] = again,
};

static enum sr_phase_step begin(sr_exchange *x)
{
    const struct sr_phase *phase = *x->phase;
    enum sr_phase_step step = phase->begin(x);
    if (step != SR_PHASE_WAITS || !x->hurries || !phase->hurries)
        return step;
    phase->give_up(x);
    return phase->end(x);
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
    go_on(x, (*x->phase)->end(x));
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

/* The rules in their order: what may not be kept, what must be, and the price of a switch. */
#include "select/protect.h"

#include <math.h>

#define COST_COLD     0.20
#define COST_HANDOFF  0.05
#define COST_SWITCH   0.04
#define SWITCHES_MOST 5u

static bool says(struct sr_protect_verdict *out, const char *action, const char *reason, bool holds)
{
    *out = (struct sr_protect_verdict){action, reason, holds};
    return holds;
}

bool sr_protect_continues(const struct sr_protect_ask *ask, struct sr_protect_verdict *out)
{
    const struct sr_hold *hold = ask->hold;
    if (!hold)
        return says(out, "new", "first_turn", false);
    if (hold->decision != ask->decision)
        return says(out, "new", "decision_changed", false);
    if (ask->config->idle_timeout_s && ask->now_ms - hold->ended_ms > ask->config->idle_timeout_s * 1000)
        return says(out, "new", "idle", false);
    *out = (struct sr_protect_verdict){"", "", false};
    return true;
}

/* How much of this prompt the model has read with the turn before: 0..1. */
static double read_before(const struct sr_protect_ask *ask)
{
    if (!ask->bytes)
        return 0;
    return ask->hold->bytes < ask->bytes ? (double)ask->hold->bytes / (double)ask->bytes : 1;
}

static double cost_of(const struct sr_protect_ask *ask)
{
    uint32_t switches = ask->hold->switches < SWITCHES_MOST ? ask->hold->switches : SWITCHES_MOST;
    return COST_COLD * read_before(ask) + COST_HANDOFF + COST_SWITCH * switches;
}

void sr_protect_decide(const struct sr_protect_ask *ask, double best, double held, bool same,
                       struct sr_protect_verdict *out)
{
    const struct sr_config_protection *config = ask->config;
    if (same) {
        says(out, "hold_current", "same_model", false);
    } else if (ask->hold->failures >= SR_PROTECT_FAILURES) {
        says(out, "rescue_switch", "failures", false);
    } else if (held <= -HUGE_VAL) {
        says(out, "allow_switch", "not_eligible", false);
    } else if (ask->tool_loop) {
        says(out, "hold_current", "tool_loop", true);
    } else if (ask->hold->turns < config->min_turns) {
        says(out, "hold_current", "min_turns", true);
    } else {
        double scale = fabs(best) > 1 ? fabs(best) : 1;
        bool pays = (best - held) / scale >= config->switch_margin + config->stability_weight * cost_of(ask);
        says(out, pays ? "allow_switch" : "hold_current", pays ? "better_score" : "switch_cost", !pays);
    }
}

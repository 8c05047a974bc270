/* Times count from the request's arrival, as the metrics of the same names do. */
#include "router/report/outcome.h"

#include "base/clock.h"

static double ms(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / 1e6 : 0;
}

/* The selector of the record's decision, when it learns. */
static const struct sr_selector *learner(const struct sr_record *r, const struct sr_router *router)
{
    int decision = r->ranking && router->arms ? r->decision.decision : -1;
    const struct sr_selector *selector = decision < 0 ? NULL : &router->selectors[decision];
    return selector && selector->ops && selector->ops->learns && !r->ranking->fallback ? selector : NULL;
}

static struct sr_arm_name arm_of(const struct sr_record *r, const struct sr_router *router)
{
    return (struct sr_arm_name){router->config->decisions[r->decision.decision].name,
                                router->config->models[r->model].name, r->choice.lora_name};
}

void sr_outcome_placed(const struct sr_record *r, const struct sr_router *router,
                       struct sr_pool_tally **counted)
{
    const struct sr_selector *selector = learner(r, router);
    struct sr_pool_tally *tally = r->model < 0 ? NULL : router->models[r->model].tally;
    if (tally != *counted) {
        sr_pool_tally_end(*counted);
        sr_pool_tally_begin(tally);
        *counted = tally;
    }
    if (selector && r->model >= 0) {
        struct sr_arm_name name = arm_of(r, router);
        sr_arms_placed(router->arms, r->id, &name, selector->config->bandit.memory);
    }
}

static void note_time(const struct sr_record *r, const struct sr_router *router, double ttft_ms)
{
    const struct sr_selector *selector = learner(r, router);
    if (!selector || r->model < 0)
        return;
    struct sr_arm_name name = arm_of(r, router);
    sr_arms_time(router->arms, &name, ttft_ms, selector->config->bandit.memory);
}

void sr_outcome_failed(const struct sr_record *r, const struct sr_router *router)
{
    const struct sr_selector *selector = learner(r, router);
    if (!selector || r->model < 0)
        return;
    struct sr_arm_name name = arm_of(r, router);
    sr_arms_outcome(router->arms, &name, 0, selector->config->bandit.memory);
}

/* The conversation has had a turn of the model: an answer, or a failure. */
static void note_hold(const struct sr_record *r, const struct sr_router *router, bool failed)
{
    bool answered = r->answer_status / 100 == 2 && r->end != SR_END_UPSTREAM_LOST;
    if (!r->protection.key || !router->holds || r->model < 0 || r->decision.decision < 0 ||
        (!answered && !failed))
        return;
    struct sr_arm_name name = arm_of(r, router);
    sr_holds_note(router->holds, r->protection.key,
                  &(struct sr_hold_turn){.decision = r->protection.decision,
                                         .arm = sr_arm_key(name.decision, name.model, name.lora),
                                         .bytes = r->bytes_in,
                                         .failed = failed,
                                         .ended_ms = (int64_t)(sr_clock_ns() / SR_NS_PER_MS)});
}

/* Tokens of a stream. Engines send one in an event; so that a model whose upstream reports no usage is known
 * as well, its events count where it did not. */
static uint64_t tokens_of(const struct sr_record *r)
{
    return r->usage.seen ? r->usage.completion : r->events;
}

void sr_outcome_ended(const struct sr_record *r, const struct sr_router *router,
                      struct sr_pool_tally **counted)
{
    const struct sr_times *t = &r->times;
    struct sr_pool_tally *tally = *counted;
    bool complete = r->end == SR_END_COMPLETE;
    bool answered = complete && r->answer_status / 100 == 2;
    bool failed = r->end == SR_END_UPSTREAM_LOST || (complete && r->answer_status >= 500);
    uint64_t first = t->first_token ? t->first_token : t->answer_head;
    if (!tally)
        return;
    sr_pool_tally_end(tally);
    *counted = NULL;
    note_hold(r, router, failed);
    if (failed)
        sr_outcome_failed(r, router);
    if (!answered || r->failovers) /* the times are of several models then */
        return;
    note_time(r, router, ms(t->started, first));
    sr_pool_tally_note(tally, SR_TALLY_TTFT, ms(t->started, first));
    uint64_t tokens = tokens_of(r);
    if (r->streamed && tokens > 1 && t->last_token > first)
        sr_pool_tally_note(tally, SR_TALLY_TPOT, ms(first, t->last_token) / (double)(tokens - 1));
}

/* Gathers the candidates' facts. What is not known is NAN. */
#include "router/pick/rank.h"

#include <math.h>

static const struct sr_config_decision *decision_of(const struct sr_router *router,
                                                    const struct sr_decision *decision)
{
    return decision->decision < 0 ? NULL : &router->config->decisions[decision->decision];
}

bool sr_rank_needs_vector(const struct sr_router *router, const struct sr_decision *decision)
{
    const struct sr_config_decision *chosen = decision_of(router, decision);
    return chosen && sr_algorithm_reads_meaning(&chosen->algorithm, chosen->n_refs);
}

/* The price of a prompt; of a model whose prompts cost nothing that of completions. */
static double price_of(const struct sr_config_model *model)
{
    if (!model->pricing.set)
        return NAN;
    return model->pricing.prompt_per_1m > 0 ? model->pricing.prompt_per_1m : model->pricing.completion_per_1m;
}

/* What the workers of all the model's pools report as waiting or running. */
static double reported_of(const struct sr_router_model *served)
{
    double sum = 0;
    for (size_t i = 0; i < served->n_pools; i++)
        sum += sr_pool_group_reported(served->pools[i].group);
    return sum;
}

static struct sr_select_candidate candidate_of(const struct sr_router *router,
                                               const struct sr_config_decision *decision,
                                               const struct sr_config_model_ref *ref)
{
    const struct sr_config_model *model = &router->config->models[ref->model];
    const struct sr_router_model *served = &router->models[ref->model];
    return (struct sr_select_candidate){
        .model = model->name,
        .quality = model->quality_score > 0 ? model->quality_score : NAN,
        .cost = price_of(model),
        .tally = served->tally,
        .load = sr_pool_tally_in_flight(served->tally) + reported_of(served),
        .arm = sr_arm_key(decision->name, model->name, ref->lora_name),
    };
}

int sr_rank_candidates(const struct sr_rank_inputs *in, struct sr_arena *arena, struct sr_ranking *out)
{
    const struct sr_config_decision *decision = decision_of(in->router, in->decision);
    const struct sr_selector *selector = decision ? &in->router->selectors[in->decision->decision] : NULL;
    *out = (struct sr_ranking){0};
    if (!selector || !selector->ops || !selector->ops->rank)
        return SR_OK;
    struct sr_select_candidate *candidates = sr_arena_calloc(arena, decision->n_refs, sizeof *candidates);
    if (!candidates)
        return SR_ENOMEM;
    for (size_t i = 0; i < decision->n_refs; i++)
        candidates[i] = candidate_of(in->router, decision, &decision->refs[i]);
    bool known = in->meaning && in->meaning->status == SR_OK && in->meaning->vector;
    struct sr_select_ask ask = {
        .text = in->text,
        .vector = known ? in->meaning->vector : NULL,
        .dimensions = known ? in->meaning->dimensions : 0,
        .draw = in->draw,
        .steady = in->steady,
        .arms = in->router->arms,
    };
    return sr_selector_rank(selector, &ask, candidates, decision->n_refs, arena, out);
}

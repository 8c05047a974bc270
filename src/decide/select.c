/*
 * Selects a decision's model and its reasoning.
 *
 * A single candidate is used. Among several the one with the highest score wins, and the first of equal ones:
 * the scores are those of the decision's algorithm, else those of the category, where a model that it does
 * not score has 1.0.
 */
#include "decide/plan.h"

/* The scores that apply: of the matched category, else of a domain that is named like the decision. */
static const struct sr_config_domain *scoring_domain(const struct sr_config *config,
                                                     const struct sr_decision *decision)
{
    const char *name =
        *decision->category_name ? decision->category_name : config->decisions[decision->decision].name;
    for (size_t i = 0; i < config->n_domains; i++)
        if (strcmp(config->domains[i].name, name) == 0)
            return &config->domains[i];
    return NULL;
}

static const struct sr_config_model_score *entry_of(const struct sr_config_domain *domain, const char *model)
{
    for (size_t i = 0; domain && i < domain->n_scores; i++)
        if (strcmp(domain->scores[i].model, model) == 0)
            return &domain->scores[i];
    return NULL;
}

static double score_of(const struct sr_config_domain *domain, const char *model)
{
    const struct sr_config_model_score *entry = entry_of(domain, model);
    return entry ? entry->score : 1.0;
}

/* The candidate's value applies; without one, that of its model's score in the domain. */
static bool uses_reasoning(const struct sr_config *config, const struct sr_config_domain *domain,
                           const struct sr_config_model_ref *ref)
{
    const struct sr_config_model_score *entry = entry_of(domain, config->models[ref->model].name);
    return ref->use_reasoning || (!ref->says_reasoning && entry && entry->use_reasoning);
}

/* The best candidate that is not barred; NULL when all are barred. `barred` NULL: none is. */
static const struct sr_config_model_ref *best_ref(const struct sr_config *config,
                                                  const struct sr_config_decision *chosen,
                                                  const double *scores, const struct sr_config_domain *domain,
                                                  const bool *barred)
{
    const struct sr_config_model_ref *best = NULL;
    double best_score = 0;
    for (size_t i = 0; i < chosen->n_refs; i++) {
        double score = scores ? scores[i] : score_of(domain, config->models[chosen->refs[i].model].name);
        if ((barred && barred[chosen->refs[i].model]) || (best && score <= best_score))
            continue;
        best = &chosen->refs[i];
        best_score = score;
    }
    return best;
}

void sr_plan_scores(const struct sr_plan *plan, const struct sr_decision *decision, double *out)
{
    const struct sr_config *config = plan->config;
    const struct sr_config_decision *chosen = &config->decisions[decision->decision];
    const struct sr_config_domain *domain = scoring_domain(config, decision);
    for (size_t i = 0; i < chosen->n_refs; i++)
        out[i] = decision->scores ? decision->scores[i]
                                  : score_of(domain, config->models[chosen->refs[i].model].name);
}

static const char *effort_of(const struct sr_config *config, const struct sr_config_model_ref *ref)
{
    if (ref->reasoning_effort && *ref->reasoning_effort)
        return ref->reasoning_effort;
    return config->default_effort && *config->default_effort ? config->default_effort : "medium";
}

static const char *default_lora(const struct sr_config *config)
{
    return config->default_lora ? config->default_lora : "";
}

void sr_plan_choose(const struct sr_plan *plan, const struct sr_decision *decision, sr_rule_results results,
                    struct sr_choice *out)
{
    (void)results;
    sr_plan_choose_other(plan, decision, NULL, out);
}

void sr_plan_choose_other(const struct sr_plan *plan, const struct sr_decision *decision, const bool *barred,
                          struct sr_choice *out)
{
    const struct sr_config *config = plan->config;
    *out = (struct sr_choice){config->default_model, default_lora(config), false, "", "default", ""};
    if (out->model >= 0 && barred && barred[out->model])
        out->model = -1;
    if (decision->decision < 0 || config->decisions[decision->decision].n_refs == 0)
        return;
    const struct sr_config_domain *domain = scoring_domain(config, decision);
    const struct sr_config_model_ref *ref =
        best_ref(config, &config->decisions[decision->decision], decision->scores, domain, barred);
    if (!ref)
        return;
    out->model = ref->model;
    out->lora_name = ref->lora_name ? ref->lora_name : "";
    out->use_reasoning = uses_reasoning(config, domain, ref);
    out->effort = out->use_reasoning ? effort_of(config, ref) : "";
    out->why_reasoning = out->use_reasoning ? ref->reasoning_description : "";
    out->algorithm = decision->scores ? decision->algorithm : "static";
}

/*
 * Workload: what a request is for, by its form or as it says, as pools of a model understand it too.
 *
 * Its rules are the words of enum sr_workload, which need no configuration: the type is there where a rule of
 * the configuration names one. The router finds the workload (router/exchange/tiers.h) with the facts.
 */
#include "base/mem.h"
#include "signal/types.h"

struct sr_signal_set {
    char unused;
};

static bool asks(const struct sr_config_rule *rule)
{
    bool found = rule->op == SR_RULE_LEAF && strcmp(rule->type, "workload") == 0;
    for (size_t i = 0; i < rule->n_children && !found; i++)
        found = asks(&rule->children[i]);
    return found;
}

static bool is_asked(const struct sr_config *config)
{
    bool found = false;
    for (size_t i = 0; i < config->n_decisions; i++)
        found = found || (config->decisions[i].has_rules && asks(&config->decisions[i].rules));
    for (size_t i = 0; i < config->n_complexities; i++)
        found = found || (config->complexities[i].has_composer && asks(&config->complexities[i].composer));
    for (size_t i = 0; i < config->n_scores; i++)
        for (size_t k = 0; k < config->scores[i].n_inputs; k++)
            found = found || strcmp(config->scores[i].inputs[k].type, "workload") == 0;
    return found;
}

static int workload_compile(struct sr_signal_set **set, const struct sr_config *config,
                            struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    (void)err;
    if (!is_asked(config))
        return SR_OK;
    *set = sr_mem_calloc(1, sizeof **set);
    return *set ? SR_OK : SR_ENOMEM;
}

static void workload_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t workload_rules(const struct sr_signal_set *set)
{
    (void)set;
    return SR_WORKLOADS;
}

static const char *workload_name(const struct sr_signal_set *set, size_t rule)
{
    (void)set;
    return sr_config_workload_name((enum sr_workload)rule);
}

static int workload_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                        struct sr_arena *arena, struct sr_signal_result *result)
{
    (void)set;
    result->hits = sr_signal_hits(arena, SR_WORKLOADS);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = SR_WORKLOADS;
    enum sr_workload workload = input->facts ? input->facts->workload : SR_WORKLOAD_INTERACTIVE;
    result->hits[workload].matched = true;
    result->hits[workload].confidence = 1.0f;
    return SR_OK;
}

const struct sr_signal_ops sr_signal_workload = {
    .name = "workload",
    .header = "x-vsr-matched-workload",
    .header_order = 20,
    .reads = SR_SIGNAL_READS_WHOLE,
    .facts = true,
    .workload = true,
    .cost_ns_per_kib = 1,
    .compile = workload_compile,
    .free = workload_free,
    .n_rules = workload_rules,
    .rule_name = workload_name,
    .run = workload_run,
};

/* Each check names what is there that comes nearest. */
#include "config/link/projections.h"

#include "config/bind/hint.h"
#include "config/link/names.h"
#include "config/link/rules.h"
#include "config/link/signals.h"

static bool is_domain(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_domains; i++)
        if (strcmp(config->domains[i].name, name) == 0)
            return true;
    return false;
}

static bool is_embedding(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_embeddings; i++)
        if (strcmp(config->embeddings[i].name, name) == 0)
            return true;
    return false;
}

static bool is_score(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_scores; i++)
        if (strcmp(config->scores[i].name, name) == 0)
            return true;
    return false;
}

static bool is_member(const struct sr_config_partition *partition, const char *name)
{
    for (size_t i = 0; i < partition->members.count; i++)
        if (strcmp(partition->members.items[i], name) == 0)
            return true;
    return false;
}

/* Of the block, or of the one whose rules it may name too. */
static bool is_any(const struct sr_binder *b, const struct sr_config *config, const char *name,
                   bool (*is)(const struct sr_config *config, const char *name))
{
    return is(config, name) || (b->shared && is(b->shared, name));
}

static void link_partition(struct sr_binder *b, const struct sr_yaml_node *node,
                           const struct sr_config *config, const struct sr_config_partition *partition)
{
    size_t domains = 0, embeddings = 0, n = partition->members.count;
    for (size_t i = 0; i < n; i++) {
        const char *member = partition->members.items[i];
        bool domain = is_any(b, config, member, is_domain),
             embedding = is_any(b, config, member, is_embedding);
        domains += domain;
        embeddings += embedding;
        if (!domain && !embedding)
            sr_bind_error(b, sr_bind_at(node, "members"), "no rule `%.60s` of type `domain` or `embedding`",
                          member);
    }
    if (domains < n && embeddings < n)
        sr_bind_error(b, sr_bind_at(node, "members"),
                      "the members of a partition are all of type `domain`, or all of type `embedding`");
    if (partition->fallback[0] && !is_member(partition, partition->fallback))
        sr_bind_error(b, sr_bind_at(node, "default"), "`%.60s` is none of the members", partition->fallback);
}

static void link_metric(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                        const struct sr_config_score_input *input)
{
    const struct sr_config_kb *kb = sr_config_find_kb(config, sr_bytes_str(input->kb));
    if (!kb) {
        sr_bind_unsupported(b, sr_bind_at(node, "kb"),
                            "no knowledge base `%.60s` in global.model_catalog.kbs", input->kb);
        sr_bind_drop(b, sr_bind_at(node, "kb"));
        return;
    }
    if (!sr_link_kb_is_there(b, sr_bind_at(node, "kb"), kb))
        return;
    bool found = strcmp(input->metric, "best_score") == 0 || strcmp(input->metric, "best_matched_score") == 0;
    for (size_t i = 0; i < kb->n_metrics; i++)
        found |= strcmp(kb->metrics[i].name, input->metric) == 0;
    if (!found)
        sr_bind_error(b, sr_bind_at(node, "metric"), "knowledge base `%.60s` has no metric `%.60s`",
                      input->kb, input->metric);
}

static bool is_type(const char *word)
{
    static const char *const types[] = {
        "keyword",   "domain",     "context",      "structure",  "language",   "jailbreak",     "pii",
        "embedding", "event",      "metadata",     "modality",   "fact_check", "user_feedback", "reask",
        "authz",     "preference", "conversation", "complexity", "kb",         "workload"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i], word) == 0)
            return true;
    return false;
}

static void link_inputs(struct sr_binder *b, const struct sr_yaml_node *list, const struct sr_config *config,
                        const struct sr_yaml_node *routing, const struct sr_config_score *score)
{
    for (size_t i = 0; i < score->n_inputs; i++) {
        const struct sr_config_score_input *input = &score->inputs[i];
        const struct sr_yaml_node *node = sr_link_item(list, i);
        if (strcmp(input->type, "kb_metric") == 0)
            link_metric(b, node, config, input);
        else if (!is_type(input->type))
            sr_bind_error(b, sr_bind_at(node, "type"), "there is no signal type `%.40s`", input->type);
        else if (input->name[0])
            (void)sr_link_rule_name(b, sr_bind_at(node, "name"), config, routing, input->type, input->name);
    }
}

static void link_source(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                        const struct sr_config_mapping *mapping)
{
    char hint[SR_LINK_HINT_SIZE];
    struct sr_nearest nearest = {.word = sr_bytes_str(mapping->source)};
    if (is_any(b, config, mapping->source, is_score))
        return;
    for (size_t i = 0; i < config->n_scores; i++)
        sr_nearest_try(&nearest, config->scores[i].name);
    sr_bind_error(b, sr_bind_at(node, "source"), "no score `%.60s` in routing.projections.scores%s",
                  mapping->source, sr_nearest_hint(&nearest, hint, sizeof hint));
}

/* True when an earlier output has this name. */
static bool is_taken(const struct sr_config *config, size_t mapping, size_t band)
{
    const char *name = config->mappings[mapping].bands[band].name;
    for (size_t i = 0; i <= mapping; i++)
        for (size_t k = 0; k < (i < mapping ? config->mappings[i].n_bands : band); k++)
            if (strcmp(config->mappings[i].bands[k].name, name) == 0)
                return true;
    return false;
}

void sr_link_projections(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *projections = sr_yaml_get(routing, "projections");
    const struct sr_yaml_node *partitions = sr_yaml_get(projections, "partitions");
    const struct sr_yaml_node *scores = sr_yaml_get(projections, "scores");
    const struct sr_yaml_node *mappings = sr_yaml_get(projections, "mappings");
    sr_link_unique(b, partitions, "name", "partition");
    sr_link_unique(b, scores, "name", "score");
    sr_link_unique(b, mappings, "name", "mapping");
    for (size_t i = 0; i < config->n_partitions; i++)
        link_partition(b, sr_link_item(partitions, i), config, &config->partitions[i]);
    for (size_t i = 0; i < config->n_scores; i++)
        link_inputs(b, sr_yaml_get(sr_link_item(scores, i), "inputs"), config, routing, &config->scores[i]);
    for (size_t i = 0; i < config->n_mappings; i++) {
        const struct sr_yaml_node *node = sr_link_item(mappings, i);
        link_source(b, node, config, &config->mappings[i]);
        for (size_t k = 0; k < config->mappings[i].n_bands; k++)
            if (is_taken(config, i, k))
                sr_bind_error(b, sr_link_item(sr_yaml_get(node, "outputs"), k),
                              "output `%.60s` is given more than once", config->mappings[i].bands[k].name);
    }
}

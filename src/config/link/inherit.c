/*
 * Lists are found by the declarations of `routing`. Whole lists are joined, not single rules: a list is one
 * pass over the text, and what of it is not needed is not asked for.
 */
#include "config/link/inherit.h"

#include "config/link/rules.h"
#include "config/section/section.h"

#include <string.h>

#define LISTS_MAX 32 /* lists of signals and of projections */

/* ---- lists ---- */

struct list {
    char *items;
    size_t n;
};

static struct list list_of(const struct sr_config *config, const struct sr_field *field)
{
    struct list list;
    memcpy(&list.items, (const char *)config + field->offset, sizeof list.items);
    memcpy(&list.n, (const char *)config + field->count_offset, sizeof list.n);
    return list;
}

static void set_list(struct sr_config *config, const struct sr_field *field, struct list list)
{
    memcpy((char *)config + field->offset, &list.items, sizeof list.items);
    memcpy((char *)config + field->count_offset, &list.n, sizeof list.n);
}

static bool has_rule(const struct sr_config *config, const struct sr_field *field, struct sr_bytes name)
{
    const char *rule;
    for (size_t i = 0; (rule = sr_link_rule_at(config, field, i)) != NULL; i++)
        if (sr_bytes_eq(sr_bytes_str(rule), name))
            return true;
    return false;
}

/* The recipe's own items, then those of `shared` whose names are not among them. */
static void join(struct sr_binder *b, struct sr_config *recipe, const struct sr_config *shared,
                 const struct sr_field *field)
{
    struct list own = list_of(recipe, field), other = list_of(shared, field), all = own;
    size_t size = field->of->size;
    all.items = sr_bind_calloc(b, own.n + other.n + 1, size);
    if (!all.items)
        return;
    if (own.n)
        memcpy(all.items, own.items, own.n * size);
    for (size_t i = 0; i < other.n; i++)
        if (!has_rule(recipe, field, sr_bytes_str(sr_link_rule_at(shared, field, i))))
            memcpy(all.items + all.n++ * size, other.items + i * size, size);
    set_list(recipe, field, all);
}

static void copy_lists(struct sr_config *to, const struct sr_config *from, const struct sr_section *section)
{
    for (size_t i = 0; i < section->n_fields; i++)
        if (section->fields[i].type == SR_FIELD_LIST)
            set_list(to, &section->fields[i], list_of(from, &section->fields[i]));
}

void sr_inherit_file(struct sr_config *recipe, const struct sr_config *shared)
{
    struct sr_config all = *shared;
    all.strategy = recipe->strategy;
    copy_lists(&all, recipe, &sr_section_recipe_routing);
    copy_lists(&all, recipe, &sr_section_signals);
    copy_lists(&all, recipe, &sr_section_projections);
    *recipe = all;
}

/* ---- what is needed ---- */

/* The lists from which a recipe needs rules of the top-level block. */
struct needs {
    const struct sr_config *recipe, *shared;
    bool lists[LISTS_MAX]; /* of sr_section_signals */
    bool projections;
    bool changed;
};

static bool has_band(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_mappings; i++)
        for (size_t k = 0; k < config->mappings[i].n_bands; k++)
            if (strcmp(config->mappings[i].bands[k].name, name) == 0)
                return true;
    return false;
}

static void need(struct needs *needs, bool *which)
{
    needs->changed |= !*which;
    *which = true;
}

/* A rule of this type and name is asked for. */
static void need_rule(struct needs *needs, const char *type, const char *name)
{
    const char *wrong = NULL;
    const struct sr_field *list = sr_link_rule_list(type);
    if (strcmp(type, "projection") == 0 && !has_band(needs->recipe, name))
        need(needs, &needs->projections);
    if (list && !has_rule(needs->recipe, list, sr_link_base_name(type, name, &wrong)))
        need(needs, &needs->lists[list - sr_section_signals.fields]);
}

static void need_tree(struct needs *needs, const struct sr_config_rule *rule)
{
    if (rule->op == SR_RULE_LEAF)
        need_rule(needs, rule->type, rule->name);
    for (size_t i = 0; i < rule->n_children; i++)
        need_tree(needs, &rule->children[i]);
}

/* What the projections and composers of a block ask for. */
static void need_block(struct needs *needs, const struct sr_config *block, bool projections, bool composers)
{
    for (size_t i = 0; projections && i < block->n_scores; i++)
        for (size_t k = 0; k < block->scores[i].n_inputs; k++)
            need_rule(needs, block->scores[i].inputs[k].type, block->scores[i].inputs[k].name);
    for (size_t i = 0; projections && i < block->n_partitions; i++)
        for (size_t k = 0; k < block->partitions[i].members.count; k++) {
            struct sr_bytes member = sr_bytes_str(block->partitions[i].members.items[k]);
            const struct sr_field *domains = sr_link_rule_list("domain");
            bool domain =
                has_rule(needs->recipe, domains, member) || has_rule(needs->shared, domains, member);
            need_rule(needs, domain ? "domain" : "embedding", member.p);
        }
    for (size_t i = 0; composers && i < block->n_complexities; i++)
        if (block->complexities[i].has_composer)
            need_tree(needs, &block->complexities[i].composer);
}

static bool needs_list(const struct needs *needs, const char *type)
{
    return needs->lists[sr_link_rule_list(type) - sr_section_signals.fields];
}

static void find_needs(struct needs *needs)
{
    const struct sr_config *own = needs->recipe, *shared = needs->shared;
    for (size_t i = 0; i < own->n_decisions; i++)
        if (own->decisions[i].has_rules)
            need_tree(needs, &own->decisions[i].rules);
    for (size_t i = 0; i < shared->n_decisions; i++)
        if (sr_config_holds_everywhere(&shared->decisions[i]) && shared->decisions[i].has_rules)
            need_tree(needs, &shared->decisions[i].rules);
    for (size_t i = 0; i < own->n_mappings; i++) {
        bool found = false;
        for (size_t k = 0; k < own->n_scores; k++)
            found |= strcmp(own->scores[k].name, own->mappings[i].source) == 0;
        if (!found)
            need(needs, &needs->projections);
    }
    need_block(needs, own, true, true);
    do {
        needs->changed = false;
        need_block(needs, shared, needs->projections, needs_list(needs, "complexity"));
        if (shared->n_partitions && (needs_list(needs, "domain") || needs_list(needs, "embedding")))
            need(needs, &needs->projections); /* they say which of those rules exclude each other */
    } while (needs->changed);
}

/* ---- what protects ---- */

/* The recipe must not give another meaning to what a guard of the top-level block names. */
static void check_leaves(struct sr_binder *b, const struct sr_yaml_node *node, const char *name,
                         const struct sr_config *recipe, const struct sr_config_decision *guard,
                         const struct sr_config_rule *rule)
{
    const char *wrong = NULL;
    const struct sr_field *list = rule->op == SR_RULE_LEAF ? sr_link_rule_list(rule->type) : NULL;
    bool taken = list && has_rule(recipe, list, sr_link_base_name(rule->type, rule->name, &wrong));
    taken |=
        rule->op == SR_RULE_LEAF && strcmp(rule->type, "projection") == 0 && has_band(recipe, rule->name);
    if (taken)
        sr_bind_error(
            b, node,
            "recipe `%.60s`: `%.60s` of type `%s` is a rule of the top-level decision `%.60s`, which "
            "holds in every recipe: give the recipe's another name",
            name, rule->name, rule->type, guard->name);
    for (size_t i = 0; i < rule->n_children; i++)
        check_leaves(b, node, name, recipe, guard, &rule->children[i]);
}

static void check_guard(struct sr_binder *b, const struct sr_yaml_node *node, const char *name,
                        const struct sr_config *recipe, const struct sr_config_decision *guard)
{
    if (guard->has_rules)
        check_leaves(b, node, name, recipe, guard, &guard->rules);
    for (size_t i = 0; i < recipe->n_decisions; i++)
        if (strcmp(recipe->decisions[i].name, guard->name) == 0)
            sr_bind_error(b, node,
                          "recipe `%.60s`: the top-level decision `%.60s` holds in every recipe: give the "
                          "recipe's another name",
                          name, guard->name);
}

static void add_guards(struct sr_binder *b, struct sr_config *recipe, const struct sr_config *shared)
{
    size_t n = recipe->n_decisions;
    struct sr_config_decision *all = sr_bind_calloc(b, n + shared->n_decisions + 1, sizeof *all);
    if (!all)
        return;
    if (n)
        memcpy(all, recipe->decisions, n * sizeof *all);
    for (size_t i = 0; i < shared->n_decisions; i++) {
        if (!sr_config_holds_everywhere(&shared->decisions[i]))
            continue;
        all[n] = shared->decisions[i];
        all[n++].everywhere = true;
    }
    recipe->decisions = all;
    recipe->n_decisions = n;
}

void sr_inherit_rules(struct sr_binder *b, const struct sr_yaml_node *node, const char *name,
                      struct sr_config *recipe, const struct sr_config *shared)
{
    struct needs needs = {.recipe = recipe, .shared = shared};
    for (size_t i = 0; i < shared->n_decisions; i++)
        if (sr_config_holds_everywhere(&shared->decisions[i]))
            check_guard(b, node, name, recipe, &shared->decisions[i]);
    find_needs(&needs);
    struct sr_config own = *recipe;
    for (size_t i = 0; i < sr_section_signals.n_fields; i++)
        if (needs.lists[i])
            join(b, &own, shared, &sr_section_signals.fields[i]);
    for (size_t i = 0; needs.projections && i < sr_section_projections.n_fields; i++)
        join(b, &own, shared, &sr_section_projections.fields[i]);
    add_guards(b, &own, shared);
    *recipe = own;
}

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

/* A guard whose rules the recipe must not give another meaning. */
struct check {
    struct sr_binder *b;
    const struct sr_yaml_node *node;
    const char *name; /* of the recipe */
    const struct sr_config *recipe, *shared;
    const struct sr_config_decision *guard;
};

static void refuse(const struct check *check, const char *what, const char *name)
{
    sr_bind_error(check->b, check->node,
                  "recipe `%.60s`: %s `%.60s` is one of the top-level decision `%.60s`, which holds in every "
                  "recipe: give the recipe's another name",
                  check->name, what, name, check->guard->name);
}

static bool has_score(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_scores; i++)
        if (strcmp(config->scores[i].name, name) == 0)
            return true;
    return false;
}

static bool has_mapping(const struct sr_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_mappings; i++)
        if (strcmp(config->mappings[i].name, name) == 0)
            return true;
    return false;
}

static void check_rule(const struct check *check, const char *type, const char *name);

static void check_score(const struct check *check, const char *name)
{
    if (has_score(check->recipe, name))
        refuse(check, "score", name);
    for (size_t i = 0; i < check->shared->n_scores; i++)
        for (size_t k = 0; k < check->shared->scores[i].n_inputs; k++)
            if (strcmp(check->shared->scores[i].name, name) == 0)
                check_rule(check, check->shared->scores[i].inputs[k].type,
                           check->shared->scores[i].inputs[k].name);
}

/* The mapping of an output, and what it is computed from. */
static void check_band(const struct check *check, const char *name)
{
    if (has_band(check->recipe, name))
        refuse(check, "output", name);
    for (size_t i = 0; i < check->shared->n_mappings; i++) {
        const struct sr_config_mapping *mapping = &check->shared->mappings[i];
        for (size_t k = 0; k < mapping->n_bands; k++) {
            if (strcmp(mapping->bands[k].name, name) != 0)
                continue;
            if (has_mapping(check->recipe, mapping->name))
                refuse(check, "mapping", mapping->name);
            check_score(check, mapping->source);
        }
    }
}

/* A partition of the recipe's own says which of its members match. */
static void check_member(const struct check *check, const char *name)
{
    for (size_t i = 0; i < check->recipe->n_partitions; i++)
        for (size_t k = 0; k < check->recipe->partitions[i].members.count; k++)
            if (strcmp(check->recipe->partitions[i].members.items[k], name) == 0)
                refuse(check, "member of a partition", name);
}

static void check_leaves(const struct check *check, const struct sr_config_rule *rule)
{
    if (rule->op == SR_RULE_LEAF)
        check_rule(check, rule->type, rule->name);
    for (size_t i = 0; i < rule->n_children; i++)
        check_leaves(check, &rule->children[i]);
}

static void check_rule(const struct check *check, const char *type, const char *name)
{
    const char *wrong = NULL;
    const struct sr_field *list = sr_link_rule_list(type);
    struct sr_bytes base = sr_link_base_name(type, name, &wrong);
    if (strcmp(type, "projection") == 0)
        check_band(check, name);
    if (strcmp(type, "domain") == 0 || strcmp(type, "embedding") == 0)
        check_member(check, name);
    if (list && has_rule(check->recipe, list, base))
        refuse(check, "rule", name);
    for (size_t i = 0; strcmp(type, "complexity") == 0 && i < check->shared->n_complexities; i++)
        if (sr_bytes_eq(base, sr_bytes_str(check->shared->complexities[i].name)) &&
            check->shared->complexities[i].has_composer)
            check_leaves(check, &check->shared->complexities[i].composer);
}

static void check_guard(const struct check *check)
{
    if (check->guard->has_rules)
        check_leaves(check, &check->guard->rules);
    for (size_t i = 0; i < check->recipe->n_decisions; i++)
        if (strcmp(check->recipe->decisions[i].name, check->guard->name) == 0)
            sr_bind_error(check->b, check->node,
                          "recipe `%.60s`: the top-level decision `%.60s` holds in every recipe: give the "
                          "recipe's another name",
                          check->name, check->guard->name);
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
        if (sr_config_holds_everywhere(&shared->decisions[i])) {
            struct check check = {b, node, name, recipe, shared, &shared->decisions[i]};
            check_guard(&check);
        }
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

/*
 * Authz: the roles of the caller, by bindings of users and groups.
 *
 * The identity is the one that router/identity took from trusted sources; nothing that the client says about
 * itself counts. A request without a user has no role: the signal fails, so that a rule's on_error decides.
 */
#include "base/mem.h"
#include "signal/types.h"

struct sr_signal_set {
    const struct sr_config_binding *bindings;
    size_t n_bindings;
    size_t n;
    struct {
        const char *role, *description;
    } roles[]; /* each once */
};

static size_t find_role(const struct sr_signal_set *set, const char *role)
{
    size_t i = 0;
    while (i < set->n && strcmp(set->roles[i].role, role) != 0)
        i++;
    return i;
}

static int authz_compile(struct sr_signal_set **out, const struct sr_config *config,
                         struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    (void)err;
    if (config->n_bindings == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_bindings * sizeof set->roles[0]);
    if (!set)
        return SR_ENOMEM;
    set->bindings = config->bindings;
    set->n_bindings = config->n_bindings;
    for (size_t i = 0; i < set->n_bindings; i++) {
        size_t role = find_role(set, set->bindings[i].role);
        if (role < set->n)
            continue;
        set->roles[set->n].role = set->bindings[i].role;
        set->roles[set->n++].description = set->bindings[i].description;
    }
    *out = set;
    return SR_OK;
}

static void authz_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t authz_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *authz_name(const struct sr_signal_set *set, size_t rule)
{
    return set->roles[rule].role;
}

static const char *authz_description(const struct sr_signal_set *set, size_t rule)
{
    return set->roles[rule].description;
}

static bool is_subject(const struct sr_config_subject *subject, const struct sr_signal_facts *facts)
{
    struct sr_bytes name = sr_bytes_str(subject->name);
    if (!subject->is_group)
        return sr_bytes_eq(name, facts->user);
    for (size_t i = 0; i < facts->n_groups; i++)
        if (sr_bytes_eq(name, facts->groups[i]))
            return true;
    return false;
}

static bool is_bound(const struct sr_config_binding *binding, const struct sr_signal_facts *facts)
{
    for (size_t i = 0; i < binding->n_subjects; i++)
        if (is_subject(&binding->subjects[i], facts))
            return true;
    return false;
}

static int authz_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                     struct sr_arena *arena, struct sr_signal_result *result)
{
    if (!input->facts || !input->facts->user.n)
        return SR_ENOENT;
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = set->n;
    for (size_t i = 0; i < set->n_bindings; i++) {
        struct sr_signal_hit *hit = &result->hits[find_role(set, set->bindings[i].role)];
        hit->matched |= is_bound(&set->bindings[i], input->facts);
        hit->confidence = hit->matched ? 1.0f : 0.0f;
    }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_authz = {
    .name = "authz",
    .header = "x-vsr-matched-authz",
    .header_order = 11,
    .reads = SR_SIGNAL_READS_WHOLE,
    .facts = true,
    .cost_ns_per_kib = 1,
    .compile = authz_compile,
    .free = authz_free,
    .n_rules = authz_rules,
    .rule_name = authz_name,
    .rule_description = authz_description,
    .run = authz_run,
};

/* The immutable snapshot: reference count, one arena, and the look-ups of the hot path. */
#include "config/snapshot.h"

#include "base/hash.h"
#include "base/mem.h"

#define SNAPSHOT_MAX ((size_t)512 << 20)

/* Only for a configuration with a reference count, its own or that of a recipe: the others were not made
 * here.
 */
static struct sr_snapshot *snapshot_of(const struct sr_config *config)
{
    return (struct sr_snapshot *)((char *)config->ref - offsetof(struct sr_snapshot, ref));
}

struct sr_snapshot *sr_snapshot_new(void)
{
    struct sr_snapshot *snapshot = sr_mem_calloc(1, sizeof *snapshot);
    if (!snapshot)
        return NULL;
    sr_ref_init(&snapshot->ref);
    snapshot->config.ref = &snapshot->ref;
    sr_arena_init(&snapshot->arena, SNAPSHOT_MAX);
    return snapshot;
}

struct sr_config *sr_config_ref(const struct sr_config *config)
{
    if (config->ref)
        sr_ref_get(config->ref);
    return (struct sr_config *)config;
}

void sr_config_unref(const struct sr_config *config)
{
    if (!config || !config->ref || !sr_ref_put(config->ref))
        return;
    struct sr_snapshot *snapshot = snapshot_of(config);
    sr_arena_dispose(&snapshot->arena);
    sr_mem_free(snapshot);
}

/* The slot that holds `name`, or the free one where it belongs. */
static uint32_t *slot_of(const struct sr_snapshot *snapshot, struct sr_bytes name)
{
    size_t mask = snapshot->n_slots - 1;
    for (size_t i = sr_hash64(name, 0) & mask;; i = (i + 1) & mask) {
        uint32_t entry = snapshot->slots[i];
        if (!entry || sr_bytes_eq(sr_bytes_str(snapshot->config.models[entry - 1].name), name))
            return &snapshot->slots[i];
    }
}

int sr_snapshot_index(struct sr_snapshot *snapshot)
{
    size_t n_slots = 8;
    while (n_slots < 2 * snapshot->config.n_models)
        n_slots *= 2;
    snapshot->slots = sr_arena_calloc(&snapshot->arena, n_slots, sizeof *snapshot->slots);
    if (!snapshot->slots)
        return SR_ENOMEM;
    snapshot->n_slots = n_slots;
    for (size_t i = 0; i < snapshot->config.n_models; i++) {
        uint32_t *slot = slot_of(snapshot, sr_bytes_str(snapshot->config.models[i].name));
        if (!*slot)
            *slot = (uint32_t)i + 1;
    }
    return SR_OK;
}

int sr_config_find_model(const struct sr_config *config, struct sr_bytes name)
{
    const struct sr_snapshot *snapshot = config->ref ? snapshot_of(config) : NULL;
    if (snapshot)
        return snapshot->n_slots ? (int)*slot_of(snapshot, name) - 1 : -1;
    for (size_t i = 0; i < config->n_models; i++)
        if (sr_bytes_eq(sr_bytes_str(config->models[i].name), name))
            return (int)i;
    return -1;
}

bool sr_config_is_credential(struct sr_bytes header)
{
    static const char *const names[] = {"authorization",  "proxy-authorization",       "x-api-key", "api-key",
                                        "x-goog-api-key", "ocp-apim-subscription-key", "cookie"};
    char folded[32];
    if (header.n >= sizeof folded)
        return false;
    for (size_t i = 0; i < header.n; i++)
        folded[i] = header.p[i] == '_' ? '-' : header.p[i];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sr_bytes_eq_nocase(sr_bytes_of(folded, header.n), sr_bytes_str(names[i])))
            return true;
    return false;
}

bool sr_config_backend_has_key(const struct sr_config_backend *backend)
{
    bool found = backend->api_key[0] != '\0';
    for (size_t i = 0; i < backend->extra_headers.count; i++)
        found |= sr_config_is_credential(sr_bytes_str(backend->extra_headers.items[i].name));
    return found;
}

static bool has_text(const struct sr_strings *texts, struct sr_bytes text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (sr_bytes_eq(text, sr_bytes_str(texts->items[i])))
            return true;
    return false;
}

/* The entrypoint with this name, NULL where none has it. */
static const struct sr_config_entrypoint *entrypoint_of(const struct sr_config *config, struct sr_bytes name)
{
    for (size_t i = 0; i < config->n_entrypoints; i++)
        if (has_text(&config->entrypoints[i].model_names, name))
            return &config->entrypoints[i];
    return NULL;
}

bool sr_config_is_auto(const struct sr_config *config, struct sr_bytes name)
{
    return has_text(&config->global.auto_model_names, name) || entrypoint_of(config, name);
}

int sr_config_recipe_of(const struct sr_config *config, struct sr_bytes name)
{
    const struct sr_config_entrypoint *entrypoint = entrypoint_of(config, name);
    return entrypoint ? entrypoint->recipe : -1;
}

const char *sr_config_recipe_name(const struct sr_config *config, int recipe)
{
    return recipe < 0 ? SR_RECIPE_DEFAULT : config->recipes[recipe].name;
}

uint64_t sr_config_signal_deadline_ms(const struct sr_config *config, uint64_t bytes)
{
    const struct sr_config_global *global = &config->global;
    uint64_t base = global->signal_deadline_ms, most = global->signal_deadline_max_ms;
    double more = global->signal_deadline_ms_per_kib * (double)bytes / 1024;
    if (base == 0 || base >= most)
        return base;
    return more < (double)(most - base) ? base + (uint64_t)more : most;
}

const struct sr_config_external *sr_config_preference_model(const struct sr_config *config)
{
    for (size_t i = 0; i < config->global.n_externals && !config->global.preference_examples; i++)
        if (strcmp(config->global.externals[i].role, SR_ROLE_OF_PREFERENCES) == 0)
            return &config->global.externals[i];
    return NULL;
}

bool sr_config_is_guard_type(const char *type)
{
    return strcmp(type, "jailbreak") == 0 || strcmp(type, SR_TYPE_CONTRASTIVE) == 0 ||
           strcmp(type, "pii") == 0;
}

static bool names_guards(const struct sr_config_rule *rule)
{
    for (size_t i = 0; i < rule->n_children; i++)
        if (names_guards(&rule->children[i]))
            return true;
    return (rule->op == SR_RULE_LEAF || rule->op == SR_RULE_UNKNOWN) && sr_config_is_guard_type(rule->type);
}

/* True when an attack or private data makes the rule match. */
static bool asks_guards(const struct sr_config_rule *rule)
{
    if (rule->op == SR_RULE_LEAF || rule->op == SR_RULE_UNKNOWN)
        return sr_config_is_guard_type(rule->type);
    for (size_t i = 0; rule->op != SR_RULE_NOT && i < rule->n_children; i++)
        if (asks_guards(&rule->children[i]))
            return true;
    return false;
}

bool sr_config_holds_everywhere(const struct sr_config_decision *decision)
{
    return decision->plugins.guard.set ||
           (decision->plugins.fast_response.set && decision->has_rules && asks_guards(&decision->rules));
}

static bool decisions_protect(const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        bool protects = decision->plugins.guard.set || decision->plugins.response_jailbreak.set ||
                        (decision->has_rules && names_guards(&decision->rules));
        if (protects && decision->mode == SR_MODE_ENFORCE)
            return true;
    }
    return false;
}

bool sr_config_protects(const struct sr_config *config)
{
    bool found = config->global.n_policies > 0 || decisions_protect(config);
    for (size_t i = 0; !found && i < config->n_recipes; i++)
        found = decisions_protect(&config->recipes[i].config);
    return found;
}

static bool decisions_cache(const struct sr_config *config, bool by_meaning)
{
    bool found = false;
    for (size_t i = 0; !found && i < config->n_decisions; i++) {
        const struct sr_config_cache_use *use = &config->decisions[i].plugins.response_cache;
        found = use->set && (!by_meaning || use->mode == SR_CACHE_SEMANTIC);
    }
    return found;
}

bool sr_config_caches(const struct sr_config *config, bool by_meaning)
{
    const struct sr_config_cache *cache = &config->global.cache;
    bool found = cache->use.set && (!by_meaning || cache->use.mode == SR_CACHE_SEMANTIC);
    found = found || decisions_cache(config, by_meaning);
    for (size_t i = 0; !found && i < config->n_recipes; i++)
        found = decisions_cache(&config->recipes[i].config, by_meaning);
    return found && cache->enabled && cache->max_entries;
}

bool sr_config_priority(struct sr_bytes text, int *priority)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    int value = 0;
    if (text.n <= negative || text.n > (size_t)4 + negative)
        return false;
    for (size_t i = negative; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        value = value * 10 + (text.p[i] - '0');
    }
    *priority = negative ? -value : value;
    return value <= 1000;
}

static bool is_listed(const struct sr_strings *names, const char *name)
{
    for (size_t i = 0; i < names->count && name && name[0]; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

bool sr_config_pool_has(const struct sr_config_pool *pool, const struct sr_config_backend *backend)
{
    return pool->backends.count == 0 || is_listed(&pool->backends, backend->name);
}

bool sr_config_pool_is_backup(const struct sr_config_pool *pool, const struct sr_config_backend *backend)
{
    return is_listed(&pool->backups, backend->name);
}

static const char *const workloads[SR_WORKLOADS] = {[SR_WORKLOAD_INTERACTIVE] = "interactive",
                                                    [SR_WORKLOAD_LONG_CONTEXT] = "long_context",
                                                    [SR_WORKLOAD_AGENT] = "agent",
                                                    [SR_WORKLOAD_BATCH] = "batch"};

int sr_config_find_workload(struct sr_bytes name)
{
    for (int i = 0; i < SR_WORKLOADS; i++)
        if (sr_bytes_eq_nocase(name, sr_bytes_str(workloads[i])))
            return i;
    return -1;
}

const char *sr_config_workload_name(enum sr_workload workload)
{
    return workloads[workload];
}

bool sr_config_pool_discovers(const struct sr_config_pool *pool)
{
    return pool->endpoints.file[0] || pool->endpoints.dns[0] || pool->endpoints.srv[0];
}

bool sr_config_is_served(const struct sr_config *config, int model)
{
    for (size_t i = 0; i < config->global.n_pools; i++)
        if (sr_config_pool_discovers(&config->global.pools[i]) &&
            strcmp(config->global.pools[i].model_name, config->models[model].name) == 0)
            return true;
    return config->models[model].n_backends > 0;
}

/*
 * PII: is there private data in a turn that a rule does not allow?
 *
 * All entities of the turns that are read are kept with their places, whatever the rules say: redaction and
 * the policies of models ask again with limits of their own.
 */
#include "base/mem.h"
#include "signal/pii_reader.h"
#include "signal/types.h"

struct sr_signal_set {
    struct sr_pii_reader *reader;
    const struct sr_config_pii *rules;
    size_t n;
    bool history; /* something asks for every turn */
};

static void pii_free(struct sr_signal_set *set)
{
    sr_pii_reader_unref(set->reader);
    sr_mem_free(set);
}

/* Policies of models and redaction look at everything that would be sent. */
static bool wants_all(const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_piis; i++)
        if (config->piis[i].include_history)
            return true;
    for (size_t i = 0; i < config->n_decisions; i++)
        if (config->decisions[i].plugins.guard.set &&
            config->decisions[i].plugins.guard.action == SR_GUARD_REDACT)
            return true;
    return config->global.n_policies > 0;
}

static int pii_compile(struct sr_signal_set **out, const struct sr_config *config, struct sr_models *models,
                       struct sr_err *err)
{
    if (config->n_piis == 0 && config->global.n_policies == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    int rc = sr_pii_reader_new(&set->reader, NULL, models, err);
    if (rc) {
        pii_free(set);
        return rc;
    }
    set->rules = config->piis;
    set->n = config->n_piis;
    set->history = wants_all(config);
    *out = set;
    return SR_OK;
}

static size_t pii_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *pii_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

bool sr_signal_pii_counts(const struct sr_config_pii *rule, const struct sr_signal_find *find)
{
    return !(rule->allowed >> find->type & 1) && find->confidence >= (float)rule->thresholds[find->type];
}

/* A rule's hit: the surest of what counts, and how many there are. */
static void judge(const struct sr_config_pii *rule, const struct sr_signal_turns *turns,
                  const struct sr_signal_result *result, struct sr_signal_hit *hit)
{
    hit->value = 0;
    for (size_t i = 0; i < result->n_finds; i++) {
        const struct sr_signal_find *find = &result->finds[i];
        bool seen = rule->include_history || !turns || turns->items[find->turn].current;
        if (!seen || !sr_signal_pii_counts(rule, find))
            continue;
        hit->matched = true;
        hit->value += 1;
        if (find->confidence > hit->confidence)
            hit->confidence = find->confidence;
    }
}

/* What was found in one turn, before all turns are put into one list. */
struct turn_finds {
    struct sr_pii_finds found;
    uint32_t turn;
};

static int gather(const struct turn_finds *parts, size_t n, struct sr_arena *arena,
                  struct sr_signal_result *result)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        total += parts[i].found.n;
    struct sr_signal_find *finds = sr_arena_calloc(arena, total ? total : 1, sizeof *finds);
    if (!finds)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < parts[i].found.n; k++) {
            const struct sr_entity *entity = &parts[i].found.items[k];
            finds[at++] = (struct sr_signal_find){parts[i].turn, entity->type, entity->start, entity->end,
                                                  entity->confidence};
        }
    }
    result->finds = finds;
    result->n_finds = total;
    return SR_OK;
}

static int read_all(const struct sr_signal_set *set, const struct sr_signal_input *input,
                    struct sr_arena *arena, struct sr_signal_result *result)
{
    struct sr_signal_turn whole = {.current = true, .text = input->text};
    const struct sr_signal_turn *turns = input->turns ? input->turns->items : &whole;
    size_t n = input->turns ? input->turns->n : 1, used = 0;
    struct sr_bytes tenant = input->turns ? input->turns->tenant : SR_LIT("");
    struct turn_finds *parts = sr_arena_calloc(arena, n ? n : 1, sizeof *parts);
    if (!parts)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        result->all_bytes += turns[i].text.n;
        if ((!set->history && !turns[i].current) || turns[i].text.n == 0)
            continue;
        int rc = sr_pii_read(set->reader, turns[i].text, tenant, arena, &parts[used].found);
        if (rc)
            return rc;
        result->scanned_bytes += turns[i].text.n;
        result->remembered += parts[used].found.remembered;
        parts[used++].turn = (uint32_t)i;
    }
    return gather(parts, used, arena, result);
}

static int pii_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                   struct sr_arena *arena, struct sr_signal_result *result)
{
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    int rc = read_all(set, input, arena, result);
    for (size_t i = 0; !rc && i < set->n; i++)
        judge(&set->rules[i], input->turns, result, &result->hits[i]);
    result->n_hits = set->n;
    result->tier = sr_pii_tier(set->reader);
    return rc;
}

const struct sr_signal_ops sr_signal_pii = {
    .name = "pii",
    .reads_all = true,
    .cost_ns_per_kib = 20000,
    .compile = pii_compile,
    .free = pii_free,
    .n_rules = pii_rules,
    .rule_name = pii_name,
    .run = pii_run,
};

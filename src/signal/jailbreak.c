/*
 * Jailbreak: does any turn try to turn the model against its instructions?
 *
 * Every turn is read for itself, and the worst one counts; a rule without history looks at what the user asks
 * now. The find that is kept is the worst window of all that some rule looks at.
 */
#include "base/mem.h"
#include "signal/jailbreak_reader.h"
#include "signal/types.h"

#define SCRATCH_MAX ((size_t)64 << 20)

struct sr_signal_set {
    struct sr_jailbreak_reader *reader;
    const struct sr_config_jailbreak *rules;
    size_t n;
    bool history; /* a rule reads every turn */
};

static void jailbreak_free(struct sr_signal_set *set)
{
    sr_jailbreak_reader_unref(set->reader);
    sr_mem_free(set);
}

static int jailbreak_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_models *models, struct sr_err *err)
{
    const char *path = config->global.jailbreak_model;
    struct sr_err why = {0};
    if (config->n_jailbreaks == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    int rc = sr_jailbreak_reader_new(&set->reader, path ? path : "", &config->global.jailbreak_labels, models,
                                     &why);
    if (rc) {
        bool names = rc == SR_ENOENT || rc == SR_EIO || !path || !*path;
        sr_err_set(err, rc, "%s%s%s", names ? "" : path, names ? "" : ": ", why.message);
        jailbreak_free(set);
        return rc;
    }
    set->rules = config->jailbreaks;
    set->n = config->n_jailbreaks;
    for (size_t i = 0; i < set->n; i++)
        set->history |= set->rules[i].include_history;
    *out = set;
    return SR_OK;
}

static size_t jailbreak_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *jailbreak_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

/* The worst of all turns, and of the current one. */
struct worst {
    struct sr_signal_find all, current;
};

static int read_turn(const struct sr_signal_set *set, struct sr_bytes text, struct sr_bytes tenant,
                     struct sr_signal_find *find, struct sr_signal_result *result)
{
    struct sr_jailbreak_find found;
    struct sr_arena scratch;
    sr_arena_init(&scratch, SCRATCH_MAX);
    int rc = sr_jailbreak_read(set->reader, text, tenant, &scratch, &found);
    sr_arena_dispose(&scratch);
    if (rc)
        return rc;
    *find = (struct sr_signal_find){find->turn, found.label, found.start, found.end, found.risk};
    result->scanned_bytes += text.n;
    result->remembered += found.windows == 0;
    return SR_OK;
}

static int read_turns(const struct sr_signal_set *set, const struct sr_signal_turns *turns,
                      struct worst *worst, struct sr_signal_result *result)
{
    for (size_t i = 0; i < turns->n; i++) {
        const struct sr_signal_turn *turn = &turns->items[i];
        struct sr_signal_find find = {.turn = (uint32_t)i};
        result->all_bytes += turn->text.n;
        if ((!set->history && !turn->current) || turn->text.n == 0)
            continue;
        int rc = read_turn(set, turn->text, turns->tenant, &find, result);
        if (rc)
            return rc;
        if (find.confidence > worst->all.confidence)
            worst->all = find;
        if (turn->current && find.confidence > worst->current.confidence)
            worst->current = find;
    }
    return SR_OK;
}

static int jailbreak_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                         struct sr_arena *arena, struct sr_signal_result *result)
{
    struct worst worst = {0};
    struct sr_signal_find *kept = sr_arena_calloc(arena, 1, sizeof *kept);
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits || !kept)
        return SR_ENOMEM;
    int rc = SR_OK;
    if (input->turns) {
        rc = read_turns(set, input->turns, &worst, result);
    } else if (input->text.n) {
        result->all_bytes = input->text.n;
        rc = read_turn(set, input->text, SR_LIT(""), &worst.current, result);
        worst.all = worst.current;
    }
    if (rc)
        return rc;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_jailbreak *rule = &set->rules[i];
        float risk = rule->include_history ? worst.all.confidence : worst.current.confidence;
        result->hits[i] = (struct sr_signal_hit){risk >= (float)rule->threshold, risk, (double)risk};
    }
    *kept = set->history ? worst.all : worst.current;
    result->n_hits = set->n;
    result->finds = kept;
    result->n_finds = result->scanned_bytes ? 1 : 0;
    result->tier = sr_jailbreak_tier(set->reader);
    result->labels = sr_jailbreak_labels(set->reader, &result->n_labels);
    return SR_OK;
}

const struct sr_signal_ops sr_signal_jailbreak = {
    .name = "jailbreak",
    .reads_all = true,
    .cost_ns_per_kib = 90000,
    .compile = jailbreak_compile,
    .free = jailbreak_free,
    .n_rules = jailbreak_rules,
    .rule_name = jailbreak_name,
    .run = jailbreak_run,
};

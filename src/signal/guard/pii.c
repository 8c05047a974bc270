/*
 * PII: matches when a unit has private data that a rule does not allow.
 *
 * All entities of the units are kept with their spans, whatever the rules are: redaction and the policies
 * of models apply their own thresholds. The exact recognisers read at once; names of people, places and
 * organisations come from the neural classifier, if there is one (of texts in other scripts, from the
 * multilingual one), or from the user's own folder, and are added to the same list.
 */
#include "base/log.h"
#include "base/mem.h"
#include "signal/guard/pii_spans.h"
#include "signal/guard/pii_units.h"
#include "signal/neural/neural.h"
#include "signal/types.h"

#define TASK "pii"

struct sr_signal_set {
    struct sr_pii_reader *reader; /* NULL: only the neural classifier */
    struct sr_neural *neural;     /* NULL: only the exact recognisers */
    struct sr_pii_kinds kinds;    /* of the neural classifier's spans */
    struct sr_pii_other other;    /* reads texts in other scripts */
    const struct sr_config_pii *rules;
    size_t n;
    bool history;  /* a rule, a policy or redaction needs every unit */
    size_t budget; /* bytes of a request that the neural classifier is asked about; 0: all */
};

static void pii_free(struct sr_signal_set *set)
{
    sr_pii_reader_free(set->reader);
    sr_neural_unref(set->neural);
    sr_pii_other_dispose(&set->other);
    sr_mem_free(set);
}

/* `own`: the rules' thresholds are the only ones. */
static int take_types(struct sr_signal_set *set, const struct sr_config *config, bool own, struct sr_err *err)
{
    size_t n;
    const char *const *names = sr_neural_types(set->neural, &n);
    if (sr_pii_kinds_init(&set->kinds, names, n) == 0)
        return sr_err_set(err, SR_EMISMATCH,
                          n ? "no label of the model is a type of private data (`%.60s` is none)"
                            : "the model has no head for `" TASK "`%s",
                          n ? names[0] : "");
    return own ? SR_OK : sr_signal_thresholds(config, TASK, names, n, set->kinds.least, err);
}

/* Opens the user's own folder instead of the neural classifier. */
static int open_own(struct sr_signal_set *set, const struct sr_config *config, struct sr_model_store *models,
                    const char *folder, struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = sr_signal_own_neural(config, models, folder, TASK, &set->neural, &why);
    if (rc == SR_OK)
        rc = take_types(set, config, true, &why);
    bool names = strstr(why.message, folder) != NULL;
    return rc ? sr_err_set(err, rc, "%s%s%s", names ? "" : folder, names ? "" : ": ", why.message) : SR_OK;
}

/* Adds the neural classifier. A bundled one that does not fit is not used; a configured one must fit. */
static int add_neural(struct sr_signal_set *set, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    const char *named = config->global.inference.neural;
    struct sr_err why = {0};
    int rc = sr_signal_neural(config, models, &set->neural, &why);
    if (rc == SR_ENOENT)
        return SR_OK;
    if (rc == SR_OK)
        rc = take_types(set, config, false, &why);
    if (rc && (!named || !*named)) {
        sr_log(SR_LOG_WARN, "neural_left_out", "%s; the exact recognisers answer alone", why.message);
        sr_neural_unref(set->neural);
        set->neural = NULL;
        return SR_OK;
    }
    return rc ? sr_err_set(err, rc, "%s", why.message) : sr_pii_other_open(&set->other, config, models, err);
}

/* True when policies of models or redaction need every unit that is sent. */
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

/* Without the neural classifier names are not found; who did not choose that should know. */
static void warn_of_names(const struct sr_signal_set *set, const struct sr_config *config)
{
    if (!set->neural && sr_signal_wants_neural(config))
        sr_log(SR_LOG_WARN, "pii_names_not_found",
               "there is no neural classifier: names of people, places and organisations are not found as "
               "private data");
}

static int pii_compile(struct sr_signal_set **out, const struct sr_config *config,
                       struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_piis == 0 && config->global.n_policies == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    char folder[SR_LOCATE_MAX];
    int rc = sr_signal_find_model(config, TASK, config->global.pii_model, folder, err);
    if (rc == SR_OK && !config->global.inference.alone)
        rc = sr_pii_reader_new(&set->reader, models, err);
    if (rc == SR_OK)
        rc = *folder ? open_own(set, config, models, folder, err) : add_neural(set, config, models, err);
    if (rc == SR_OK && !set->reader && !set->neural)
        rc = sr_err_set(err, SR_EUNSUPPORTED, "there is no neural model for `" TASK "`");
    if (rc) {
        pii_free(set);
        return rc;
    }
    if (!*folder)
        warn_of_names(set, config);
    set->rules = config->piis;
    set->n = config->n_piis;
    set->history = wants_all(config);
    set->budget = config->global.inference.neural_max;
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

bool sr_signal_pii_counts(const struct sr_config_pii *rule, const struct sr_signal_finding *finding)
{
    return !(rule->allowed >> finding->type & 1) &&
           finding->confidence >= (float)rule->thresholds[finding->type];
}

/* Writes a rule's hit: the highest confidence of its findings, and their number. */
static void look_for(const struct sr_config_pii *rule, const struct sr_signal_units *units,
                     const struct sr_signal_result *result, struct sr_signal_hit *hit)
{
    hit->value = 0;
    for (size_t i = 0; i < result->n_findings; i++) {
        const struct sr_signal_finding *finding = &result->findings[i];
        bool seen = rule->include_history || !units || units->items[finding->unit].current;
        if (!seen || !sr_signal_pii_counts(rule, finding))
            continue;
        hit->matched = true;
        hit->value += 1;
        if (finding->confidence > hit->confidence)
            hit->confidence = finding->confidence;
    }
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_pii_units *units)
{
    struct sr_signal_result *result = task->result;
    result->hits = sr_signal_hits(task->arena, set->n);
    int rc = result->hits ? sr_pii_gather(units, task->input->units, task->arena, result) : SR_ENOMEM;
    for (size_t i = 0; !rc && i < set->n; i++)
        look_for(&set->rules[i], task->input->units, result, &result->hits[i]);
    result->n_hits = set->n;
    return rc;
}

static int finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                  struct sr_signal_question *questions, size_t n)
{
    struct sr_signal_result *result = task->result;
    const struct sr_pii_units *units = ((struct sr_pii_unit *)questions[0].about)->all;
    bool answered = false, whole = true;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < n; i++) {
        if (!set->reader && sr_signal_question_is_late(&questions[i]))
            return SR_ETIMEOUT;
        if (questions[i].status != SR_OK && !set->reader)
            return questions[i].status;
        if (questions[i].status == SR_OK)
            rc = sr_pii_join_spans(&set->kinds, &set->other, &questions[i], task->arena);
        answered |= questions[i].status == SR_OK;
        whole &= sr_signal_question_is_whole(&questions[i]);
    }
    result->neural_bytes += whole ? units->short_bytes : 0;
    if (result->neural_bytes > result->all_bytes) /* parts of a long unit overlap */
        result->neural_bytes = result->all_bytes;
    if (result->multilingual_bytes > result->all_bytes)
        result->multilingual_bytes = result->all_bytes;
    if (!set->reader)
        result->scanned_bytes = result->neural_bytes;
    result->tier = !set->reader ? "neural" : answered ? "exact+neural" : "exact";
    return rc ? rc : write_result(set, task, units);
}

/* Classifies the units with the recognisers. */
static int read_units(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_bytes tenant,
                      const struct sr_signal_unit *items, size_t n, struct sr_pii_units *units)
{
    struct sr_signal_result *result = task->result;
    struct sr_pii_session session;
    int rc = SR_OK;
    if (set->reader)
        sr_pii_session_init(&session, set->reader, tenant);
    for (size_t i = 0; rc == SR_OK && i < n; i++) {
        size_t own = items[i].n_parts ? 0 : items[i].text.n; /* a seam's bytes are those of its parts */
        result->all_bytes += own;
        if ((!set->history && !items[i].current) || items[i].text.n == 0)
            continue;
        if (items[i].only_seam) {
            result->scanned_bytes += own;
            units->short_bytes += own;
            continue;
        }
        struct sr_pii_unit *unit = &units->items[units->n++];
        *unit = (struct sr_pii_unit){.unit = (uint32_t)i, .text = items[i].text, .own = own, .all = units};
        if (set->reader)
            rc = sr_pii_read(&session, unit->text, task->arena, &unit->found);
        *(unit->found.cut ? &result->unread_bytes : &result->scanned_bytes) += own;
        result->remembered += unit->found.remembered;
    }
    if (set->reader)
        sr_pii_session_dispose(&session);
    return rc;
}

/* First by lengths alone; what is memoised is looked up only if that is too much. */
static int pii_admit(const struct sr_signal_set *set, const struct sr_signal_task *task)
{
    const struct sr_signal_input *input = task->input;
    const struct sr_signal_unit whole = {.current = true, .text = input->text};
    const struct sr_signal_unit *items = input->units ? input->units->items : &whole;
    struct sr_bytes tenant = input->units ? input->units->tenant : SR_LIT("");
    size_t n = input->units ? input->units->n : 1;
    struct sr_memo_scope scope;
    bool remembers = set->reader && sr_pii_scope(set->reader, tenant, &scope) == SR_OK;
    int rc = set->neural ? SR_EBUSY : SR_OK;
    for (int exactly = 0; rc == SR_EBUSY && exactly <= remembers; exactly++) {
        size_t bytes = 0;
        for (size_t i = 0; i < n; i++)
            if ((set->history || items[i].current) && !items[i].only_seam &&
                !(exactly && sr_pii_is_known(set->reader, &scope, items[i].text)))
                bytes += items[i].text.n;
        if (set->reader && set->budget && bytes > set->budget)
            bytes = set->budget;
        rc = sr_signal_room(task, set->neural, bytes);
    }
    return rc;
}

static int pii_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    const struct sr_signal_input *input = task->input;
    struct sr_signal_unit whole = {.current = true, .text = input->text};
    const struct sr_signal_unit *items = input->units ? input->units->items : &whole;
    size_t n = input->units ? input->units->n : 1, asked = 0;
    struct sr_bytes tenant = input->units ? input->units->tenant : SR_LIT("");
    struct sr_pii_units *units = sr_arena_calloc(task->arena, 1, sizeof *units);
    struct sr_signal_question *questions;
    if (units)
        units->items = sr_arena_calloc(task->arena, n + 1, sizeof *units->items);
    if (!units || !units->items)
        return SR_ENOMEM;
    int rc = read_units(set, task, tenant, items, n, units);
    bool asks = set->neural && units->n;
    task->result->tier = set->reader ? "exact" : "neural";
    if (!rc && (!asks || set->reader))
        rc = write_result(set, task, units);
    if (rc || !asks)
        return rc;
    if (set->reader)
        sr_signal_offer_partial(task);
    size_t budget = !set->reader ? SIZE_MAX : set->budget ? set->budget : SIZE_MAX / 2;
    rc = sr_pii_choose(units, items, budget, task->arena, &questions, &asked);
    if (rc == SR_OK)
        rc = sr_pii_other_ask(&set->other, task->arena, &questions, &asked);
    if (rc || asked == 0)
        return rc;
    return sr_signal_ask(set, task, set->neural, tenant, questions, asked, finish);
}

static bool pii_is_slow(const struct sr_signal_set *set, const struct sr_signal_input *input)
{
    const struct sr_signal_unit whole = {.current = true, .text = input->text};
    const struct sr_signal_unit *items = input->units ? input->units->items : &whole;
    size_t n = input->units ? input->units->n : 1;
    for (size_t i = 0; i < n; i++)
        if ((set->history || items[i].current) && sr_multilingual_is_slow(set->other.models, items[i].text))
            return true;
    return false;
}

static bool pii_may_be_late(const struct sr_signal_set *set)
{
    return set->neural != NULL;
}

static int pii_prefetch(const struct sr_signal_set *set, const struct sr_signal_unit *unit,
                        struct sr_arena *arena, struct sr_signal_prefetched *out)
{
    (void)arena;
    *out = (struct sr_signal_prefetched){
        .neural = set->neural, .texts = {unit->text}, .latin = set->other.models != NULL};
    if (sr_multilingual_reads(set->other.models, unit->text))
        out->neural = sr_pii_other_reader(&set->other, unit->text, false);
    out->n = out->neural && (set->history || unit->role != SR_ROLE_ASSISTANT);
    return SR_OK;
}

static void pii_alone(struct sr_config *config)
{
    static struct sr_config_pii any = {.name = "any", .threshold = 1, .include_history = true};
    config->piis = &any;
    config->n_piis = 1;
}

static const char *pii_named_model(const struct sr_config *config)
{
    return config->global.pii_model;
}

const struct sr_signal_ops sr_signal_pii = {
    .name = TASK,
    .header = "x-vsr-matched-pii",
    .header_order = 6,
    .reads = SR_SIGNAL_READS_UNITS,
    .cost_ns_per_kib = 20000,
    .compile = pii_compile,
    .free = pii_free,
    .n_rules = pii_rules,
    .rule_name = pii_name,
    .start = pii_start,
    .admit = pii_admit,
    .may_be_late = pii_may_be_late,
    .is_slow = pii_is_slow,
    .prefetch = pii_prefetch,
    .alone = pii_alone,
    .named_model = pii_named_model,
};

/*
 * Jailbreak: matches when a unit tries to make the model ignore its instructions.
 *
 * Every unit is classified separately, but those of the operator, and the unit with the highest risk counts;
 * a rule without history uses only the current units. The linear tier reads everything at once. The neural
 * classifier, if there is one, reads the same units as far as its budget goes, with their disguised parts
 * undisguised (of a completely disguised region only these), and both results are combined. If the neural
 * classifier fails, the linear result is used; where it read only a part, it does not lower the linear
 * result, which covers all. A text of a user that speaks about what a system prompt protects has its risk
 * raised (reach.h). A short unit that is near the threshold then may be read a second time
 * (jailbreak_second.c). The finding is the window with the highest risk in all units that a rule uses.
 */
#include "signal/guard/jailbreak.h"

#include "base/mem.h"
#include "signal/guard/place.h"
#include "signal/guard/reach.h"

struct sr_signal_set {
    struct sr_jailbreak_models models;
    struct sr_matcher *protecting; /* words of sentences that protect; NULL: not used with these models */
    size_t n;
    bool history;  /* a rule reads every unit */
    size_t budget; /* bytes of a request that the neural classifier is asked about; 0: all */
    struct sr_config_jailbreak rules[]; /* [n]: those that a classifier decides */
};

static void jailbreak_free(struct sr_signal_set *set)
{
    sr_jailbreak_models_dispose(&set->models);
    sr_matcher_free(set->protecting);
    sr_mem_free(set);
}

static int jailbreak_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_jailbreaks; i++)
        n += config->jailbreaks[i].method == SR_JAILBREAK_CLASSIFIER;
    if (n == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + n * sizeof set->rules[0]);
    if (!set)
        return SR_ENOMEM;
    int rc = sr_jailbreak_models_open(&set->models, config, models, err);
    if (rc == SR_OK && set->models.bundled)
        rc = sr_reach_matcher(&set->protecting);
    if (rc) {
        jailbreak_free(set);
        return rc;
    }
    for (size_t i = 0; i < config->n_jailbreaks; i++)
        if (config->jailbreaks[i].method == SR_JAILBREAK_CLASSIFIER)
            set->rules[set->n++] = config->jailbreaks[i];
    set->budget = config->global.inference.neural_max;
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

/* The units of an input; an input without units is one unit. */
struct units {
    const struct sr_signal_unit *items;
    size_t n;
    struct sr_bytes tenant;
};

static struct units units_of(const struct sr_signal_input *input, struct sr_signal_unit *whole)
{
    if (input->units)
        return (struct units){input->units->items, input->units->n, input->units->tenant};
    *whole = (struct sr_signal_unit){.current = true, .text = input->text};
    return (struct units){whole, 1, SR_LIT("")};
}

/* The finding of a unit's worst window; in a seam, at the string where the window begins. */
static struct sr_signal_finding place(const struct sr_signal_input *input,
                                      const struct sr_jailbreak_unit *worst, float risk)
{
    if (!worst)
        return (struct sr_signal_finding){0};
    struct sr_signal_finding finding = {
        .unit = worst->unit,
        .type = worst->worst.label,
        .start = worst->worst.start,
        .end = worst->worst.end,
        .confidence = risk,
        .disguise = worst->worst.disguise,
    };
    sr_guard_place(input, &finding);
    return finding;
}

/* The unit with the highest risk, and that risk. */
struct worst {
    const struct sr_jailbreak_unit *unit; /* NULL: none */
    float risk;
};

static void take_higher(struct worst *worst, const struct sr_jailbreak_unit *unit, float risk)
{
    if (!worst->unit || risk > worst->risk)
        *worst = (struct worst){unit, risk};
}

/* The state of one evaluation, in the task's arena. */
struct evaluation {
    struct sr_jailbreak_unit *units;
    size_t n;
    struct sr_reach reach;
    struct sr_jailbreak_region *regions;
    size_t n_regions;
    struct sr_signal_question *questions;
    size_t n_questions;
    struct sr_jailbreak_again again[SR_RISK_SECOND_TEXTS]; /* what the second reader is asked about */
    size_t short_bytes; /* of strings that are read in seams only, or are the operator's */
};

/* The unit's risk, that of a user's text beside what the system prompts protect. */
static float risk_of(const struct sr_signal_input *input, const struct evaluation *evaluation,
                     const struct sr_jailbreak_unit *unit)
{
    float risk = sr_jailbreak_unit_risk(unit);
    const struct sr_signal_unit *of = input->units ? &input->units->items[unit->unit] : NULL;
    if (evaluation->reach.n == 0 || !of || of->role != SR_ROLE_USER || of->source != SR_SOURCE_MESSAGE)
        return risk;
    struct sr_bytes window = sr_bytes_of(of->text.p + unit->worst.start, unit->worst.end - unit->worst.start);
    risk = sr_risk_lowered(risk, -sr_reach_raise(&evaluation->reach, window));
    return risk < SR_RISK_MAX ? risk : SR_RISK_MAX;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct evaluation *evaluation)
{
    const struct sr_jailbreak_unit *units = evaluation->units;
    struct sr_signal_result *result = task->result;
    struct worst all = {.unit = NULL}, current = {.unit = NULL};
    struct sr_signal_finding *kept = sr_arena_calloc(task->arena, 1, sizeof *kept);
    result->hits = sr_signal_hits(task->arena, set->n);
    if (!result->hits || !kept)
        return SR_ENOMEM;
    for (size_t i = 0; i < evaluation->n; i++) {
        float risk = risk_of(task->input, evaluation, &units[i]);
        take_higher(&all, &units[i], risk);
        if (units[i].current)
            take_higher(&current, &units[i], risk);
    }
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_jailbreak *rule = &set->rules[i];
        float risk = rule->include_history ? all.risk : current.risk;
        result->hits[i] = (struct sr_signal_hit){risk >= (float)rule->threshold, risk, (double)risk};
    }
    struct worst found = set->history ? all : current;
    *kept = place(task->input, found.unit, found.risk);
    result->n_hits = set->n;
    result->findings = kept;
    result->n_findings = result->scanned_bytes || result->unread_bytes ? 1 : 0;
    result->labels = set->models.reader ? sr_jailbreak_labels(set->models.reader, &result->n_labels)
                                        : set->models.head->labels;
    result->n_labels = set->models.reader ? result->n_labels : set->models.head->n_labels;
    return SR_OK;
}

static void limit_multilingual(struct sr_signal_result *result)
{
    if (result->multilingual_bytes > result->all_bytes)
        result->multilingual_bytes = result->all_bytes;
}

/* Takes the second reader's answers in. */
static int finish_second(const struct sr_signal_set *set, struct sr_signal_task *task,
                         struct sr_signal_question *questions, size_t n)
{
    struct evaluation *evaluation = questions[0].about;
    for (size_t i = 0; i < n; i++)
        sr_jailbreak_second_mix(&evaluation->again[i], &set->models, &questions[i]);
    limit_multilingual(task->result);
    return write_result(set, task, evaluation);
}

/* What is read again; 0: nothing is uncertain, or it would change nothing. */
static size_t choose_again(const struct sr_signal_set *set, const struct units *units,
                           const struct sr_signal_input *input, struct evaluation *evaluation)
{
    struct sr_jailbreak_again found[SR_RISK_SECOND_TEXTS];
    size_t n = 0;
    for (size_t i = 0; set->models.reads_twice && i < evaluation->n; i++) {
        struct sr_jailbreak_unit *unit = &evaluation->units[i];
        float risk = risk_of(input, evaluation, unit);
        size_t of_it = sr_jailbreak_second_texts(&set->models, unit, units->items[unit->unit].text, risk,
                                                 found, SR_RISK_SECOND_TEXTS);
        if (unit->current && of_it == 0 && sr_jailbreak_second_is_moot(&set->models, risk))
            return 0;
        for (size_t k = 0; k < of_it; k++)
            sr_jailbreak_again_insert(evaluation->again, &n, SR_RISK_SECOND_TEXTS, found[k]);
    }
    return n;
}

/* The result of both tiers; where that is uncertain the second reader is asked first. */
static int conclude(const struct sr_signal_set *set, struct sr_signal_task *task,
                    struct evaluation *evaluation)
{
    struct sr_signal_unit whole;
    struct units units = units_of(task->input, &whole);
    size_t n = choose_again(set, &units, task->input, evaluation);
    struct sr_signal_question *questions = n ? sr_arena_calloc(task->arena, n, sizeof *questions) : NULL;
    if (!n)
        return write_result(set, task, evaluation);
    if (!questions)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        questions[i] = (struct sr_signal_question){
            .text = evaluation->again[i].text, .about = evaluation, .extra = true};
    return sr_signal_ask_second(set, task, set->models.other, units.tenant, questions, n, finish_second);
}

/* Takes the neural classifier's answers in. */
static int finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                  struct sr_signal_question *questions, size_t n)
{
    struct evaluation *evaluation = questions[0].about;
    struct sr_signal_result *result = task->result;
    bool answered = false, whole = true;
    for (size_t i = 0; i < n; i++) {
        if (!set->models.reader && sr_signal_question_is_late(&questions[i]))
            return SR_ETIMEOUT;
        if (!set->models.reader && questions[i].status != SR_OK)
            return questions[i].status;
        answered |= questions[i].status == SR_OK;
        whole &= sr_signal_question_is_whole(&questions[i]);
    }
    result->neural_bytes += whole ? evaluation->short_bytes : 0;
    for (size_t i = 0; i < evaluation->n_regions; i++)
        result->neural_bytes += sr_jailbreak_region_read(&evaluation->regions[i]);
    if (result->neural_bytes > result->all_bytes) /* regions of a long unit overlap */
        result->neural_bytes = result->all_bytes;
    limit_multilingual(result);
    for (size_t i = 0; i < evaluation->n; i++) {
        struct sr_jailbreak_unit *unit = &evaluation->units[i];
        int rc = unit->first ? sr_jailbreak_unit_mix(unit, &set->models, task->arena) : SR_OK;
        if (rc)
            return rc;
    }
    if (!set->models.reader)
        result->scanned_bytes = result->neural_bytes;
    result->tier = !set->models.reader ? "neural" : answered ? "linear+neural" : "linear";
    return conclude(set, task, evaluation);
}

/* Classifies the units with the linear tier. */
static int read_units(const struct sr_signal_set *set, const struct units *units, struct sr_signal_task *task,
                      struct evaluation *evaluation)
{
    struct sr_signal_result *result = task->result;
    struct sr_jailbreak_session *session = NULL;
    int rc = SR_OK;
    if (set->models.reader)
        rc = sr_jailbreak_session_new(&session, set->models.reader, units->tenant);
    for (size_t i = 0; rc == SR_OK && i < units->n; i++) {
        const struct sr_signal_unit *unit = &units->items[i];
        size_t own = unit->n_parts ? 0 : unit->text.n; /* a seam's bytes are those of its parts */
        result->all_bytes += own;
        if ((!set->history && !unit->current) || unit->text.n == 0)
            continue;
        if (unit->only_seam || unit->operators) {
            result->scanned_bytes += own;
            evaluation->short_bytes += own;
            continue;
        }
        struct sr_jailbreak_unit *read = &evaluation->units[evaluation->n++];
        *read = (struct sr_jailbreak_unit){.unit = (uint32_t)i,
                                           .current = unit->current,
                                           .system = unit->role == SR_ROLE_SYSTEM && set->models.bundled,
                                           .stretches =
                                               set->models.bundled ? sr_risk_stretches(unit->text.n) : 0};
        if (session)
            rc = sr_jailbreak_unit_read(read, session, unit->text, task->arena, result);
        *(read->linear.cut ? &result->unread_bytes : &result->scanned_bytes) += own;
    }
    sr_jailbreak_session_free(session);
    return rc;
}

static int ask(const struct sr_signal_set *set, const struct units *units, struct sr_signal_task *task,
               struct evaluation *evaluation)
{
    /* The neural classifier alone must read everything. */
    size_t budget = !set->models.reader ? SIZE_MAX : set->budget ? set->budget : SIZE_MAX / 2;
    int rc = sr_jailbreak_choose(evaluation->units, evaluation->n, units->items, budget, task->arena,
                                 &evaluation->regions, &evaluation->n_regions);
    return rc ? rc
              : sr_jailbreak_ask(&set->models, evaluation->regions, evaluation->n_regions, evaluation,
                                 task->arena, &evaluation->questions, &evaluation->n_questions);
}

static bool is_read(const struct sr_signal_set *set, const struct sr_signal_unit *unit)
{
    return (set->history || unit->current) && unit->text.n && !unit->only_seam && !unit->operators;
}

/* First by lengths alone; what is memoised is looked up only if that is too much. */
static int jailbreak_admit(const struct sr_signal_set *set, const struct sr_signal_task *task)
{
    struct sr_signal_unit whole;
    struct units units = units_of(task->input, &whole);
    struct sr_memo_scope scope;
    bool remembers =
        set->models.reader && sr_jailbreak_scope(set->models.reader, units.tenant, &scope) == SR_OK;
    int rc = set->models.neural ? SR_EBUSY : SR_OK;
    for (int exactly = 0; rc == SR_EBUSY && exactly <= remembers; exactly++) {
        size_t bytes = 0;
        for (size_t i = 0; i < units.n; i++) {
            const struct sr_signal_unit *unit = &units.items[i];
            if (is_read(set, unit) &&
                !(exactly && sr_jailbreak_is_known(set->models.reader, &scope, unit->text)))
                bytes += unit->text.n;
        }
        if (set->models.reader && set->budget && bytes > set->budget)
            bytes = set->budget;
        rc = sr_signal_room(task, set->models.neural, bytes);
    }
    return rc;
}

static int jailbreak_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct sr_signal_unit whole;
    struct units units = units_of(task->input, &whole);
    struct evaluation *evaluation = sr_arena_calloc(task->arena, 1, sizeof *evaluation);
    if (evaluation)
        evaluation->units = sr_arena_calloc(task->arena, units.n + 1, sizeof *evaluation->units);
    if (!evaluation || !evaluation->units)
        return SR_ENOMEM;
    int rc = read_units(set, &units, task, evaluation);
    if (rc == SR_OK && set->protecting)
        rc = sr_reach_read(&evaluation->reach, set->protecting, units.items, units.n, task->arena);
    task->result->tier = set->models.reader ? sr_jailbreak_tier(set->models.reader) : "neural";
    if (!rc && (set->models.reader || evaluation->n == 0))
        rc = write_result(set, task, evaluation);
    if (rc || !set->models.neural || evaluation->n == 0)
        return rc;
    if (set->models.reader)
        sr_signal_offer_partial(task);
    rc = ask(set, &units, task, evaluation);
    if (rc || evaluation->n_questions == 0)
        return rc;
    return sr_signal_ask(set, task, set->models.neural, units.tenant, evaluation->questions,
                         evaluation->n_questions, finish);
}

static bool jailbreak_is_slow(const struct sr_signal_set *set, const struct sr_signal_input *input)
{
    struct sr_signal_unit whole;
    struct units units = units_of(input, &whole);
    for (size_t i = 0; i < units.n; i++)
        if (is_read(set, &units.items[i]) &&
            sr_multilingual_is_slow_judge(set->models.other, units.items[i].text))
            return true;
    return false;
}

static void jailbreak_ahead(const struct sr_signal_set *set)
{
    if (set->models.reads_twice)
        sr_multilingual_open_ahead(set->models.other);
}

static bool jailbreak_may_be_late(const struct sr_signal_set *set)
{
    return set->models.neural != NULL;
}

static int jailbreak_prefetch(const struct sr_signal_set *set, const struct sr_signal_unit *unit,
                              struct sr_arena *arena, struct sr_signal_prefetched *out)
{
    struct sr_jailbreak_region region = {.text = unit->text};
    bool instead = false;
    int rc = SR_OK;
    *out = (struct sr_signal_prefetched){
        .neural = set->models.neural, .texts = {unit->text}, .latin = set->models.other != NULL};
    if (sr_multilingual_judges(set->models.other, unit->text) == SR_MULTILINGUAL_INSTEAD)
        out->neural = sr_jailbreak_reader_of(&set->models, unit->text, false);
    if (!out->neural)
        return SR_OK;
    out->n = set->models.neural && (set->history || unit->role != SR_ROLE_ASSISTANT);
    if (out->n && arena)
        rc = sr_jailbreak_region_views(&region, arena, &out->texts[1], &instead);
    if (instead)
        out->texts[0] = out->texts[1];
    else
        out->n += out->texts[1].n > 0;
    return rc;
}

static void jailbreak_alone(struct sr_config *config)
{
    static struct sr_config_jailbreak any = {.name = "any", .threshold = 1, .include_history = true};
    config->jailbreaks = &any;
    config->n_jailbreaks = 1;
}

static const char *jailbreak_named_model(const struct sr_config *config)
{
    return config->global.jailbreak_model;
}

const struct sr_signal_ops sr_signal_jailbreak = {
    .name = SR_JAILBREAK_TASK,
    .header = "x-vsr-matched-jailbreak",
    .header_order = 5,
    .reads = SR_SIGNAL_READS_UNITS,
    .cost_ns_per_kib = 90000,
    .compile = jailbreak_compile,
    .free = jailbreak_free,
    .n_rules = jailbreak_rules,
    .rule_name = jailbreak_name,
    .start = jailbreak_start,
    .admit = jailbreak_admit,
    .may_be_late = jailbreak_may_be_late,
    .is_slow = jailbreak_is_slow,
    .ahead = jailbreak_ahead,
    .prefetch = jailbreak_prefetch,
    .alone = jailbreak_alone,
    .named_model = jailbreak_named_model,
};

/*
 * Jailbreak: matches when a unit tries to make the model ignore its instructions.
 *
 * Every unit is classified separately, the risks of its windows are combined, and the unit with the
 * highest risk counts; a rule without history uses only the current unit. The linear tier reads at once.
 * The neural classifier, if there is one, reads the same units and their disguised parts undisguised (of a
 * completely disguised unit only these), and both results are combined. If the neural classifier fails,
 * the linear result is used; if it read only a part, it does not lower the linear result, which covers
 * all. The finding is the window with the highest risk in all units that a rule uses.
 */
#include "signal/guard/jailbreak.h"

#include "base/mem.h"

struct sr_signal_set {
    struct sr_jailbreak_models models;
    const struct sr_config_jailbreak *rules;
    size_t n;
    bool history; /* a rule reads every unit */
};

static void jailbreak_free(struct sr_signal_set *set)
{
    sr_jailbreak_models_dispose(&set->models);
    sr_mem_free(set);
}

static int jailbreak_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_jailbreaks == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    int rc = sr_jailbreak_models_open(&set->models, config, models, err);
    if (rc) {
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

/* A finding in a seam, at the string where it begins. Without any unit the finding is none. */
static struct sr_signal_finding place(const struct sr_signal_input *input, struct sr_signal_finding finding)
{
    const struct sr_signal_unit *unit =
        input->units && finding.unit < input->units->n ? &input->units->items[finding.unit] : NULL;
    for (uint32_t i = 0; unit && i < unit->n_parts; i++) {
        const struct sr_signal_part *part = &input->units->parts[unit->first_part + i];
        if (finding.start >= part->end)
            continue;
        size_t end = finding.end < part->end ? finding.end : part->end;
        size_t start = finding.start > part->start ? finding.start : part->start;
        finding.unit = part->unit;
        finding.end = end - part->start + part->from;
        finding.start = start - part->start + part->from;
        break;
    }
    return finding;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_jailbreak_unit *assessments, size_t n)
{
    struct sr_arena *arena = task->arena;
    struct sr_signal_result *result = task->result;
    struct sr_signal_finding all = {0}, current = {0};
    struct sr_signal_finding *kept = sr_arena_calloc(arena, 1, sizeof *kept);
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits || !kept)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (assessments[i].finding.confidence > all.confidence)
            all = assessments[i].finding;
        if (assessments[i].current && assessments[i].finding.confidence > current.confidence)
            current = assessments[i].finding;
    }
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_jailbreak *rule = &set->rules[i];
        float risk = rule->include_history ? all.confidence : current.confidence;
        result->hits[i] = (struct sr_signal_hit){risk >= (float)rule->threshold, risk, (double)risk};
    }
    *kept = place(task->input, set->history ? all : current);
    result->n_hits = set->n;
    result->findings = kept;
    result->n_findings = result->scanned_bytes ? 1 : 0;
    result->labels = set->models.reader ? sr_jailbreak_labels(set->models.reader, &result->n_labels)
                                        : set->models.head->labels;
    result->n_labels = set->models.reader ? result->n_labels : set->models.head->n_labels;
    return SR_OK;
}

/* Bytes read of a unit whose views are read instead of its text. */
static size_t read_instead(const struct sr_signal_question *question)
{
    const struct sr_jailbreak_unit *assessment = question->about;
    size_t read = question->status == SR_OK ? sr_neural_scope(question->result).read_bytes : 0;
    return sr_signal_question_is_whole(question) || read > assessment->instead ? assessment->instead : read;
}

/* Combines the neural classifier's risks with the linear ones. */
static int finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                  struct sr_signal_question *questions, size_t n)
{
    struct sr_jailbreak_unit *assessments = n ? questions[0].about : NULL;
    size_t used = 0;
    bool answered = false;
    for (size_t i = 0; i < n; i++) {
        struct sr_jailbreak_unit *assessment = questions[i].about;
        used = (size_t)(assessment - assessments) + 1;
        if (!set->models.reader && sr_signal_question_is_late(&questions[i]))
            return SR_ETIMEOUT;
        if (questions[i].status == SR_OK)
            sr_jailbreak_unit_answer(assessment, &set->models, &questions[i]);
        else if (!set->models.reader)
            return questions[i].status;
        if (assessment->instead)
            task->result->neural_bytes += read_instead(&questions[i]);
        assessment->unread |= !sr_signal_question_is_whole(&questions[i]);
        answered |= questions[i].status == SR_OK;
    }
    for (size_t i = 0; i < used; i++)
        sr_jailbreak_unit_mix(&assessments[i], &set->models);
    if (!set->models.reader)
        task->result->scanned_bytes = task->result->neural_bytes;
    task->result->tier = !set->models.reader ? "neural" : answered ? "linear+neural" : "linear";
    return write_result(set, task, assessments, used);
}

/* Classifies the units with the linear tier, and prepares the questions to the neural classifier. */
static int read_units(const struct sr_signal_set *set, const struct units *units, struct sr_signal_task *task,
                      struct sr_jailbreak_unit *assessments, size_t *n_assessments,
                      struct sr_signal_question *questions, size_t *n_questions)
{
    struct sr_signal_result *result = task->result;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < units->n; i++) {
        const struct sr_signal_unit *unit = &units->items[i];
        struct sr_bytes undisguised = SR_LIT("");
        size_t own = unit->n_parts ? 0 : unit->text.n; /* a seam's bytes are those of its parts */
        result->all_bytes += own;
        if ((!set->history && !unit->current) || unit->text.n == 0)
            continue;
        struct sr_jailbreak_unit *assessment = &assessments[(*n_assessments)++];
        *assessment = (struct sr_jailbreak_unit){
            .finding = {.unit = (uint32_t)i, .group = unit->group, .source = unit->source},
            .current = unit->current,
            .neural = -1};
        if (set->models.reader)
            rc = sr_jailbreak_unit_read(assessment, &set->models, unit->text, units->tenant, result);
        if (rc == SR_OK && set->models.neural)
            rc = sr_jailbreak_unit_views(assessment, unit->text, task->arena, &undisguised);
        result->scanned_bytes += own;
        if (!set->models.neural)
            continue;
        if (sr_jailbreak_unit_is_views(assessment, unit->text))
            assessment->instead = own;
        else
            questions[(*n_questions)++] =
                (struct sr_signal_question){.text = unit->text, .about = assessment, .extra = own == 0};
        if (undisguised.n)
            questions[(*n_questions)++] = (struct sr_signal_question){
                .text = undisguised, .about = assessment, .view = true, .extra = true};
    }
    return rc;
}

static int jailbreak_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct sr_signal_unit whole;
    struct units units = units_of(task->input, &whole);
    size_t n_assessments = 0, n_questions = 0;
    struct sr_jailbreak_unit *assessments = sr_arena_calloc(task->arena, units.n + 1, sizeof *assessments);
    struct sr_signal_question *questions = sr_arena_calloc(task->arena, 2 * units.n + 1, sizeof *questions);
    if (!assessments || !questions)
        return SR_ENOMEM;
    int rc = read_units(set, &units, task, assessments, &n_assessments, questions, &n_questions);
    if (rc)
        return rc;
    if (n_questions && set->models.reader) {
        task->result->tier = sr_jailbreak_tier(set->models.reader);
        rc = write_result(set, task, assessments, n_assessments);
        if (rc)
            return rc;
        sr_signal_offer_partial(task);
    }
    if (n_questions)
        return sr_signal_ask(set, task, set->models.neural, units.tenant, questions, n_questions, finish);
    task->result->tier = set->models.reader ? sr_jailbreak_tier(set->models.reader) : "neural";
    return write_result(set, task, assessments, n_assessments);
}

static bool jailbreak_may_be_late(const struct sr_signal_set *set)
{
    return set->models.neural != NULL;
}

static int jailbreak_prefetch(const struct sr_signal_set *set, const struct sr_signal_unit *unit,
                              struct sr_arena *arena, struct sr_signal_prefetched *out)
{
    struct sr_jailbreak_unit assessment = {.neural = -1};
    int rc = SR_OK;
    *out = (struct sr_signal_prefetched){.neural = set->models.neural, .texts = {unit->text}};
    out->n = set->models.neural && (set->history || unit->role != SR_ROLE_ASSISTANT);
    if (out->n && arena)
        rc = sr_jailbreak_unit_views(&assessment, unit->text, arena, &out->texts[1]);
    if (sr_jailbreak_unit_is_views(&assessment, unit->text))
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
    .may_be_late = jailbreak_may_be_late,
    .prefetch = jailbreak_prefetch,
    .alone = jailbreak_alone,
    .named_model = jailbreak_named_model,
};

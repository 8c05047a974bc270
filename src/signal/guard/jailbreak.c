/*
 * Jailbreak: matches when a turn tries to make the model ignore its instructions.
 *
 * Every turn is classified separately, the risks of its windows are combined, and the turn with the
 * highest risk counts; a rule without history uses only the current turn. The linear tier reads at once.
 * The neural classifier, if there is one, reads the same turns and their disguised parts undisguised (of a
 * completely disguised turn only these), and both results are combined. If the neural classifier fails,
 * the linear result is used; if it read only a part, it does not lower the linear result, which covers
 * all. The finding is the window with the highest risk in all turns that a rule uses.
 */
#include "signal/guard/jailbreak.h"

#include "base/mem.h"

struct sr_signal_set {
    struct sr_jailbreak_models models;
    const struct sr_config_jailbreak *rules;
    size_t n;
    bool history; /* a rule reads every turn */
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

/* The turns of an input; an input without turns is one turn. */
struct turns {
    const struct sr_signal_turn *items;
    size_t n;
    struct sr_bytes tenant;
};

static struct turns turns_of(const struct sr_signal_input *input, struct sr_signal_turn *whole)
{
    if (input->turns)
        return (struct turns){input->turns->items, input->turns->n, input->turns->tenant};
    *whole = (struct sr_signal_turn){.current = true, .text = input->text};
    return (struct turns){whole, 1, SR_LIT("")};
}

static int write_result(const struct sr_signal_set *set, const struct sr_jailbreak_turn *assessments,
                        size_t n, struct sr_arena *arena, struct sr_signal_result *result)
{
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
    *kept = set->history ? all : current;
    result->n_hits = set->n;
    result->findings = kept;
    result->n_findings = result->scanned_bytes ? 1 : 0;
    result->labels = set->models.reader ? sr_jailbreak_labels(set->models.reader, &result->n_labels)
                                        : set->models.head->labels;
    result->n_labels = set->models.reader ? result->n_labels : set->models.head->n_labels;
    return SR_OK;
}

/* Bytes read of a turn whose views are read instead of its text. */
static size_t read_instead(const struct sr_signal_question *question)
{
    const struct sr_jailbreak_turn *assessment = question->about;
    size_t read = question->status == SR_OK ? sr_neural_scope(question->result).read_bytes : 0;
    return sr_signal_question_is_whole(question) || read > assessment->instead ? assessment->instead : read;
}

/* Combines the neural classifier's risks with the linear ones. */
static int finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                  struct sr_signal_question *questions, size_t n)
{
    struct sr_jailbreak_turn *assessments = n ? questions[0].about : NULL;
    size_t used = 0;
    bool answered = false;
    for (size_t i = 0; i < n; i++) {
        struct sr_jailbreak_turn *assessment = questions[i].about;
        used = (size_t)(assessment - assessments) + 1;
        if (!set->models.reader && sr_signal_question_is_late(&questions[i]))
            return SR_ETIMEOUT;
        if (questions[i].status == SR_OK)
            sr_jailbreak_turn_answer(assessment, &set->models, &questions[i]);
        else if (!set->models.reader)
            return questions[i].status;
        if (assessment->instead)
            task->result->neural_bytes += read_instead(&questions[i]);
        assessment->unread |= !sr_signal_question_is_whole(&questions[i]);
        answered |= questions[i].status == SR_OK;
    }
    for (size_t i = 0; i < used; i++)
        sr_jailbreak_turn_mix(&assessments[i], &set->models);
    if (!set->models.reader)
        task->result->scanned_bytes = task->result->neural_bytes;
    task->result->tier = !set->models.reader ? "neural" : answered ? "linear+neural" : "linear";
    return write_result(set, assessments, used, task->arena, task->result);
}

/* Classifies the turns with the linear tier, and prepares the questions to the neural classifier. */
static int read_turns(const struct sr_signal_set *set, const struct turns *turns, struct sr_signal_task *task,
                      struct sr_jailbreak_turn *assessments, size_t *n_assessments,
                      struct sr_signal_question *questions, size_t *n_questions)
{
    struct sr_signal_result *result = task->result;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < turns->n; i++) {
        const struct sr_signal_turn *turn = &turns->items[i];
        struct sr_bytes undisguised = SR_LIT("");
        result->all_bytes += turn->text.n;
        if ((!set->history && !turn->current) || turn->text.n == 0)
            continue;
        struct sr_jailbreak_turn *assessment = &assessments[(*n_assessments)++];
        *assessment = (struct sr_jailbreak_turn){
            .finding = {.turn = (uint32_t)i}, .current = turn->current, .neural = -1};
        if (set->models.reader)
            rc = sr_jailbreak_turn_read(assessment, &set->models, turn->text, turns->tenant, result);
        if (rc == SR_OK && set->models.neural)
            rc = sr_jailbreak_turn_views(assessment, turn->text, task->arena, &undisguised);
        result->scanned_bytes += turn->text.n;
        if (!set->models.neural)
            continue;
        if (sr_jailbreak_turn_is_views(assessment, turn->text))
            assessment->instead = turn->text.n;
        else
            questions[(*n_questions)++] =
                (struct sr_signal_question){.text = turn->text, .about = assessment};
        if (undisguised.n)
            questions[(*n_questions)++] =
                (struct sr_signal_question){.text = undisguised, .about = assessment, .extra = true};
    }
    return rc;
}

static int jailbreak_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct sr_signal_turn whole;
    struct turns turns = turns_of(task->input, &whole);
    size_t n_assessments = 0, n_questions = 0;
    struct sr_jailbreak_turn *assessments = sr_arena_calloc(task->arena, turns.n + 1, sizeof *assessments);
    struct sr_signal_question *questions = sr_arena_calloc(task->arena, 2 * turns.n + 1, sizeof *questions);
    if (!assessments || !questions)
        return SR_ENOMEM;
    int rc = read_turns(set, &turns, task, assessments, &n_assessments, questions, &n_questions);
    if (rc)
        return rc;
    if (n_questions && set->models.reader) {
        task->result->tier = sr_jailbreak_tier(set->models.reader);
        rc = write_result(set, assessments, n_assessments, task->arena, task->result);
        if (rc)
            return rc;
        sr_signal_offer_partial(task);
    }
    if (n_questions)
        return sr_signal_ask(set, task, set->models.neural, turns.tenant, questions, n_questions, finish);
    task->result->tier = set->models.reader ? sr_jailbreak_tier(set->models.reader) : "neural";
    return write_result(set, assessments, n_assessments, task->arena, task->result);
}

static bool jailbreak_may_be_late(const struct sr_signal_set *set)
{
    return set->models.neural != NULL;
}

static int jailbreak_prefetch(const struct sr_signal_set *set, const struct sr_signal_turn *turn,
                              struct sr_arena *arena, struct sr_signal_prefetched *out)
{
    struct sr_jailbreak_turn assessment = {.neural = -1};
    int rc = SR_OK;
    *out = (struct sr_signal_prefetched){.neural = set->models.neural, .texts = {turn->text}};
    out->n = set->models.neural && (set->history || turn->role == SR_ROLE_USER);
    if (out->n && arena)
        rc = sr_jailbreak_turn_views(&assessment, turn->text, arena, &out->texts[1]);
    if (sr_jailbreak_turn_is_views(&assessment, turn->text))
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
    .reads = SR_SIGNAL_READS_TURNS,
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

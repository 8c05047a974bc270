/*
 * Jailbreak: does a turn try to make the model ignore its instructions?
 *
 * Every turn is read for itself, its windows gathered, and the worst turn counts; a rule without history
 * looks at what the user asks now. The linear tier reads at once; the neural classifier, where there is one,
 * reads the same turns and their disguised parts undisguised (of a turn that is disguised as a whole only
 * these), and both answers are mixed. Where the neural classifier cannot answer the linear one stands; where
 * it has read a part only, its doubts do not lower the linear one, which has read all. The finding that is
 * kept is the worst window of all that some rule looks at.
 */
#include "base/log.h"
#include "base/mem.h"
#include "signal/guard/jailbreak_reader.h"
#include "signal/guard/risk.h"
#include "signal/neural/ask.h"
#include "signal/neural/neural.h"
#include "signal/types.h"
#include "text/disguise/deobfuscate.h"

#include <sys/stat.h>

#define SCRATCH_MAX ((size_t)64 << 20)
#define TASK        "jailbreak"
#define REACH       SR_JAILBREAK_OVERLAP

struct sr_signal_set {
    struct sr_jailbreak_reader *reader; /* NULL: the neural classifier alone */
    struct sr_neural *neural;           /* NULL: the linear tier alone */
    const struct sr_head_info *head;    /* the neural classifier's */
    uint64_t attack;                    /* mask of the head's labels */
    struct sr_fusion fusion;
    const struct sr_config_jailbreak *rules;
    size_t n;
    bool history; /* a rule reads every turn */
};

static void jailbreak_free(struct sr_signal_set *set)
{
    sr_jailbreak_reader_free(set->reader);
    sr_neural_unref(set->neural);
    sr_mem_free(set);
}

/* The neural classifier's head for the task, whatever a folder of the user's own calls it. */
static int take_head(struct sr_signal_set *set, const struct sr_config *config, struct sr_err *err)
{
    set->head = sr_neural_head(set->neural, TASK);
    if (!set->head || set->head->n_labels > SR_CLASSIFIER_LABELS_MAX)
        return sr_err_set(err, SR_EMISMATCH, "the model has no head for `" TASK "`");
    set->attack =
        sr_jailbreak_attacks(set->head->labels, set->head->n_labels, &config->global.jailbreak_labels);
    return set->attack ? SR_OK : sr_err_set(err, SR_EINVAL, "no label of the model means an attack");
}

static int open_own(struct sr_signal_set *set, const struct sr_config *config, struct sr_model_store *models,
                    const char *folder, struct sr_err *err)
{
    set->fusion = (struct sr_fusion){.neural = 1, .temperature = 1};
    int rc = sr_signal_own_neural(config, models, folder, TASK, &set->neural, err);
    return rc ? rc : take_head(set, config, err);
}

/* The neural classifier beside the linear tier. One that came along and does not fit is left out; one that
 * was named must. */
static int add_neural(struct sr_signal_set *set, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    const char *named = config->global.inference.neural;
    int rc = sr_signal_neural(config, models, &set->neural, err);
    if (rc == SR_ENOENT)
        return SR_OK;
    if (rc == SR_OK)
        rc = sr_signal_fusion(config, TASK, &set->fusion, err);
    if (rc == SR_OK && set->reader && set->fusion.neural <= 0) { /* of no weight: not asked */
        sr_neural_unref(set->neural);
        set->neural = NULL;
        return SR_OK;
    }
    if (rc == SR_OK)
        rc = take_head(set, config, err);
    if (rc && (!named || !*named)) {
        sr_log(SR_LOG_WARN, "neural_left_out", "%s; the linear tier answers alone", err->message);
        sr_neural_unref(set->neural);
        set->neural = NULL;
        return SR_OK;
    }
    return rc;
}

static int open_models(struct sr_signal_set *set, const struct sr_config *config,
                       struct sr_model_store *models, struct sr_err *err)
{
    char path[SR_LOCATE_MAX];
    struct stat st;
    struct sr_err why = {0};
    int rc = sr_signal_find_model(config, TASK, config->global.jailbreak_model, path, err);
    if (rc)
        return rc;
    bool own = *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode), alone = config->global.inference.alone;
    if (own)
        rc = open_own(set, config, models, path, &why);
    else if (!alone)
        rc = sr_jailbreak_reader_new(&set->reader, path, &config->global.jailbreak_labels, models, &why);
    if (rc == SR_OK && !own && !*path)
        rc = add_neural(set, config, models, &why);
    if (rc == SR_OK && !set->reader && !set->neural)
        rc = sr_err_set(&why, SR_EUNSUPPORTED, "there is no neural model for `" TASK "`");
    bool names = rc == SR_ENOENT || rc == SR_EIO || !*path || strstr(why.message, path);
    return rc ? sr_err_set(err, rc, "%s%s%s", names ? "" : path, names ? "" : ": ", why.message) : SR_OK;
}

static int jailbreak_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_jailbreaks == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    int rc = open_models(set, config, models, err);
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

/* A turn that is read: what the linear tier says, and what stands undisguised beside it. */
struct assessment {
    struct sr_signal_finding finding;
    bool current;
    const struct sr_undisguised *views;
    size_t n_views;
    size_t instead; /* bytes of the turn that its views stand for, so that the neural classifier reads them
                       alone; 0 */
    float neural;   /* the neural classifier's risk so far; negative: none */
    bool unread;    /* the neural classifier has not read all of it */
    uint32_t label;
    size_t start, end;
    uint32_t disguise;
};

/* The turns of an input; one that has none is a turn alone. */
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

static int read_linear(const struct sr_signal_set *set, struct sr_bytes text, struct sr_bytes tenant,
                       struct sr_signal_finding *finding, struct sr_signal_result *result)
{
    struct sr_jailbreak_finding found;
    struct sr_arena scratch;
    sr_arena_init(&scratch, SCRATCH_MAX);
    int rc = sr_jailbreak_read(set->reader, text, tenant, &scratch, &found);
    sr_arena_dispose(&scratch);
    if (rc)
        return rc;
    *finding = (struct sr_signal_finding){finding->turn, found.label, found.start,
                                          found.end,     found.risk,  found.disguise};
    result->remembered += found.windows == 0;
    return SR_OK;
}

/* The disguised parts of a text, undisguised, one below the other. */
static int join_views(struct assessment *assessment, struct sr_bytes text, struct sr_arena *arena,
                      struct sr_bytes *out)
{
    size_t total = 0, at = 0;
    int rc = sr_undisguise(text, REACH, arena, &assessment->views, &assessment->n_views);
    *out = SR_LIT("");
    for (size_t i = 0; !rc && i < assessment->n_views; i++)
        total += assessment->views[i].text.n + 1;
    if (rc || total == 0)
        return rc;
    char *joined = sr_arena_alloc(arena, total);
    if (!joined)
        return SR_ENOMEM;
    for (size_t i = 0; i < assessment->n_views; i++) {
        memcpy(joined + at, assessment->views[i].text.p, assessment->views[i].text.n);
        at += assessment->views[i].text.n;
        joined[at++] = '\n';
    }
    *out = sr_bytes_of(joined, total - 1);
    return SR_OK;
}

/* Are the views read in the place of the text? */
static bool stand_for(const struct assessment *assessment, struct sr_bytes text)
{
    return sr_undisguised_stand_for(text, assessment->views, assessment->n_views, 0, text.n);
}

/* Where bytes [start, end) of the joined views stand in the text. */
static void place_in_text(struct assessment *assessment, uint32_t start, uint32_t end)
{
    size_t at = 0;
    assessment->disguise = 0;
    for (size_t i = 0; i < assessment->n_views; i++) {
        const struct sr_undisguised *view = &assessment->views[i];
        if (at < end && at + view->text.n > start) {
            assessment->start = assessment->disguise ? assessment->start : view->start;
            assessment->end = view->end;
            assessment->disguise |= view->disguise;
        }
        at += view->text.n + 1;
    }
}

/* What the neural classifier says of a text: all its windows gathered, and the worst as the place. */
static void take_neural(const struct sr_signal_set *set, const struct sr_signal_question *question,
                        bool joined)
{
    struct assessment *assessment = question->about;
    struct sr_risk all = {.spread = SR_RISK_SPREAD_NEURAL};
    uint32_t worst_start = 0, worst_end = 0, worst_label = 0;
    float worst = -1;
    for (size_t i = 0, n = sr_neural_scope(question->result).windows; i < n; i++) {
        uint32_t start, end, label = 0;
        const float *p = sr_neural_window(question->result, set->head, i, &start, &end);
        float risk = 0, best = -1;
        for (size_t k = 0; k < set->head->n_labels; k++) {
            if (!(set->attack >> k & 1))
                continue;
            risk += p[k];
            label = p[k] > best ? (uint32_t)k : label;
            best = p[k] > best ? p[k] : best;
        }
        sr_risk_add(&all, risk);
        if (risk <= worst)
            continue;
        worst = risk;
        worst_label = label;
        worst_start = start;
        worst_end = end;
    }
    float risk = sr_risk_gathered(&all);
    if (all.n == 0 || risk <= assessment->neural)
        return;
    assessment->neural = risk;
    assessment->label = worst_label;
    assessment->start = worst_start;
    assessment->end = worst_end;
    assessment->disguise = 0;
    if (joined)
        place_in_text(assessment, worst_start, worst_end);
}

/* What both tiers say of a turn; the neural classifier alone is taken at its word. The place is that of the
 * tier that is surer of an attack. */
static void mix(const struct sr_signal_set *set, struct assessment *assessment)
{
    struct sr_signal_finding *finding = &assessment->finding;
    if (assessment->neural < 0)
        return;
    float linear = set->reader ? finding->confidence : 0;
    float a[2] = {1 - assessment->neural, assessment->neural}, b[2] = {1 - linear, linear};
    if (set->reader)
        sr_fusion_mix(&set->fusion, a, b, 2, a);
    if (assessment->unread && a[1] < linear)
        return;
    if (!set->reader || assessment->neural > linear) {
        finding->start = assessment->start;
        finding->end = assessment->end;
        finding->disguise = assessment->disguise;
        finding->type = set->reader ? finding->type : assessment->label;
    }
    finding->confidence = a[1];
}

static int write_result(const struct sr_signal_set *set, const struct assessment *assessments, size_t n,
                        struct sr_arena *arena, struct sr_signal_result *result)
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
    result->labels = set->reader ? sr_jailbreak_labels(set->reader, &result->n_labels) : set->head->labels;
    result->n_labels = set->reader ? result->n_labels : set->head->n_labels;
    return SR_OK;
}

/* How much was read of a turn whose views are read in its place. */
static size_t read_instead(const struct sr_signal_question *question)
{
    const struct assessment *assessment = question->about;
    size_t read = question->status == SR_OK ? sr_neural_scope(question->result).read_bytes : 0;
    return sr_signal_question_is_whole(question) || read > assessment->instead ? assessment->instead : read;
}

/* The neural classifier has read: its risks join the linear ones. */
static int finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                  struct sr_signal_question *questions, size_t n)
{
    struct assessment *assessments = n ? questions[0].about : NULL;
    size_t used = 0;
    bool answered = false;
    for (size_t i = 0; i < n; i++) {
        struct assessment *assessment = questions[i].about;
        used = (size_t)(assessment - assessments) + 1;
        if (!set->reader && sr_signal_question_is_late(&questions[i]))
            return SR_ETIMEOUT;
        if (questions[i].status == SR_OK)
            take_neural(set, &questions[i], questions[i].extra);
        else if (!set->reader)
            return questions[i].status;
        if (assessment->instead)
            task->result->neural_bytes += read_instead(&questions[i]);
        assessment->unread |= !sr_signal_question_is_whole(&questions[i]);
        answered |= questions[i].status == SR_OK;
    }
    for (size_t i = 0; i < used; i++)
        mix(set, &assessments[i]);
    if (!set->reader)
        task->result->scanned_bytes = task->result->neural_bytes;
    task->result->tier = !set->reader ? "neural" : answered ? "linear+neural" : "linear";
    return write_result(set, assessments, used, task->arena, task->result);
}

/* Reads what the linear tier can say at once, and prepares the questions to the neural classifier. */
static int read_turns(const struct sr_signal_set *set, const struct turns *turns, struct sr_signal_task *task,
                      struct assessment *assessments, size_t *n_assessments,
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
        struct assessment *assessment = &assessments[(*n_assessments)++];
        *assessment =
            (struct assessment){.finding = {.turn = (uint32_t)i}, .current = turn->current, .neural = -1};
        if (set->reader)
            rc = read_linear(set, turn->text, turns->tenant, &assessment->finding, result);
        if (rc == SR_OK && set->neural)
            rc = join_views(assessment, turn->text, task->arena, &undisguised);
        result->scanned_bytes += turn->text.n;
        if (!set->neural)
            continue;
        if (stand_for(assessment, turn->text))
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
    struct assessment *assessments = sr_arena_calloc(task->arena, turns.n + 1, sizeof *assessments);
    struct sr_signal_question *questions = sr_arena_calloc(task->arena, 2 * turns.n + 1, sizeof *questions);
    if (!assessments || !questions)
        return SR_ENOMEM;
    int rc = read_turns(set, &turns, task, assessments, &n_assessments, questions, &n_questions);
    if (rc)
        return rc;
    if (n_questions && set->reader) {
        task->result->tier = sr_jailbreak_tier(set->reader);
        rc = write_result(set, assessments, n_assessments, task->arena, task->result);
        if (rc)
            return rc;
        sr_signal_offer_partial(task);
    }
    if (n_questions)
        return sr_signal_ask(set, task, set->neural, turns.tenant, questions, n_questions, finish);
    task->result->tier = set->reader ? sr_jailbreak_tier(set->reader) : "neural";
    return write_result(set, assessments, n_assessments, task->arena, task->result);
}

static bool jailbreak_may_be_late(const struct sr_signal_set *set)
{
    return set->neural != NULL;
}

static int jailbreak_prefetch(const struct sr_signal_set *set, const struct sr_signal_turn *turn,
                              struct sr_arena *arena, struct sr_signal_prefetched *out)
{
    struct assessment assessment = {.neural = -1};
    int rc = SR_OK;
    *out = (struct sr_signal_prefetched){.neural = set->neural, .texts = {turn->text}};
    out->n = set->neural && (set->history || turn->role == SR_ROLE_USER);
    if (out->n && arena)
        rc = join_views(&assessment, turn->text, arena, &out->texts[1]);
    if (stand_for(&assessment, turn->text))
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
    .name = TASK,
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

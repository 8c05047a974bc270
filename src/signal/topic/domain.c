/*
 * Domain: what the text is about, by the linear classifier, and by the neural classifier if the linear one
 * is uncertain, or if the text is not English, of which the linear one knows few words: there the neural
 * classifier of many languages is asked. An answer of both tiers that is still uncertain is read a second
 * time by it, where the files of its heads say how (struct sr_fusion_second). When the deadline passes, the
 * linear result is used: probabilities of a part of the text are not those of the text.
 *
 * A rule has one or more labels of the classifier. In a certain result (entropy below 0.4) only the best
 * label is found; in an uncertain one every label that reaches the threshold. When none does, the rules of
 * the fallback category match.
 */
#include "base/log.h"
#include "base/mem.h"
#include "infer/classifier/cascade.h"
#include "signal/neural/ask.h"
#include "signal/neural/multilingual.h"
#include "signal/neural/neural.h"
#include "signal/types.h"

#include <sys/stat.h>

#define ENTROPY_LOW 0.4f
#define ALWAYS      2.0f /* no result is that certain */

struct domain_rule {
    const char *name, *description;
    uint64_t labels; /* mask of label indices; SR_CLASSIFIER_LABELS_MAX fit */
    bool fallback;
};

struct sr_signal_set {
    struct sr_classifier *model;
    struct sr_neural *neural;      /* neural classifier of a cascade; NULL: results are never late */
    struct sr_multilingual *other; /* reads texts that are not English in its place; NULL: there is none */
    struct sr_fusion other_fusion;
    struct sr_fusion_second second; /* it is also asked about uncertain texts in English */
    bool reads_twice;               /* ... if this is set */
    bool asks;                      /* the neural classifiers, where the linear one is not certain */
    float threshold;
    size_t n;
    struct domain_rule rules[];
};

/* Compares labels without case; "computer_science" equals "computer science". */
static bool same_label(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' || *a == '-' ? ' ' : sr_ascii_lower(*a);
        char y = *b == '_' || *b == '-' ? ' ' : sr_ascii_lower(*b);
        if (x != y)
            return false;
    }
    return *a == *b;
}

static void add_label(struct domain_rule *rule, const struct sr_classifier *model, const char *label,
                      const char *fallback)
{
    for (size_t i = 0; i < model->n_labels; i++)
        if (same_label(model->labels[i], label))
            rule->labels |= UINT64_C(1) << i;
    rule->fallback |= same_label(label, fallback);
}

static void domain_free(struct sr_signal_set *set)
{
    sr_classifier_unref(set->model);
    sr_multilingual_free(set->other);
    sr_mem_free(set);
}

/* Opens the user's own folder, whose head answers without a linear tier. */
static int open_folder(struct sr_signal_set *set, const struct sr_config *config,
                       struct sr_model_store *models, const char *folder, struct sr_err *err)
{
    struct sr_cascade_options options = {.task = "domain"};
    int rc = sr_signal_own_neural(config, models, folder, options.task, &options.neural, err);
    if (rc == SR_OK)
        rc = sr_cascade_new(&set->model, &options, err);
    sr_neural_unref(options.neural);
    return rc;
}

/* Adds the neural classifier of other languages, if there is one. */
static int add_other(struct sr_signal_set *set, const struct sr_config *config, struct sr_model_store *models,
                     struct sr_err *err)
{
    int rc = sr_multilingual_new(&set->other, config, models, err);
    if (rc == SR_OK)
        rc = sr_multilingual_fusion(set->other, "domain", &set->other_fusion, err);
    if (rc == SR_OK) {
        set->second = (struct sr_fusion_second){.certain = SR_FUSION_CERTAIN, .tokens = SR_FUSION_TOKENS};
        rc = sr_multilingual_second(set->other, "domain", &set->second, err);
        set->reads_twice = rc == SR_OK;
    }
    return rc == SR_ENOENT ? SR_OK : rc;
}

/* Adds the neural classifier to the linear tier, if there is one. A bundled neural classifier that does
 * not fit is not used; a configured one must fit. */
static int add_neural(struct sr_signal_set *set, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    float below = (float)config->global.inference.ask_below;
    struct sr_cascade_options options = {
        .linear = set->model, .task = "domain", .certain = below < 1 ? below : ALWAYS};
    struct sr_classifier *cascade = NULL;
    const char *named = config->global.inference.neural;
    int rc = sr_signal_neural(config, models, &options.neural, err);
    if (rc == SR_ENOENT)
        return SR_OK;
    if (rc == SR_OK)
        rc = sr_signal_fusion(config, options.task, &options.fusion, err);
    if (rc == SR_OK)
        rc = sr_cascade_new(&cascade, &options, err);
    sr_neural_unref(options.neural);
    if (rc && (!named || !*named)) {
        sr_log(SR_LOG_WARN, "neural_left_out", "%s; the linear tier answers alone", err->message);
        return SR_OK;
    }
    if (rc == SR_OK) {
        sr_classifier_unref(set->model);
        set->model = cascade;
        rc = add_other(set, config, models, err);
    }
    return rc;
}

static int open_model(struct sr_signal_set *set, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    char path[SR_LOCATE_MAX];
    struct sr_linear *linear = NULL;
    struct sr_err why = {0};
    struct stat st;
    int rc = sr_signal_find_model(config, "domain", config->global.domain_model, path, err);
    if (rc)
        return rc;
    bool folder = *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (folder)
        rc = open_folder(set, config, models, path, &why);
    else if (!config->global.inference.alone)
        rc = sr_model_store_linear(models, path, &linear, &why);
    if (linear)
        set->model = sr_linear_classifier(linear);
    if (rc == SR_OK && !*path)
        rc = add_neural(set, config, models, &why);
    if (rc == SR_OK && !set->model)
        rc = sr_err_set(&why, SR_EUNSUPPORTED, "there is no neural model for `domain`");
    bool names = rc == SR_ENOENT || rc == SR_EIO || !*path || strstr(why.message, path);
    return rc ? sr_err_set(err, rc, "%s%s%s", names ? "" : path, names ? "" : ": ", why.message) : SR_OK;
}

static int domain_compile(struct sr_signal_set **out, const struct sr_config *config,
                          struct sr_model_store *models, struct sr_err *err)
{
    const char *fallback = config->global.domain_fallback;
    if (config->n_domains == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_domains * sizeof *set->rules);
    if (!set)
        return SR_ENOMEM;
    int rc = open_model(set, config, models, err);
    if (rc) {
        domain_free(set);
        return rc;
    }
    set->neural = sr_cascade_neural(set->model);
    set->asks = config->global.inference.ask_below > 0;
    set->threshold = (float)config->global.domain_threshold;
    set->n = config->n_domains;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_domain *domain = &config->domains[i];
        struct domain_rule *rule = &set->rules[i];
        rule->name = domain->name;
        rule->description = domain->description;
        rule->fallback = same_label(domain->name, fallback ? fallback : "");
        for (size_t k = 0; k < domain->mmlu_categories.count; k++)
            add_label(rule, set->model, domain->mmlu_categories.items[k], fallback ? fallback : "");
        if (domain->mmlu_categories.count == 0)
            add_label(rule, set->model, domain->name, fallback ? fallback : "");
    }
    *out = set;
    return SR_OK;
}

static size_t domain_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *domain_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *domain_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

/* The labels that count as found. */
static uint64_t found_labels(const struct sr_signal_set *set, const struct sr_signal_result *result)
{
    uint64_t found = 0;
    if (result->entropy < ENTROPY_LOW)
        return result->probabilities[result->top] >= set->threshold ? UINT64_C(1) << result->top : 0;
    for (size_t i = 0; i < result->n_labels; i++)
        if (result->probabilities[i] >= set->threshold)
            found |= UINT64_C(1) << i;
    return found;
}

static float best_of(const struct sr_signal_result *result, uint64_t labels)
{
    float best = 0;
    for (size_t i = 0; i < result->n_labels; i++)
        if ((labels >> i & 1) && result->probabilities[i] > best)
            best = result->probabilities[i];
    return best;
}

/* Writes the result from the model's answer. */
static int write_result(const struct sr_signal_set *set, const struct sr_classifier_query *query,
                        struct sr_arena *arena, struct sr_signal_result *result)
{
    const float *probabilities = query->probabilities;
    size_t n = set->model->n_labels;
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->tier = query->tier;
    result->labels = set->model->labels;
    result->probabilities = probabilities;
    result->n_labels = n;
    result->top = (int)sr_classifier_top(probabilities, n);
    result->entropy = sr_classifier_entropy(probabilities, n);
    result->n_hits = set->n;
    result->all_bytes = query->text.n;
    result->scanned_bytes = query->read_bytes;
    uint64_t found = found_labels(set, result);
    for (size_t i = 0; i < set->n; i++) {
        const struct domain_rule *rule = &set->rules[i];
        struct sr_signal_hit *hit = &result->hits[i];
        hit->value = best_of(result, rule->labels);
        hit->matched = found ? (rule->labels & found) != 0 : rule->fallback;
        if (hit->matched)
            hit->confidence = found ? best_of(result, rule->labels & found) : probabilities[result->top];
    }
    return SR_OK;
}

/* What was read by one of the neural classifiers joins the linear answer. */
static int mix(const struct sr_signal_set *set, struct sr_classifier_query *query,
               const struct sr_signal_question *question)
{
    const struct sr_head_info *head = question->neural ? sr_neural_head(question->neural, "domain") : NULL;
    if (head)
        return sr_cascade_mix_other(set->model, query, question->result, head, &set->other_fusion);
    sr_cascade_mix(set->model, query, question->result);
    return SR_OK;
}

/* Who reads the text, which is `foreign`; NULL: the first neural classifier. */
static struct sr_neural *reader_of(const struct sr_signal_set *set, bool foreign, bool opens)
{
    if (!foreign)
        return NULL;
    struct sr_neural *neural = opens ? sr_multilingual_open(set->other) : sr_multilingual_peek(set->other);
    return neural && sr_neural_head(neural, "domain") ? neural : NULL;
}

/* The second reader's answer joins the first; without one that stands. */
static int finish_second(const struct sr_signal_set *set, struct sr_signal_task *task,
                         struct sr_signal_question *questions, size_t n)
{
    struct sr_classifier_query *query = questions[0].about;
    const struct sr_head_info *head =
        questions[0].status == SR_OK ? sr_neural_head(questions[0].neural, "domain") : NULL;
    (void)n;
    if (head && sr_signal_question_is_whole(&questions[0])) {
        int rc = sr_cascade_mix_second(set->model, query, questions[0].result, head, &set->second.mix);
        if (rc && rc != SR_EMISMATCH) /* it has other labels: it says nothing */
            return rc;
    }
    return write_result(set, query, task->arena, task->result);
}

/* The answer of both tiers, from `question`; where it is uncertain the second reader is asked first. */
static int conclude(const struct sr_signal_set *set, struct sr_signal_task *task,
                    const struct sr_classifier_query *query, const struct sr_signal_question *question)
{
    float top = query->probabilities[sr_classifier_top(query->probabilities, set->model->n_labels)];
    if (!set->reads_twice || top >= set->second.certain || question->neural ||
        !sr_signal_question_is_whole(question) ||
        sr_neural_scope(question->result).tokens > set->second.tokens ||
        query->text.n > (size_t)set->second.tokens * SR_FUSION_TOKEN_BYTES)
        return write_result(set, query, task->arena, task->result);
    struct sr_signal_question *again = sr_arena_calloc(task->arena, 1, sizeof *again);
    struct sr_classifier_query *about = sr_arena_calloc(task->arena, 1, sizeof *about);
    if (!again || !about)
        return SR_ENOMEM;
    *about = *query;
    *again = (struct sr_signal_question){.text = query->text, .about = about, .extra = true};
    struct sr_bytes tenant = task->input->units ? task->input->units->tenant : SR_LIT("");
    return sr_signal_ask_second(set, task, set->other, tenant, again, 1, finish_second);
}

/* Finishes the signal when the neural classifier has answered or failed. */
static int finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                  struct sr_signal_question *questions, size_t n)
{
    struct sr_classifier_query query = *(const struct sr_classifier_query *)questions[0].about;
    struct sr_signal_result *result = task->result;
    bool late = sr_signal_question_is_late(&questions[0]), answered = !late && questions[0].status == SR_OK;
    (void)n;
    result->neural_bytes = 0;
    if (!answered && !query.tier) /* there is no linear tier */
        return late ? SR_ETIMEOUT : questions[0].status;
    if (answered) { /* the linear result is the partial result and stays */
        size_t labels = set->model->n_labels;
        query.probabilities = sr_arena_calloc(task->arena, labels, sizeof *query.probabilities);
        if (!query.probabilities)
            return SR_ENOMEM;
        memcpy(query.probabilities, ((const struct sr_classifier_query *)questions[0].about)->probabilities,
               labels * sizeof *query.probabilities);
        int rc = mix(set, &query, &questions[0]);
        if (rc)
            return rc;
        result->neural_bytes = query.read_bytes;
        return conclude(set, task, &query, &questions[0]);
    }
    return write_result(set, &query, task->arena, result);
}

static int ask(const struct sr_signal_set *set, struct sr_signal_task *task,
               struct sr_classifier_query *query, bool foreign)
{
    struct sr_bytes tenant = task->input->units ? task->input->units->tenant : SR_LIT("");
    struct sr_signal_question *question = sr_arena_calloc(task->arena, 1, sizeof *question);
    if (!question)
        return SR_ENOMEM;
    *question = (struct sr_signal_question){
        .text = query->text, .about = query, .neural = reader_of(set, foreign, true)};
    int rc = query->tier ? write_result(set, query, task->arena, task->result) : SR_OK;
    if (rc)
        return rc;
    if (query->tier)
        sr_signal_offer_partial(task);
    return sr_signal_ask(set, task, set->neural, tenant, question, 1, finish);
}

/* The text is for the neural classifier of other languages, however sure the linear one is of it. */
static bool is_foreign(const struct sr_signal_set *set, struct sr_bytes text)
{
    return set->asks && sr_multilingual_reads_language(set->other, text);
}

static int domain_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct sr_classifier_query *query = sr_arena_calloc(task->arena, 1, sizeof *query);
    float *probabilities = sr_arena_calloc(task->arena, set->model->n_labels, sizeof *probabilities);
    if (!query || !probabilities)
        return SR_ENOMEM;
    *query = (struct sr_classifier_query){.text = task->input->text, .probabilities = probabilities};
    bool foreign = set->neural && is_foreign(set, query->text);
    int rc = set->neural ? sr_cascade_linear(set->model, query) : sr_classifier_answer(set->model, query);
    if (rc == SR_AGAIN || (rc == SR_OK && foreign))
        return ask(set, task, query, foreign);
    return rc ? rc : write_result(set, query, task->arena, task->result);
}

static bool domain_may_be_late(const struct sr_signal_set *set)
{
    return set->neural != NULL;
}

/* Prefetches complete texts only: whether the linear tier is certain depends on the whole text. */
static int domain_prefetch(const struct sr_signal_set *set, const struct sr_signal_unit *unit,
                           struct sr_arena *arena, struct sr_signal_prefetched *out)
{
    float probabilities[SR_CLASSIFIER_LABELS_MAX];
    struct sr_classifier_query query = {.text = unit->text, .probabilities = probabilities};
    *out = (struct sr_signal_prefetched){
        .neural = set->neural, .texts = {unit->text}, .latin = set->other != NULL};
    bool foreign = is_foreign(set, unit->text);
    if (foreign)
        out->neural = reader_of(set, foreign, false);
    if (!out->neural)
        return SR_OK;
    if (arena && unit->role == SR_ROLE_USER && set->neural && unit->text.n)
        out->n = foreign || sr_cascade_linear(set->model, &query) == SR_AGAIN;
    return SR_OK;
}

static void domain_ahead(const struct sr_signal_set *set)
{
    if (set->reads_twice && set->asks)
        sr_multilingual_open_ahead(set->other);
}

static bool domain_is_slow(const struct sr_signal_set *set, const struct sr_signal_input *input)
{
    return is_foreign(set, input->text) && !sr_multilingual_peek(set->other);
}

static void domain_alone(struct sr_config *config)
{
    static struct sr_config_domain any = {.name = "any"};
    config->domains = &any;
    config->n_domains = 1;
}

static const char *domain_named_model(const struct sr_config *config)
{
    return config->global.domain_model;
}

const struct sr_signal_ops sr_signal_domain = {
    .name = "domain",
    .header = "x-vsr-matched-domains",
    .header_order = 1,
    .classifies = true,
    .categorizes = true,
    .cost_ns_per_kib = 60000,
    .compile = domain_compile,
    .free = domain_free,
    .n_rules = domain_rules,
    .rule_name = domain_name,
    .rule_description = domain_description,
    .start = domain_start,
    .may_be_late = domain_may_be_late,
    .is_slow = domain_is_slow,
    .ahead = domain_ahead,
    .prefetch = domain_prefetch,
    .alone = domain_alone,
    .named_model = domain_named_model,
};

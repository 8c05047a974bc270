/*
 * Domain: what the text is about, by a classifier: the linear one, and the neural classifier's where that is
 * not sure.
 *
 * A rule stands for one or more labels of the classifier. A sure answer (entropy below 0.4) is its best label
 * alone; an unsure one is every label that reaches the threshold. When none does, the rules of the fallback
 * category match.
 */
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "infer/classifier/cascade.h"
#include "signal/neural/neural.h"
#include "signal/types.h"

#include <stdatomic.h>
#include <sys/stat.h>

#define ENTROPY_LOW 0.4f
#define ALWAYS      2.0f /* no answer is that sure */

struct domain_rule {
    const char *name;
    uint64_t labels; /* mask of label indices; SR_CLASSIFIER_LABELS_MAX fit */
    bool fallback;
};

struct sr_signal_set {
    struct sr_classifier *model;
    float threshold;
    size_t n;
    struct domain_rule rules[];
};

/* Case does not matter, and "computer_science" is "computer science". */
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
    sr_mem_free(set);
}

/* A folder of the user's own whose head answers alone. */
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

/* The neural classifier behind the linear tier, where there is one. A neural classifier that came along and
 * does not fit is left out; one that was named must. */
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
    set->threshold = (float)config->global.domain_threshold;
    set->n = config->n_domains;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_domain *domain = &config->domains[i];
        struct domain_rule *rule = &set->rules[i];
        rule->name = domain->name;
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

/* Tenants do not learn from each other's answers what was asked before. */
static uint64_t tenant_salt(const struct sr_signal_input *input)
{
    struct sr_bytes tenant = input->turns ? input->turns->tenant : (struct sr_bytes){0};
    return tenant.n ? sr_hash64(tenant, 0) : 0;
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

/* One question, in the task's arena. */
struct asking {
    const struct sr_signal_set *set;
    struct sr_signal_task *task;
    struct sr_classifier_job job;
    bool asked; /* the job was taken: it is to be released */
    atomic_bool settled;
};

static void neural(const struct asking *asking)
{
    const struct sr_signal_set *set = asking->set;
    struct sr_signal_result *result = asking->task->result;
    const float *probabilities = asking->job.probabilities;
    size_t n = set->model->n_labels;
    result->tier = asking->job.tier;
    result->labels = set->model->labels;
    result->probabilities = probabilities;
    result->n_labels = n;
    result->top = (int)sr_classifier_top(probabilities, n);
    result->entropy = sr_classifier_entropy(probabilities, n);
    result->n_hits = set->n;
    result->all_bytes = asking->job.text.n;
    result->scanned_bytes = asking->job.read_bytes;
    bool neural = strcmp(asking->job.tier, set->model->ops->name) == 0;
    result->neural_late = atomic_load(&asking->settled) && !neural;
    result->neural_bytes = neural && sr_classifier_is_late(set->model) ? asking->job.read_bytes : 0;
    uint64_t found = found_labels(set, result);
    for (size_t i = 0; i < set->n; i++) {
        const struct domain_rule *rule = &set->rules[i];
        struct sr_signal_hit *hit = &result->hits[i];
        hit->value = best_of(result, rule->labels);
        hit->matched = found ? (rule->labels & found) != 0 : rule->fallback;
        if (hit->matched)
            hit->confidence = found ? best_of(result, rule->labels & found) : probabilities[result->top];
    }
}

static void answered(struct sr_classifier_job *job, int status)
{
    struct asking *asking = job->owner;
    struct sr_signal_task *task = asking->task;
    if (status == SR_OK)
        neural(asking);
    task->done(task, status);
}

static int domain_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct asking *asking = sr_arena_calloc(task->arena, 1, sizeof *asking);
    float *probabilities = sr_arena_calloc(task->arena, set->model->n_labels, sizeof *probabilities);
    task->result->hits = sr_signal_hits(task->arena, set->n);
    if (!asking || !probabilities || !task->result->hits)
        return SR_ENOMEM;
    asking->set = set;
    asking->task = task;
    atomic_init(&asking->settled, false);
    asking->job = (struct sr_classifier_job){.text = task->input->text,
                                             .salt = tenant_salt(task->input),
                                             .probabilities = probabilities,
                                             .done = answered,
                                             .owner = asking};
    task->state = asking;
    asking->asked = true; /* the answer may come before the start returns */
    int rc = sr_classifier_start(set->model, &asking->job);
    if (rc == SR_OK)
        neural(asking);
    else if (rc != SR_AGAIN)
        asking->asked = false;
    return rc;
}

static void domain_cancel(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct asking *asking = task->state;
    sr_classifier_cancel(set->model, &asking->job);
}

static void domain_settle(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct asking *asking = task->state;
    atomic_store(&asking->settled, true);
    sr_classifier_settle(set->model, &asking->job);
}

static void domain_dispose(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct asking *asking = task->state;
    if (asking && asking->asked)
        sr_classifier_release(set->model, &asking->job);
}

static bool domain_may_be_late(const struct sr_signal_set *set)
{
    return sr_classifier_is_late(set->model);
}

/* Only a complete text tells whether the linear tier is sure. */
static int domain_foresee(const struct sr_signal_set *set, const struct sr_signal_turn *turn,
                          struct sr_arena *arena, struct sr_signal_foreseen *out)
{
    *out = (struct sr_signal_foreseen){.texts = {turn->text}};
    if (arena && turn->role == SR_ROLE_USER)
        out->neural = sr_cascade_foresee(set->model, turn->text);
    out->n = out->neural != NULL;
    return SR_OK;
}

const struct sr_signal_ops sr_signal_domain = {
    .name = "domain",
    .cost_ns_per_kib = 60000,
    .compile = domain_compile,
    .free = domain_free,
    .n_rules = domain_rules,
    .rule_name = domain_name,
    .start = domain_start,
    .cancel = domain_cancel,
    .settle = domain_settle,
    .dispose = domain_dispose,
    .may_be_late = domain_may_be_late,
    .foresee = domain_foresee,
};

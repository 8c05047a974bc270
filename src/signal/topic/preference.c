/*
 * Preference: of all rules the one whose example texts are nearest to the user's text matches, if it is near
 * enough. Where the configuration has a model for it, the model says which rule it is, or that none is.
 *
 * The model's answers are memoised by text. What fails, is late, or names no rule is no answer: the signal
 * has no result, and `on_error` of its conditions decides.
 */
#include "base/mem.h"
#include "signal/consult/consult.h"
#include "signal/topic/meaning.h"
#include "signal/topic/preference_model.h"

#include <stddef.h>
#include <stdio.h>

#define INTRO_MAX ((size_t)256 << 10)
#define TIER      "model"

struct sr_signal_set {
    const struct sr_config_external *model; /* NULL: examples decide */
    struct sr_buf intro;                    /* of the question to it */
    struct sr_memo *memo;
    struct sr_memo_scope scope;         /* of its answers */
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    const struct sr_config_preference *rules;
    size_t n;
    struct sr_bank banks[];
};

static void preference_free(struct sr_signal_set *set)
{
    sr_embedding_reader_unref(set->reader);
    sr_buf_dispose(&set->intro);
    sr_memo_unref(set->memo);
    for (size_t i = 0; i < set->n; i++)
        sr_bank_dispose(&set->banks[i]);
    sr_mem_free(set);
}

static int read_banks(struct sr_signal_set *set, struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = SR_OK;
    for (size_t i = 0; i < set->n && rc == SR_OK; i++) {
        const char *description[] = {set->rules[i].description};
        struct sr_strings texts = set->rules[i].examples;
        if (!texts.count)
            texts = (struct sr_strings){description, 1};
        rc = sr_bank_read(&set->banks[i], set->reader, &texts, &why);
    }
    return rc ? sr_err_set(err, rc, "routing.signals.preferences: %s", why.message) : SR_OK;
}

/* What an answer depends on is in the scope: another model or other rules are asked anew. */
static int open_model(struct sr_signal_set *set, struct sr_model_store *models, struct sr_err *err)
{
    char digest[SR_SHA256_HEX], identity[SR_SHA256_HEX + 32];
    struct sr_buf all;
    sr_buf_init(&all, INTRO_MAX + 4096);
    int rc = sr_preference_intro(&set->intro, set->rules, set->n);
    if (rc == SR_OK)
        rc = sr_buf_printf(&all, "%.256s:%d%.256s %.256s ", set->model->host, set->model->port,
                           set->model->path, set->model->model);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&all, sr_buf_view(&set->intro));
    if (rc == SR_OK)
        rc = sr_sha256_hex(sr_buf_view(&all), digest);
    sr_buf_dispose(&all);
    if (rc)
        return sr_err_set(err, rc, "routing.signals.preferences: %s",
                          rc == SR_ELIMIT ? "too much text for a model" : sr_strerror(rc));
    snprintf(identity, sizeof identity, "preference %s", digest);
    set->memo = sr_memo_ref(sr_model_store_memo(models));
    return sr_memo_scope(&set->scope, sr_bytes_str(identity), SR_LIT(""));
}

static int open_examples(struct sr_signal_set *set, const struct sr_config *config,
                         struct sr_model_store *models, struct sr_err *err)
{
    int rc = sr_meaning_open(&set->reader, "preference", "preferences", config, models, err);
    return rc ? rc : read_banks(set, err);
}

static int preference_compile(struct sr_signal_set **out, const struct sr_config *config,
                              struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_preferences == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_preferences * sizeof set->banks[0]);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->preferences;
    set->n = config->n_preferences;
    set->model = sr_config_preference_model(config);
    sr_buf_init(&set->intro, INTRO_MAX);
    int rc = set->model ? open_model(set, models, err) : open_examples(set, config, models, err);
    if (rc) {
        preference_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t preference_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *preference_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *preference_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    size_t best = 0;
    (void)n;
    for (size_t i = 0; i < set->n; i++) {
        task->result->hits[i].value = (double)sr_bank_nearness(&set->banks[i], answers[0].vector);
        if (task->result->hits[i].value > task->result->hits[best].value)
            best = i;
    }
    struct sr_signal_hit *hit = &task->result->hits[best];
    hit->matched = set->rules[best].threshold <= 0 || hit->value >= set->rules[best].threshold;
    hit->confidence = hit->matched ? sr_meaning_confidence(hit->value) : 0;
    return SR_OK;
}

/* ---- a model decides ---- */

/* A question in progress, in the task's arena; each of both tasks keeps the other's memory. */
struct asked {
    struct sr_consult consult;
    const struct sr_signal_set *set;
    struct sr_signal_task *task;
    struct sr_memo_key key;
};

static struct asked *asked_of(struct sr_task *consult)
{
    return (struct asked *)((char *)consult - offsetof(struct asked, consult.task));
}

static int write_rule(struct sr_signal_task *task, int rule)
{
    struct sr_signal_result *result = task->result;
    result->tier = TIER;
    result->all_bytes = result->scanned_bytes = task->input->text.n;
    for (size_t i = 0; i < result->n_hits; i++) {
        bool matched = (int)i == rule;
        result->hits[i] = (struct sr_signal_hit){matched, matched, matched};
    }
    return SR_OK;
}

/* On the server's thread, or on the one that cancels the signal. */
static void consult_done(struct sr_task *base, int status)
{
    struct asked *asked = asked_of(base);
    struct sr_signal_task *task = asked->task;
    int32_t rule;
    if (status == SR_OK)
        status = sr_preference_answer(sr_buf_view(&asked->consult.answer), asked->set->rules, asked->set->n,
                                      task->arena, &rule);
    if (status == SR_OK) {
        sr_memo_put(asked->set->memo, &asked->key, sr_bytes_of((const char *)&rule, sizeof rule));
        status = write_rule(task, rule);
    }
    sr_signal_complete(task, status);
    sr_task_unref(base);
}

static void consult_free(struct sr_task *base)
{
    struct asked *asked = asked_of(base);
    sr_buf_dispose(&asked->consult.body);
    sr_buf_dispose(&asked->consult.answer);
    sr_task_unref(&asked->task->base);
}

static void asked_stop(struct sr_task *base)
{
    struct sr_signal_task *task =
        (struct sr_signal_task *)((char *)base - offsetof(struct sr_signal_task, base));
    struct asked *asked = task->state;
    sr_task_cancel(&asked->consult.task);
}

static const struct sr_task_work asked_work = {.stop = asked_stop};

static int ask_model(const struct sr_signal_set *set, struct sr_signal_task *task,
                     const struct sr_memo_key *key)
{
    struct asked *asked = sr_arena_calloc(task->arena, 1, sizeof *asked);
    if (!asked)
        return SR_ENOMEM;
    *asked = (struct asked){.consult.model = set->model, .set = set, .task = task, .key = *key};
    task->state = asked;
    sr_buf_init(&asked->consult.body, SR_CONSULT_BODY_MAX);
    sr_buf_init(&asked->consult.answer, SR_CONSULT_ANSWER_MAX);
    sr_task_ref(&task->base); /* dropped by consult_free */
    sr_task_init(&asked->consult.task, consult_done, consult_free, NULL);
    sr_task_ref(&task->base); /* the answer may arrive before this returns */
    int rc = sr_preference_question(&asked->consult.body, set->model->model, sr_buf_view(&set->intro),
                                    task->input->text);
    if (rc == SR_OK)
        rc = sr_consults_ask(task->consults, &asked->consult);
    if (rc == SR_OK)
        sr_task_begin(&task->base, &asked_work);
    else
        sr_task_unref(&asked->consult.task);
    sr_task_unref(&task->base);
    return rc ? rc : SR_AGAIN;
}

static int start_model(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct sr_signal_result *result = task->result;
    struct sr_memo_key key;
    struct sr_bytes known;
    int32_t rule;
    result->hits = sr_signal_hits(task->arena, set->n);
    result->n_hits = set->n;
    if (!result->hits)
        return SR_ENOMEM;
    if (task->input->text.n == 0)
        return SR_OK;
    int rc = sr_memo_key(&key, &set->scope, task->input->text);
    if (rc)
        return rc;
    if (sr_memo_get(set->memo, &key, task->arena, &known) || known.n != sizeof rule)
        return ask_model(set, task, &key);
    memcpy(&rule, known.p, sizeof rule);
    result->remembered = 1;
    return write_rule(task, rule);
}

static bool preference_elsewhere(const struct sr_signal_set *set)
{
    return set->model != NULL;
}

static int preference_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    if (set->model)
        return start_model(set, task);
    return sr_meaning_start(set, task, set->reader, set->n, NULL, 0, write_result);
}

const struct sr_signal_ops sr_signal_preference = {
    .name = "preference",
    .header = "x-vsr-matched-preference",
    .header_order = 16,
    .meaning = true,
    .cost_ns_per_kib = 7000000,
    .compile = preference_compile,
    .free = preference_free,
    .n_rules = preference_rules,
    .rule_name = preference_name,
    .rule_description = preference_description,
    .start = preference_start,
    .elsewhere = preference_elsewhere,
};

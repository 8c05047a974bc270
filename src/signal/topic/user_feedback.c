/*
 * User feedback: what the user says about the answer before, by a small classifier over the text's vector.
 *
 * A first request is no feedback, whatever it says; nor is a text that the classifier takes for a new
 * request, or is not sure of.
 */
#include "signal/topic/labels.h"

#include "base/mem.h"

/* In the order of the head, and of the labels of config/section/signal_meaning.c. */
static const char *const labels[] = {"satisfied", "need_clarification", "wrong_answer", "want_different",
                                     "none"};

struct sr_signal_set {
    struct sr_label_set labels;
    float threshold; /* from which a label counts */
};

static void user_feedback_free(struct sr_signal_set *set)
{
    sr_label_set_dispose(&set->labels);
    sr_mem_free(set);
}

static int user_feedback_compile(struct sr_signal_set **out, const struct sr_config *config,
                                 struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_feedbacks == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->labels.rules = config->feedbacks;
    set->labels.n = config->n_feedbacks;
    set->threshold = (float)config->global.feedback_threshold;
    int rc = sr_label_set_open(&set->labels, "user_feedback", "user_feedbacks", labels,
                               sizeof labels / sizeof labels[0], config, models, err);
    if (rc) {
        user_feedback_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t user_feedback_rules(const struct sr_signal_set *set)
{
    return set->labels.n;
}

static const char *user_feedback_name(const struct sr_signal_set *set, size_t rule)
{
    return set->labels.rules[rule].name;
}

static const char *user_feedback_description(const struct sr_signal_set *set, size_t rule)
{
    return set->labels.rules[rule].description;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    (void)n;
    return sr_label_set_write(&set->labels, task, answers[0].vector, set->threshold, -1);
}

static int user_feedback_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    if (task->input->facts && task->input->facts->replied)
        return sr_meaning_start(set, task, set->labels.reader, set->labels.n, NULL, 0, write_result);
    task->result->hits = sr_signal_hits(task->arena, set->labels.n);
    task->result->n_hits = set->labels.n;
    return task->result->hits ? SR_OK : SR_ENOMEM;
}

const struct sr_signal_ops sr_signal_user_feedback = {
    .name = "user_feedback",
    .header = "x-vsr-matched-user-feedback",
    .header_order = 14,
    .facts = true,
    .meaning = true,
    .cost_ns_per_kib = 5000000,
    .compile = user_feedback_compile,
    .free = user_feedback_free,
    .n_rules = user_feedback_rules,
    .rule_name = user_feedback_name,
    .rule_description = user_feedback_description,
    .start = user_feedback_start,
};

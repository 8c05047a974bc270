/* The answer is a distribution over labels; each rule is one of them. */
#include "signal/topic/labels.h"

#include "base/log.h"

int sr_label_set_open(struct sr_label_set *set, const char *type, const char *path, const char *const *labels,
                      size_t n_labels, const struct sr_config *config, struct sr_model_store *models,
                      struct sr_err *err)
{
    struct sr_err why = {0};
    set->labels = labels;
    int rc = sr_meaning_open(&set->reader, type, path, config, models, err);
    if (rc || !set->reader)
        return rc;
    rc = sr_head_open(&set->head, type, n_labels, set->reader, &why);
    if (rc == SR_EMISMATCH) {
        sr_log(SR_LOG_WARN, "head_left_out", "%s; rules of type `%s` match nothing", why.message, type);
        sr_embedding_reader_unref(set->reader);
        set->reader = NULL;
        return SR_OK;
    }
    return rc ? sr_err_set(err, rc, "routing.signals.%s: %s", path, why.message) : SR_OK;
}

void sr_label_set_dispose(struct sr_label_set *set)
{
    sr_embedding_reader_unref(set->reader);
    sr_head_dispose(&set->head);
}

int sr_label_set_write(const struct sr_label_set *set, struct sr_signal_task *task, const float *vector,
                       float threshold, int otherwise)
{
    struct sr_signal_result *result = task->result;
    float *probabilities = sr_arena_calloc(task->arena, set->head.n_labels, sizeof *probabilities);
    if (!probabilities)
        return SR_ENOMEM;
    sr_head_answer(&set->head, vector, probabilities);
    result->labels = set->labels;
    result->probabilities = probabilities;
    result->n_labels = set->head.n_labels;
    result->top = 0;
    for (size_t i = 1; i < result->n_labels; i++)
        if (probabilities[i] > probabilities[result->top])
            result->top = (int)i;
    int found = -1;
    for (int i = 0; i < (int)result->n_labels; i++)
        if (i != otherwise && (found < 0 || probabilities[i] > probabilities[found]))
            found = i;
    if (probabilities[found] < threshold)
        found = otherwise;
    for (size_t i = 0; i < set->n; i++) {
        struct sr_signal_hit *hit = &result->hits[i];
        float probability = probabilities[set->rules[i].label];
        hit->value = (double)probability;
        hit->matched = set->rules[i].label == found;
        hit->confidence = hit->matched ? probability : 0;
    }
    return SR_OK;
}

/* The cascade as an implementation of model/classifier.h. */
#include "infer/classifier/cascade.h"

#include "base/mem.h"

#include <string.h>

struct cascade {
    struct sr_classifier base;
    struct sr_classifier *linear; /* or NULL */
    struct sr_neural *neural;
    const struct sr_head_info *head;
    float certain;
    struct sr_fusion fusion;
    unsigned char map[SR_CLASSIFIER_LABELS_MAX]; /* a label of ours to one of the head */
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

/* n_labels: it has none of that name. */
static size_t find_label(const struct sr_head_info *head, const char *label)
{
    size_t k = 0;
    while (k < head->n_labels && !same_label(label, head->labels[k]))
        k++;
    return k;
}

int sr_cascade_linear(struct sr_classifier *classifier, struct sr_classifier_query *query)
{
    const struct cascade *cascade = (const struct cascade *)classifier;
    query->tier = NULL;
    if (!cascade->linear)
        return SR_AGAIN;
    int rc = sr_classifier_answer(cascade->linear, query);
    size_t top = sr_classifier_top(query->probabilities, classifier->n_labels);
    return rc || query->probabilities[top] >= cascade->certain || query->text.n == 0 ? rc : SR_AGAIN;
}

/* `neural` are its probabilities, in the order of our labels. */
static void mix(struct sr_classifier *classifier, struct sr_classifier_query *query,
                const struct sr_neural_result *result, const struct sr_fusion *fusion, float *neural)
{
    const struct cascade *cascade = (const struct cascade *)classifier;
    if (cascade->linear)
        sr_fusion_mix(fusion, neural, query->probabilities, classifier->n_labels, neural);
    memcpy(query->probabilities, neural, classifier->n_labels * sizeof *neural);
    query->tier = classifier->ops->name;
    query->read_bytes = sr_neural_scope(result).read_bytes;
}

void sr_cascade_mix(struct sr_classifier *classifier, struct sr_classifier_query *query,
                    const struct sr_neural_result *result)
{
    const struct cascade *cascade = (const struct cascade *)classifier;
    float neural[SR_CLASSIFIER_LABELS_MAX];
    const float *answer = sr_neural_text(result, cascade->head);
    for (size_t i = 0; i < classifier->n_labels; i++)
        neural[i] = answer[cascade->map[i]];
    mix(classifier, query, result, &cascade->fusion, neural);
}

/* What another head says, in the order of our labels. */
static int take_other(const struct sr_classifier *classifier, const struct sr_neural_result *result,
                      const struct sr_head_info *head, float neural[SR_CLASSIFIER_LABELS_MAX])
{
    const float *answer = sr_neural_text(result, head);
    if (head->n_labels != classifier->n_labels)
        return SR_EMISMATCH;
    for (size_t i = 0; i < classifier->n_labels; i++) {
        size_t k = find_label(head, classifier->labels[i]);
        if (k == head->n_labels)
            return SR_EMISMATCH;
        neural[i] = answer[k];
    }
    return SR_OK;
}

int sr_cascade_mix_other(struct sr_classifier *classifier, struct sr_classifier_query *query,
                         const struct sr_neural_result *result, const struct sr_head_info *head,
                         const struct sr_fusion *fusion)
{
    float neural[SR_CLASSIFIER_LABELS_MAX];
    int rc = take_other(classifier, result, head, neural);
    if (rc == SR_OK)
        mix(classifier, query, result, fusion, neural);
    return rc;
}

int sr_cascade_mix_second(struct sr_classifier *classifier, struct sr_classifier_query *query,
                          const struct sr_neural_result *result, const struct sr_head_info *head,
                          const struct sr_fusion *mix)
{
    float neural[SR_CLASSIFIER_LABELS_MAX];
    int rc = take_other(classifier, result, head, neural);
    if (rc == SR_OK)
        sr_fusion_mix(mix, neural, query->probabilities, classifier->n_labels, query->probabilities);
    return rc;
}

static int cascade_answer(struct sr_classifier *self, struct sr_classifier_query *query)
{
    struct cascade *cascade = (struct cascade *)self;
    struct sr_neural_result *result = NULL;
    int rc = sr_cascade_linear(self, query);
    if (rc != SR_AGAIN)
        return rc;
    rc = sr_neural_read_wait(cascade->neural, query->text, query->salt, SR_INFER_INTERACTIVE, &result);
    if (rc == SR_OK)
        sr_cascade_mix(self, query, result);
    sr_neural_result_unref(result);
    return rc && cascade->linear ? SR_OK : rc;
}

static void cascade_free(struct sr_classifier *self)
{
    struct cascade *cascade = (struct cascade *)self;
    sr_classifier_unref(cascade->linear);
    sr_neural_unref(cascade->neural);
    sr_mem_free(cascade);
}

static const struct sr_classifier_ops cascade_ops = {
    .name = "neural", .answer = cascade_answer, .free = cascade_free};

struct sr_neural *sr_cascade_neural(struct sr_classifier *classifier)
{
    return classifier->ops == &cascade_ops ? ((struct cascade *)classifier)->neural : NULL;
}

static int map_labels(struct cascade *cascade, struct sr_err *err)
{
    const struct sr_head_info *head = cascade->head;
    for (size_t i = 0; i < cascade->base.n_labels; i++) {
        size_t k = find_label(head, cascade->base.labels[i]);
        if (k == head->n_labels)
            return sr_err_set(err, SR_EMISMATCH, "the head `%s` has no label `%s`, which the linear tier has",
                              head->name, cascade->base.labels[i]);
        cascade->map[i] = (unsigned char)k;
    }
    return SR_OK;
}

static int fit(struct cascade *cascade, const char *task, struct sr_err *err)
{
    const struct sr_head_info *head = sr_neural_head(cascade->neural, task);
    const struct sr_classifier *linear = cascade->linear;
    if (!head)
        return sr_err_set(err, SR_EMISMATCH, "it has no head `%s` that classifies texts", task);
    if (head->n_labels > SR_CLASSIFIER_LABELS_MAX)
        return sr_err_set(err, SR_ELIMIT, "its head `%s` has %zu labels; %u are the most", task,
                          head->n_labels, SR_CLASSIFIER_LABELS_MAX);
    if (linear && linear->n_labels != head->n_labels)
        return sr_err_set(err, SR_EMISMATCH, "its head `%s` has %zu labels, the linear tier has %zu", task,
                          head->n_labels, linear->n_labels);
    cascade->head = head;
    cascade->base.task = head->name;
    cascade->base.labels = linear ? linear->labels : head->labels;
    cascade->base.n_labels = head->n_labels;
    return map_labels(cascade, err);
}

int sr_cascade_new(struct sr_classifier **out, const struct sr_cascade_options *options, struct sr_err *err)
{
    struct cascade *cascade = sr_mem_calloc(1, sizeof *cascade);
    if (!cascade)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    cascade->base.ops = &cascade_ops;
    sr_ref_init(&cascade->base.ref);
    cascade->base.ns_per_kib = options->linear ? options->linear->ns_per_kib : 5000000;
    cascade->linear = options->linear ? sr_classifier_ref(options->linear) : NULL;
    cascade->neural = sr_neural_ref(options->neural);
    cascade->certain = options->certain;
    cascade->fusion = options->fusion;
    int rc = fit(cascade, options->task, err);
    if (rc) {
        cascade_free(&cascade->base);
        return rc;
    }
    *out = &cascade->base;
    return SR_OK;
}

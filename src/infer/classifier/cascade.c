/* The cascade as an implementation of model/classifier.h. */
#include "infer/classifier/cascade.h"

#include "base/mem.h"

#include <stdatomic.h>
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

/* What a job holds until it is released. */
struct asking {
    struct cascade *cascade;
    struct sr_classifier_job *job;
    struct sr_neural_wait wait;
    atomic_bool
        settled; /* the neural classifier is not waited for any more, what the linear tier says stands */
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

/* The neural answer into the job's probabilities, which hold the linear one. */
static void take_answer(const struct cascade *cascade, struct sr_classifier_job *job,
                        struct sr_neural_result *reading)
{
    float neural[SR_CLASSIFIER_LABELS_MAX];
    const float *answer = sr_neural_text(reading, cascade->head);
    for (size_t i = 0; i < cascade->base.n_labels; i++)
        neural[i] = answer[cascade->map[i]];
    if (cascade->linear)
        sr_fusion_mix(&cascade->fusion, neural, job->probabilities, cascade->base.n_labels, neural);
    memcpy(job->probabilities, neural, cascade->base.n_labels * sizeof *neural);
    job->tier = "neural";
    job->read_bytes = sr_neural_scope(reading).read_bytes;
}

static void answered(struct sr_neural_wait *wait, int status)
{
    struct asking *asking = wait->owner;
    if (status == SR_OK)
        take_answer(asking->cascade, asking->job, wait->reading);
    else if (status == SR_ECANCELED && atomic_load(&asking->settled))
        status = asking->cascade->linear ? SR_OK : SR_ETIMEOUT;
    else if (asking->cascade->linear && status != SR_ECANCELED && status != SR_ECLOSED)
        status = SR_OK; /* the linear answer stands */
    asking->job->done(asking->job, status);
}

static int ask_neural(struct cascade *cascade, struct sr_classifier_job *job)
{
    struct asking *asking = sr_mem_calloc(1, sizeof *asking);
    if (!asking)
        return SR_ENOMEM;
    asking->cascade = cascade;
    asking->job = job;
    atomic_init(&asking->settled, false);
    asking->wait.owner = asking;
    asking->wait.done = answered;
    job->state = asking;
    int rc = sr_neural_read(cascade->neural, job->text, job->salt, SR_INFER_INTERACTIVE, &asking->wait);
    if (rc == SR_OK)
        take_answer(cascade, job, asking->wait.reading);
    else if (rc != SR_AGAIN) {
        job->state = NULL;
        sr_mem_free(asking);
    }
    return rc;
}

static int cascade_start(struct sr_classifier *self, struct sr_classifier_job *job)
{
    struct cascade *cascade = (struct cascade *)self;
    job->state = NULL;
    if (!cascade->linear)
        return ask_neural(cascade, job);
    int rc = sr_classifier_start(cascade->linear, job);
    size_t top = sr_classifier_top(job->probabilities, self->n_labels);
    if (rc || job->probabilities[top] >= cascade->certain || job->text.n == 0)
        return rc;
    rc = ask_neural(cascade, job);
    return rc == SR_AGAIN ? SR_AGAIN : SR_OK;
}

static void cascade_cancel(struct sr_classifier *self, struct sr_classifier_job *job)
{
    struct asking *asking = job->state;
    if (asking)
        sr_neural_leave(((struct cascade *)self)->neural, &asking->wait);
}

static void cascade_settle(struct sr_classifier *self, struct sr_classifier_job *job)
{
    struct asking *asking = job->state;
    if (!asking)
        return;
    atomic_store(&asking->settled, true);
    sr_neural_leave(((struct cascade *)self)->neural, &asking->wait);
}

static void cascade_release(struct sr_classifier *self, struct sr_classifier_job *job)
{
    struct asking *asking = job->state;
    (void)self;
    if (!asking)
        return;
    sr_neural_result_unref(asking->wait.reading);
    sr_mem_free(asking);
    job->state = NULL;
}

static void cascade_free(struct sr_classifier *self)
{
    struct cascade *cascade = (struct cascade *)self;
    sr_classifier_unref(cascade->linear);
    sr_neural_unref(cascade->neural);
    sr_mem_free(cascade);
}

static const struct sr_classifier_ops cascade_ops = {
    .name = "neural",
    .start = cascade_start,
    .cancel = cascade_cancel,
    .settle = cascade_settle,
    .release = cascade_release,
    .free = cascade_free,
};

struct sr_neural *sr_cascade_foresee(struct sr_classifier *classifier, struct sr_bytes text)
{
    struct cascade *cascade = (struct cascade *)classifier;
    float probabilities[SR_CLASSIFIER_LABELS_MAX];
    struct sr_classifier_job job = {.text = text, .probabilities = probabilities};
    if (classifier->ops != &cascade_ops || text.n == 0)
        return NULL;
    if (!cascade->linear)
        return cascade->neural;
    if (sr_classifier_start(cascade->linear, &job))
        return NULL;
    size_t top = sr_classifier_top(probabilities, classifier->n_labels);
    return probabilities[top] < cascade->certain ? cascade->neural : NULL;
}

static int map_labels(struct cascade *cascade, struct sr_err *err)
{
    const struct sr_head_info *head = cascade->head;
    for (size_t i = 0; i < cascade->base.n_labels; i++) {
        size_t k = 0;
        while (k < head->n_labels && !same_label(cascade->base.labels[i], head->labels[k]))
            k++;
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

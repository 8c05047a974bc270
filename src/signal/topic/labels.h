/* What fact_check and user_feedback share: rules that are labels of a head. */
#ifndef SR_SIGNAL_TOPIC_LABELS_H
#define SR_SIGNAL_TOPIC_LABELS_H

#include "signal/topic/head.h"
#include "signal/topic/meaning.h"

struct sr_label_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder, or the head does not fit it */
    struct sr_head head;
    const struct sr_config_label *rules;
    size_t n;
    const char *const *labels; /* [head.n_labels] */
};

/* Opens the head of `type` with these labels. Without a fitting encoder the rules fail, and a warning says
 * so. */
int sr_label_set_open(struct sr_label_set *set, const char *type, const char *path, const char *const *labels,
                      size_t n_labels, const struct sr_config *config, struct sr_model_store *models,
                      struct sr_err *err) SR_WARN_UNUSED;
void sr_label_set_dispose(struct sr_label_set *set);

/* Writes labels, probabilities and `top` of the answer. The rules of one label match: of the
 * likeliest label besides `otherwise`, where it has at least `threshold`; else of `otherwise` (-1: of none).
 * SR_ENOMEM. */
int sr_label_set_write(const struct sr_label_set *set, struct sr_signal_task *task, const float *vector,
                       float threshold, int otherwise) SR_WARN_UNUSED;

#endif

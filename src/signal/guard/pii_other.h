/*
 * Private data in scripts other than Latin: names there are found by the head on the multilingual encoder.
 *
 * Says who reads which text, and what a span of either classifier is as an entity. Knows no rules. All of it
 * works, and changes nothing, where the multilingual encoder or its head for private data is not there.
 */
#ifndef SR_SIGNAL_GUARD_PII_OTHER_H
#define SR_SIGNAL_GUARD_PII_OTHER_H

#include "signal/neural/ask.h"
#include "signal/neural/multilingual.h"
#include "text/entity/entity.h"

struct sr_pii_other {
    struct sr_multilingual *models; /* NULL: there is none */
    float least[SR_ENTITY_TYPES];   /* thresholds of its training */
};

/* SR_OK also where the files are missing, which is logged. SR_ENOMEM; errors of sr_multilingual_new and
 * sr_fusion_thresholds. */
int sr_pii_other_open(struct sr_pii_other *other, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err) SR_WARN_UNUSED;
void sr_pii_other_dispose(struct sr_pii_other *other);

/* Who reads the whole text in place of the first neural classifier; NULL: that one does. `opens`: it may take
 * part of a second to open it, else only one that is open is found. */
struct sr_neural *sr_pii_other_reader(const struct sr_pii_other *other, struct sr_bytes text, bool opens);

/* Gives questions to their readers, and adds questions: to the first neural classifier about texts in other
 * scripts that have words in Latin script, to the other one about parts in other scripts of the rest.
 * *questions [*n] may become another array of the arena. SR_ENOMEM. */
int sr_pii_other_ask(const struct sr_pii_other *other, struct sr_arena *arena,
                     struct sr_signal_question **questions, size_t *n) SR_WARN_UNUSED;

/* The parts of a question's text that another question is about; none where no other reader is open. */
size_t sr_pii_other_parts(const struct sr_pii_other *other, const struct sr_signal_question *question,
                          struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX]);

/* The entity type of the `type`th kind of span that the question's own reader (question->neural) finds; -1:
 * none of ours. */
int sr_pii_other_type(const struct sr_signal_question *question, size_t type);

#endif

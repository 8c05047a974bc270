/*
 * The neural classifier for texts that the first one cannot read: heads on a multilingual encoder.
 *
 * The first neural classifier's vocabulary is English: of Chinese it sees unknown tokens, other scripts and
 * other languages it spells. So texts in other scripts, and parts of texts, go to this one; for attacks and
 * the domain all other languages do. It may also be the second reader of uncertain English texts (ask.h).
 * It is opened when a text first needs it, or ahead of that in the background. Says which texts it reads;
 * asking and mixing are the signals'. Any thread; the store and the configuration outlive it.
 */
#ifndef SR_SIGNAL_NEURAL_MULTILINGUAL_H
#define SR_SIGNAL_NEURAL_MULTILINGUAL_H

#include "config/config.h"
#include "infer/classifier/fusion.h"
#include "infer/classifier/neural.h"
#include "infer/model_store.h"
#include "text/script.h"

struct sr_multilingual;

/* By `global.semroute.inference.multilingual`: `off`, or heads of the user's own in `neural`: SR_OK, *out is
 * NULL. SR_ENOENT, *out is NULL: the encoder or its heads are not there, which is an error (SR_EINVAL) with
 * `always`. One that the store has open is taken at once. SR_ENOMEM; errors of the engine and the files. */
int sr_multilingual_new(struct sr_multilingual **out, const struct sr_config *config,
                        struct sr_model_store *models, struct sr_err *err) SR_WARN_UNUSED;
/* NULL is allowed. What waits for the store's thread holds it until then. */
void sr_multilingual_free(struct sr_multilingual *multilingual);

/* In all of these NULL is allowed, and reads nothing. */

/* The whole text is for it. */
bool sr_multilingual_reads(const struct sr_multilingual *multilingual, struct sr_bytes text);

/* The whole text is for it, by its script or by its language, which is any but English: a topic is read in
 * any language, but the words of the first one are English. `text` must be valid UTF-8. */
bool sr_multilingual_reads_language(const struct sr_multilingual *multilingual, struct sr_bytes text);

/* The parts that are for it of a text that is not. */
size_t sr_multilingual_stretches(const struct sr_multilingual *multilingual, struct sr_bytes text,
                                 struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX]);

/* What it has to say about attacks in a text. It knows them in other languages better than the first one also
 * in Latin script (models/neural-multilingual/card.md); in English the first one does. */
enum sr_multilingual_part {
    SR_MULTILINGUAL_NONE,    /* nothing; sr_multilingual_stretches has parts that it may read */
    SR_MULTILINGUAL_BESIDE,  /* it reads the text as well: there are several languages in it, or perhaps */
    SR_MULTILINGUAL_INSTEAD, /* it reads the text, the first one does not */
};
enum sr_multilingual_part sr_multilingual_judges(const struct sr_multilingual *multilingual,
                                                 struct sr_bytes text);

/* Reading `text` would open it, which takes part of a second: not on an event loop. */
bool sr_multilingual_is_slow(const struct sr_multilingual *multilingual, struct sr_bytes text);

/* The same of judging it for attacks. */
bool sr_multilingual_is_slow_judge(const struct sr_multilingual *multilingual, struct sr_bytes text);

/* Opens it if it is not open; borrowed. NULL: it cannot be opened, which is logged once. */
struct sr_neural *sr_multilingual_open(struct sr_multilingual *multilingual);

/* Opens it on the store's thread, so that the first text which needs it does not wait. */
void sr_multilingual_open_ahead(struct sr_multilingual *multilingual);

/* Runs a job on the store's thread, which may open it: see sr_model_store_later. SR_ENOENT with NULL, or
 * where it cannot be opened. */
int sr_multilingual_later(struct sr_multilingual *multilingual, struct sr_job *job) SR_WARN_UNUSED;

/* If it is open; borrowed. */
struct sr_neural *sr_multilingual_peek(const struct sr_multilingual *multilingual);

/* How its answer to a task is mixed with the linear one, as of sr_fusion_read; SR_OK also where its files do
 * not say it: then it answers alone. */
int sr_multilingual_fusion(const struct sr_multilingual *multilingual, const char *task,
                           struct sr_fusion *out, struct sr_err *err) SR_WARN_UNUSED;

/* How its answer joins a first one that was uncertain, as of sr_fusion_read_second. SR_ENOENT also with NULL:
 * it is not asked then. */
int sr_multilingual_second(const struct sr_multilingual *multilingual, const char *task,
                           struct sr_fusion_second *out, struct sr_err *err) SR_WARN_UNUSED;

/* The least confidence of each of `types` [n] of a task, as of sr_fusion_thresholds; 0.5 for all where NULL.
 */
int sr_multilingual_thresholds(const struct sr_multilingual *multilingual, const char *task,
                               const char *const *types, size_t n, float *out,
                               struct sr_err *err) SR_WARN_UNUSED;

#endif

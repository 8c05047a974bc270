/*
 * The neural tier of a configuration: its engine, its encoder, its neural classifier, all from the model
 * store.
 *
 * Callers with the same configuration get the same objects, so that a text passes a trunk once for all
 * signals. Start-up and reload only.
 */
#ifndef SR_SIGNAL_NEURAL_NEURAL_H
#define SR_SIGNAL_NEURAL_NEURAL_H

#include "config/config.h"
#include "infer/classifier/fusion.h"
#include "infer/locate.h"
#include "infer/model_store.h"

/* Borrowed, lives as long as the store. */
int sr_signal_infer(const struct sr_config *config, struct sr_model_store *models, struct sr_infer **out,
                    struct sr_err *err) SR_WARN_UNUSED;

/* The encoder of a folder, with the heads of another one (NULL: none) or with the classifier of its own for
 * `task` (NULL: none), in a precision of enum sr_config_precision; the reference is the caller's. Logs
 * `encoder_ready` when it was opened, not when the store had it. */
int sr_signal_open_encoder(struct sr_model_store *models, const char *folder, const char *heads,
                           const char *task, int precision, struct sr_encoder **out,
                           struct sr_err *err) SR_WARN_UNUSED;

/* The encoder, with the neural classifier's heads if the configuration needs them and both have one
 * precision; the reference is the caller's. SR_ENOENT: none is configured and the default one is missing. */
int sr_signal_encoder(const struct sr_config *config, struct sr_model_store *models, struct sr_encoder **out,
                      struct sr_err *err) SR_WARN_UNUSED;

/* The encoder `name`, for its vectors alone, in int8 or bf16; the reference is the caller's. SR_ENOENT: it is
 * not there. */
int sr_signal_named_encoder(const struct sr_config *config, const char *name, struct sr_model_store *models,
                            struct sr_encoder **out, struct sr_err *err) SR_WARN_UNUSED;

/* True when the bundled neural classifier exists, with its model card. */
bool sr_signal_has_neural(void);

/* True when the configuration uses the neural classifier. */
bool sr_signal_wants_neural(const struct sr_config *config);

/* The neural classifier over that encoder; the reference is the caller's. SR_ENOENT: the configuration
 * does not use it, or none is configured and the default one is missing. */
int sr_signal_neural(const struct sr_config *config, struct sr_model_store *models, struct sr_neural **out,
                     struct sr_err *err) SR_WARN_UNUSED;

/* The path of the model for a task: `named` if it is not empty, else the best folder of the configured
 * models folder, else "". SR_ENOENT when the models folder cannot be read. */
int sr_signal_find_model(const struct sr_config *config, const char *task, const char *named,
                         char out[SR_LOCATE_MAX], struct sr_err *err) SR_WARN_UNUSED;

/* A neural classifier over the user's own folder, whose one head is called `task`. */
int sr_signal_own_neural(const struct sr_config *config, struct sr_model_store *models, const char *folder,
                         const char *task, struct sr_neural **out, struct sr_err *err) SR_WARN_UNUSED;

/* How the neural classifier's answer to a task is mixed with the linear one; defaults for what its files
 * do not say. */
int sr_signal_fusion(const struct sr_config *config, const char *task, struct sr_fusion *out,
                     struct sr_err *err) SR_WARN_UNUSED;

/* The lowest confidence at which a result of the neural classifier's head for a task counts, as trained,
 * for each of `types` [n]. */
int sr_signal_thresholds(const struct sr_config *config, const char *task, const char *const *types, size_t n,
                         float *out, struct sr_err *err) SR_WARN_UNUSED;

#endif

/*
 * The open model files, so that a reload keeps those that did not change, and the inference engine.
 *
 * A model is the same while its path, its files (device, inode, size, modification time; an adapter's base
 * is part of it) and its options are the same. The store holds one reference of each model; a reload is
 * begin, any number of takes, and a sweep that drops what was not taken again, or a cancel. Reloads are
 * serialised; any thread may take a model, and waits while one is opened: not on an event loop.
 */
#ifndef SR_INFER_MODEL_STORE_H
#define SR_INFER_MODEL_STORE_H

#include "base/thread.h"
#include "infer/engine/engine.h"
#include "model/linear/linear.h"
#include "model/memo.h"
#include "model/tokenizer/tokenizer.h"

#define SR_MODELS_MAX 64 /* open at once */

struct sr_model_store;
struct sr_neural; /* infer/classifier/neural.h */
struct sr_neural_options;

/* `metrics` gets the engine's; NULL is allowed; outlives the store. */
int sr_model_store_new(struct sr_model_store **out, struct sr_metrics *metrics) SR_WARN_UNUSED;

/* Who is told of the engine's batches (struct sr_infer_options). Before the first sr_model_store_infer; `ctx`
 * outlives the store. */
void sr_model_store_set_batch(struct sr_model_store *models,
                              void (*batch)(void *ctx, const struct sr_infer_batch *batch), void *ctx);

/* Runs what waits for its thread, then stops the engine: jobs in progress end with SR_ECLOSED. NULL is
 * allowed. */
void sr_model_store_free(struct sr_model_store *models);

/* Begins a reload: no model is taken yet. */
void sr_model_store_begin(struct sr_model_store *models);

#define SR_MODEL_STORE_JAILBREAK ":jailbreak" /* as a path: the jailbreak model inside the executable */

/* The one memo, of all models and readers: borrowed, lives as long as the store; NULL with `models` NULL.
 * It is empty and of size 0 until sr_memo_resize. */
struct sr_memo *sr_model_store_memo(struct sr_model_store *models);

/* The linear model of `path`, "" for the domain model inside the executable; the reference is the caller's.
 * With `models` NULL it is opened anew. Errors: those of sr_linear_open_file, SR_ELIMIT. */
int sr_model_store_linear(struct sr_model_store *models, const char *path, struct sr_linear **out,
                          struct sr_err *err) SR_WARN_UNUSED;

/* The tokenizer of `path`, a tokenizer.json; the reference is the caller's. With `models` NULL it is opened
 * anew. Errors: those of sr_tokenizer_open_file, SR_ELIMIT. */
int sr_model_store_tokenizer(struct sr_model_store *models, const char *path, struct sr_tokenizer **out,
                             struct sr_err *err) SR_WARN_UNUSED;

/* The encoder of `folder`; the reference is the caller's. Errors: those of sr_encoder_open, SR_ELIMIT. */
int sr_model_store_encoder(struct sr_model_store *models, const char *folder,
                           const struct sr_encoder_options *options, struct sr_encoder **out,
                           struct sr_err *err) SR_WARN_UNUSED;

/* The same if it is open, else SR_ENOENT. */
int sr_model_store_find_encoder(struct sr_model_store *models, const char *folder,
                                const struct sr_encoder_options *options,
                                struct sr_encoder **out) SR_WARN_UNUSED;

/* The neural classifier over an encoder of this store, run by its engine; the reference is the caller's.
 * All callers with the same encoder get the same one; it uses the store's memo, whatever `options` says.
 * Errors: those of sr_neural_new. */
int sr_model_store_neural(struct sr_model_store *models, struct sr_encoder *encoder, struct sr_infer *infer,
                          const struct sr_neural_options *options, struct sr_neural **out,
                          struct sr_err *err) SR_WARN_UNUSED;

/* A number that changes when the file changes, or a file in the folder, or in the base folder of an adapter
 * in it; 0 when there is none. */
uint64_t sr_model_store_stamp(const char *path);

/* The engine, borrowed: lives as long as the store. It is started at the first call. `options` that differ
 * from those in force are checked now and apply from the sweep on; outside of a reload those in force stay.
 * Their metrics are the store's. Errors of sr_infer_new. */
int sr_model_store_infer(struct sr_model_store *models, const struct sr_infer_options *options,
                         struct sr_infer **out, struct sr_err *err) SR_WARN_UNUSED;

/* Runs a job that may open models on a thread of the store's own, one after the other in their order, so that
 * an event loop, or a thread of the engine, need not wait for them. The thread is started at the first one.
 * Any thread. SR_EBUSY: too many wait; SR_ECLOSED: the store ends; SR_ENOMEM. */
int sr_model_store_later(struct sr_model_store *models, struct sr_job *job) SR_WARN_UNUSED;

/* How long the engine takes for what waits, as of sr_infer_stats; 0 without one. Any thread. */
uint64_t sr_model_store_rest_ns(struct sr_model_store *models);

/* The reload succeeded: drops the models that it did not take, and sets the engine's options. */
void sr_model_store_sweep(struct sr_model_store *models);

/* The reload failed: the engine's options stay. Models that it opened stay open until the next sweep. */
void sr_model_store_cancel(struct sr_model_store *models);

#endif

/*
 * From signals to a decision: the compiled rule trees of a configuration. Pure: no I/O, no clock.
 *
 * Evaluation is lazy: with some signals still unknown it either returns a decision or names the signal
 * types that could still change the outcome. Rules have three values (yes, no, not known yet).
 * Semantics: docs/internals/decisions.md.
 */
#ifndef SR_DECIDE_DECIDE_H
#define SR_DECIDE_DECIDE_H

#include "signal/signal.h"

struct sr_plan;

/* Compiles the decisions of a configuration against its signals; keeps a reference of both. SR_ENOENT with
 * a message when a rule names an unknown signal or rule. */
int sr_plan_new(struct sr_plan **out, const struct sr_config *config, struct sr_signals *signals,
                struct sr_err *err) SR_WARN_UNUSED;
/* The same with only the decisions that `takes` accepts. */
int sr_plan_new_of(struct sr_plan **out, const struct sr_config *config, struct sr_signals *signals,
                   bool (*takes)(const struct sr_config_decision *decision),
                   struct sr_err *err) SR_WARN_UNUSED;
void sr_plan_free(struct sr_plan *plan);

/* A mask of the signal types that any decision may need. */
uint32_t sr_plan_signals(const struct sr_plan *plan);

struct sr_decision {
    int decision;     /* index in config->decisions, -1 = none matched */
    float confidence; /* of its rule tree */
    int category;     /* label index of the matched domain rule's signal, -1 = none; see `category_name` */
    const char *category_name; /* first matched domain rule's name; "" = none */
    bool overridden;           /* a more confident classifier replaced an earlier winner */
    bool unsure;               /* it matches only because on_error says so of what could not be read */
    bool unknown;              /* it matches only because a condition that is not understood may hold */
    uint32_t errors;           /* mask of signal types that failed: the request is degraded */
    /* Set by the owner before a model is chosen, where an algorithm ranks the candidates. */
    const double *scores;  /* [candidates]: higher is better; NULL: the category's scores hold */
    const char *algorithm; /* that made them */
};

/* `results[type]` is NULL while a type has not run. Decisions of the configuration that `without` marks do
 * not count (NULL: all count). SR_OK: `out` is filled. SR_AGAIN: `*needed` is the mask of types whose
 * results can still change the outcome; run the cheapest of them and call again. */
int sr_plan_decide(const struct sr_plan *plan, const bool *without,
                   const struct sr_signal_result *const results[SR_SIGNAL_TYPES], struct sr_decision *out,
                   uint32_t *needed) SR_WARN_UNUSED;

/* How many decisions a plan has. */
size_t sr_plan_size(const struct sr_plan *plan);

/* A decision that matches by itself, whatever others do. */
struct sr_match {
    int decision; /* index in config->decisions */
    float confidence;
    bool unsure; /* as of struct sr_decision */
};

/* All decisions of a plan that match, in the plan's order, into out[sr_plan_size] and `*n`. `results` and
 * `without` as of sr_plan_decide. SR_AGAIN: the types in `*needed` can still make others match. */
int sr_plan_matches(const struct sr_plan *plan, const bool *without,
                    const struct sr_signal_result *const results[SR_SIGNAL_TYPES], struct sr_match *out,
                    size_t *n, uint32_t *needed) SR_WARN_UNUSED;

/* The cheapest type of a mask (by its ops' cost). */
enum sr_signal_type sr_plan_cheapest(uint32_t mask);

/* The model that a decision chooses: by its scores, else by those of the category, else its first modelRef
 * (decide/select.c). */
struct sr_choice {
    int model;             /* index in config->models, -1 = none */
    const char *lora_name; /* "" = none */
    bool use_reasoning;
    const char *effort;        /* "", "low", "medium", "high", ... */
    const char *algorithm;     /* "static", "default", or the decision's */
    const char *why_reasoning; /* the modelRef's reasoning_description; "" or NULL = none */
};

void sr_plan_choose(const struct sr_plan *plan, const struct sr_decision *decision,
                    const struct sr_signal_result *const results[SR_SIGNAL_TYPES], struct sr_choice *out);

/* The scores of the decision's candidates, by which that chooses: into out[n_refs]. */
void sr_plan_scores(const struct sr_plan *plan, const struct sr_decision *decision, double *out);

/* The same choice without the models that are barred ([n_models] of the configuration): the best of the other
 * candidates, else the default model, else none (model -1). */
void sr_plan_choose_other(const struct sr_plan *plan, const struct sr_decision *decision, const bool *barred,
                          struct sr_choice *out);

#endif

/*
 * A log of outcomes: which model answered which text, how well, and at what cost. From JSON Lines; texts and
 * models are kept once each.
 */
#ifndef SR_SELECT_FIT_OUTCOMES_H
#define SR_SELECT_FIT_OUTCOMES_H

#include "base/arena.h"

#define SR_OUTCOMES_TEXTS  500000
#define SR_OUTCOMES_MODELS 256
#define SR_OUTCOMES_ROWS   20000000
#define SR_OUTCOMES_BYTES  ((size_t)2 << 30)

struct sr_outcome {
    uint32_t text, model;
    float score; /* 0..1 */
    float cost;  /* NAN: not said */
};

struct sr_outcomes {
    struct sr_arena arena;
    struct sr_bytes *texts;
    size_t n_texts;
    const char *models[SR_OUTCOMES_MODELS];
    size_t n_models;
    struct sr_outcome *rows;
    size_t n;
    /* private */
    size_t cap_texts, cap_rows, n_slots;
    uint32_t *slots;
};

void sr_outcomes_init(struct sr_outcomes *outcomes);
void sr_outcomes_dispose(struct sr_outcomes *outcomes);

/* Adds a line: {"text", "model", "score": 0..1 or "correct": true|false|0|1, "cost"}, or one with the results
 * of several models, {"text", "correct": {MODEL: 0|1, ...}, "cost": {MODEL: N, ...}}; `cost` may be missing.
 * SR_EPARSE with a message; SR_ELIMIT; SR_ENOMEM. The line is not kept. */
int sr_outcomes_add(struct sr_outcomes *outcomes, struct sr_bytes line, struct sr_err *err) SR_WARN_UNUSED;

/* Scores as a matrix [texts, models] in the caller's memory, NAN where a model did not answer; of repeated
 * outcomes later ones count more. */
void sr_outcomes_scores(const struct sr_outcomes *outcomes, float *scores);

/* The mean cost of each model [models]; where none of its rows says it, 1. */
void sr_outcomes_costs(const struct sr_outcomes *outcomes, double *costs);

#endif

/*
 * How one of a decision's candidates is chosen: the interface of the algorithms, and the ranking that they
 * make.
 *
 * An algorithm is one file with one `struct sr_select_ops` and one line in registry.c; its keys are a block
 * in config/section/algorithm.c. It ranks candidates by what it is told of them and of the request: it reads
 * no body, opens no connection and waits for nothing. What it needs from files is read when it is opened.
 * What it learns lives outside of the configuration (state/arms.h).
 *
 * `static` has no ranking: the score of the category counts (decide/select.c).
 */
#ifndef SR_SELECT_SELECT_H
#define SR_SELECT_SELECT_H

#include "base/arena.h"
#include "config/config.h"
#include "pool/tally.h"
#include "select/state/arms.h"

#define SR_SELECT_FACTORS        6
#define SR_SELECT_CANDIDATES_MAX 128 /* of one decision; those after them are not ranked */

/* One candidate, as the router knows it. */
struct sr_select_candidate {
    const char *model;
    double quality;              /* of its card; NAN: not known */
    double cost;                 /* price of a million tokens of a prompt; NAN: not known */
    struct sr_pool_tally *tally; /* its times; NULL: none */
    double load;                 /* its requests in progress */
    uint64_t arm;                /* names it and the decision in state/arms.h */
};

/* The request. */
struct sr_select_ask {
    struct sr_bytes text; /* what the user asks now */
    const float *vector;  /* [dimensions], length 1; NULL: it could not be had */
    size_t dimensions;
    uint64_t draw;               /* random */
    bool steady;                 /* nothing is drawn by chance */
    struct sr_select_arms *arms; /* NULL: nothing is learned */
};

struct sr_select_factor {
    const char *name; /* a constant */
    double value;
};

/* What an algorithm says of one candidate. */
struct sr_select_score {
    double score;         /* higher is better; -HUGE_VAL: only when no other is left */
    const char *excluded; /* the limit that it is beyond, a constant; NULL: none */
    struct sr_select_factor factors[SR_SELECT_FACTORS];
    size_t n_factors;
};

struct sr_ranking {
    const char *algorithm; /* the configured one */
    const char *why;       /* why the best one is the best: a constant, a phrase */
    const char *fallback;  /* why the algorithm had no say, a word for metrics; NULL: it had */
    bool refused;          /* no candidate may be used */
    bool explored;         /* the best one was drawn by chance */
    size_t n;              /* candidates, in the order of the decision */
    struct sr_select_score *items;
    double *scores; /* [n]: of `items`, for the choice; NULL: the category's scores hold */
};

/* What an algorithm is opened with. */
struct sr_select_setup {
    const struct sr_config_algorithm *config;
    const char *encoder; /* name of the encoder whose vectors it will get */
    size_t dimensions;   /* that the configuration cuts them to; 0: all */
};

struct sr_select_ops {
    const char *name;
    bool learns; /* the arms are told what comes of its requests */
    /* Reads files and checks them; start-up and reload. Optional: the state is NULL. An error has a message.
     */
    int (*open)(void **state, const struct sr_select_setup *setup, struct sr_err *err);
    void (*close)(void *state); /* goes with open */
    /* Fills `out->items[n]`, which are zero, and `why`. SR_OK; SR_ENOENT: it has no say, and `fallback` says
     * why. Any thread, no allocations, no waiting. */
    int (*rank)(const void *state, const struct sr_config_algorithm *config, const struct sr_select_ask *ask,
                const struct sr_select_candidate *candidates, size_t n, struct sr_ranking *out);
};

/* An algorithm with its state: of one decision, as long as the router. */
struct sr_selector {
    const struct sr_select_ops *ops; /* `rank` NULL: static */
    const struct sr_config_algorithm *config;
    void *state;
};

/* `config` must outlive it. SR_ENOENT: there is no such algorithm; the errors of its `open`. */
int sr_selector_open(struct sr_selector *out, const struct sr_select_setup *setup,
                     struct sr_err *err) SR_WARN_UNUSED;
void sr_selector_close(struct sr_selector *selector); /* a zeroed one is allowed */

/* Ranks; everything lies in the arena. SR_ENOMEM. */
int sr_selector_rank(const struct sr_selector *selector, const struct sr_select_ask *ask,
                     const struct sr_select_candidate *candidates, size_t n, struct sr_arena *arena,
                     struct sr_ranking *out) SR_WARN_UNUSED;

/* The score of a decision's model; NAN: it has none. */
double sr_ranking_score(const struct sr_ranking *ranking, const struct sr_config_decision *decision,
                        int model);

/* Adds a factor to a score, for explanations. */
void sr_select_note(struct sr_select_score *score, const char *name, double value);

/* NULL when there is none of this name. */
const struct sr_select_ops *sr_select_find(const char *name);

/* Each algorithm; ends with NULL. */
extern const struct sr_select_ops *const sr_select_registry[];
extern const struct sr_select_ops sr_select_static, sr_select_multi_factor, sr_select_latency_aware,
    sr_select_knn, sr_select_learned, sr_select_bandit;

#endif

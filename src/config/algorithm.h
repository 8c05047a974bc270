/*
 * How a decision chooses among its candidates: `routing.decisions[].algorithm` as plain data. Each algorithm
 * has its own block; the layer `select` gives it its meaning.
 */
#ifndef SR_CONFIG_ALGORITHM_H
#define SR_CONFIG_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>

/* What happens when every candidate is beyond a limit. */
enum sr_on_no_candidates {
    SR_NO_CANDIDATES_CHEAPEST,
    SR_NO_CANDIDATES_FIRST,
    SR_NO_CANDIDATES_FAIL, /* the request is refused */
};

struct sr_config_multi_factor {
    struct {
        double quality, latency, cost, load;
    } weights; /* relative */
    struct {
        double max_tpot_ms, max_ttft_ms, max_cost_per_1m, max_inflight; /* 0: no limit */
    } slo;
    int latency_percentile;
    int on_no_candidates; /* enum sr_on_no_candidates */
};

struct sr_config_latency_aware {
    const char *description;
    int tpot_percentile, ttft_percentile; /* 0: it does not count */
};

struct sr_config_knn {
    const char *path; /* the user's JSON file */
    int k;            /* 0: the file's */
};

struct sr_config_learned {
    const char *path;   /* a file of `semroute train selection` */
    double cost_weight; /* quality that the dearest candidate's price must bring, in shares of 1 */
    double budget;      /* mean cost as a share of the dearest model's; 0: `cost_weight` holds */
};

struct sr_config_bandit {
    bool enabled;
    double exploration; /* share of requests that go to a candidate by chance */
    double cost_weight, latency_weight;
    double latency_scale_ms; /* a time to the first token that counts as wholly slow */
    int memory;              /* outcomes after which half of an older one is forgotten */
};

struct sr_config_algorithm {
    const char *type; /* "static", ...; NULL is "static" */
    struct sr_config_multi_factor multi_factor;
    struct sr_config_latency_aware latency_aware;
    struct sr_config_knn knn;
    struct sr_config_learned learned;
    struct sr_config_bandit bandit;
};

/* True when the algorithm compares the meaning of requests, and has more than one candidate to do so. */
bool sr_algorithm_reads_meaning(const struct sr_config_algorithm *algorithm, size_t n_candidates);

#endif

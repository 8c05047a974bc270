/*
 * Workers of a model: `global.semroute.pools` and `workloads`.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_POOLS_H
#define SR_CONFIG_PART_POOLS_H

#include "config/part/strings.h"

#include <stdint.h>

/* What the picking policy of a pool reads (pool/settings.h), and how workers say what they have. */
struct sr_config_picking {
    const char *session_header; /* "" = none */
    double session_bound;
    uint32_t block_tokens;
    uint64_t blocks;
    double overlap_weight, temperature;
    double threshold;
    uint32_t recent;
    uint64_t meaning_wait_ms; /* for the vector of a request */
    double load_guard;
    const char *metrics_path; /* "" = by the policy; `off` */
    uint64_t metrics_interval_ms;
};

/* How the workers of a pool tell what is in their KV caches. */
struct sr_config_kv_events {
    const char *endpoint, *replay; /* patterns of ZeroMQ endpoints; "" = none */
    const char *topic;             /* that topics begin with */
    uint64_t max_blocks;           /* that are known of one worker */
    const char *tokenize;          /* path; "" = workers are not asked for tokens */
    const char *tokenizer;         /* a tokenizer.json that gives them; "" = none */
    const char *chat_template;     /* for it; "" = none */
    uint64_t wait_ms;              /* for the tokens of a prompt */
};

/* What a request is for, by its form or as it says. */
enum sr_workload {
    SR_WORKLOAD_INTERACTIVE, /* what is none of the others */
    SR_WORKLOAD_LONG_CONTEXT,
    SR_WORKLOAD_AGENT, /* it has tools */
    SR_WORKLOAD_BATCH, /* no client waits for its answer */
    SR_WORKLOADS
};

/* Most pools of one model. */
#define SR_MODEL_POOLS_MAX 16

/* global.semroute.workloads: how the workload of a request is known. */
struct sr_config_workloads {
    const char *header;           /* that names it; "" = none */
    const char *metadata;         /* key of the body's `metadata` that names it; "" = none */
    uint64_t long_context_tokens; /* of the prompt */
};

/* global.semroute.pools[]: the workers of a model, and how one of them is chosen. */
struct sr_config_pool {
    const char *name;                       /* unique; the model's name unless set */
    const char *model_name;                 /* as given */
    const char *policy;                     /* of choosing; "" = the model's `lb_policy` */
    uint64_t max_prompt_tokens, max_tokens; /* of a request, with its answer in the second; 0: no limit */
    struct sr_strings workload_names;
    uint32_t workloads;         /* mask over enum sr_workload; 0: all */
    struct sr_strings backends; /* names of the model's backends that are its workers; none: all */
    struct sr_strings backups;  /* those of them that get requests only when no other can */
    struct sr_config_picking picking;
    struct sr_config_kv_events kv_events;
    int model;              /* index in models */
    uint32_t max_in_flight; /* requests at one worker; 0: no limit */
    struct {
        uint32_t max; /* requests that wait */
        uint64_t timeout_ms;
        const char *priority_header;      /* "" = none */
        struct sr_name_values priorities; /* of requests of these decisions; whole numbers */
    } queue;
    uint64_t slow_start_ms;
    struct {
        double times; /* of what the others take; 0: off */
        uint64_t recovery_ms;
    } slow;
    struct {
        const char *file, *dns, *srv; /* at most one; "" = not given */
        const char *server;           /* of DNS, "" = the system's */
        uint64_t keep_ms;             /* how long the last good answer holds; 0: for ever */
    } endpoints;                      /* none: the model's backends */
};

#endif

/*
 * What is kept of requests after they have ended, as configured: global.services.router_replay,
 * global.semroute.replay, and the plugin of a decision.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_REPLAY_H
#define SR_CONFIG_PART_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sr_replay_store {
    SR_REPLAY_MEMORY,
    SR_REPLAY_SQLITE,
    SR_REPLAY_ELSEWHERE, /* a store of vLLM Semantic Router that this program has not; refused where it counts
                          */
};

/* Of all requests, or of those of one decision. */
struct sr_config_replay_capture {
    bool set; /* the plugin is there */
    bool enabled, request_body, response_body;
    size_t max_body_bytes; /* 4,096 of each */
    int64_t max_records;   /* 0 in a plugin: as global */
};

struct sr_config_replay {
    struct sr_config_replay_capture all;
    enum sr_replay_store store;
    int64_t ttl_s;    /* 2,592,000; 0: for ever */
    const char *path; /* of the SQLite file; "" = none */
    size_t max_bytes; /* of all records in memory, and in the file */
    size_t entries;   /* linked: the most that one of them asks for; 0: nothing is kept */
};

#endif

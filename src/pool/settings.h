/*
 * The settings of a group's picking policy: plain values, compared at a reload.
 *
 * Each policy reads its own ones. Values are checked where the configuration is read.
 */
#ifndef SR_POOL_SETTINGS_H
#define SR_POOL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sr_pool_settings {
    uint32_t block_tokens; /* tokens of a block */
    uint64_t blocks;       /* blocks of a worker's cache; what is known of one never has more */
    uint64_t kv_blocks;    /* most blocks that are known of a worker by its events */
    double bound;          /* session: the most requests of a worker, for the mean */
    double overlap_weight; /* cost: of a block of the prompt that is to be computed */
    double temperature;    /* cost: 0 takes the lowest one, higher values spread */
    double threshold;      /* meaning: similarity from which a worker counts as warm */
    uint32_t recent;       /* meaning: requests that are remembered for each worker */
    double guard;          /* load, for the mean, over which a warm worker is left */
};

struct sr_pool_settings sr_pool_settings_defaults(void);

bool sr_pool_settings_equal(const struct sr_pool_settings *a, const struct sr_pool_settings *b);

#endif

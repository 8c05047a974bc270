/* The defaults of the picking policies' settings. */
#include "pool/settings.h"

struct sr_pool_settings sr_pool_settings_defaults(void)
{
    return (struct sr_pool_settings){
        .block_tokens = 16,
        .blocks = 32768,
        .kv_blocks = 65536,
        .bound = 1.25,
        .overlap_weight = 1,
        .temperature = 0,
        .threshold = 0.7,
        .recent = 64,
        .guard = 1.5,
    };
}

bool sr_pool_settings_equal(const struct sr_pool_settings *a, const struct sr_pool_settings *b)
{
    return a->block_tokens == b->block_tokens && a->blocks == b->blocks && a->kv_blocks == b->kv_blocks &&
           !(a->bound < b->bound) && !(a->bound > b->bound) && !(a->overlap_weight < b->overlap_weight) &&
           !(a->overlap_weight > b->overlap_weight) && !(a->temperature < b->temperature) &&
           !(a->temperature > b->temperature) && !(a->threshold < b->threshold) &&
           !(a->threshold > b->threshold) && a->recent == b->recent && !(a->guard < b->guard) &&
           !(a->guard > b->guard);
}

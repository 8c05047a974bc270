/* The tokens that an answer says it took: read by a stage of the answer, kept by the record. */
#ifndef SR_ROUTER_USAGE_H
#define SR_ROUTER_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct sr_usage {
    bool seen;                                        /* there is at least one count */
    uint64_t prompt, completion, cached, cache_write; /* tokens; `prompt` contains the other prompt counts */
};

#endif

/* The token counts in an answer: a stage of the answer reads them, the record keeps them. */
#ifndef SR_ROUTER_USAGE_H
#define SR_ROUTER_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct sr_usage {
    bool seen;                                        /* there is at least one count */
    uint64_t prompt, completion, cached, cache_write; /* tokens; `prompt` contains the other prompt counts */
};

#endif

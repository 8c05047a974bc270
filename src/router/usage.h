/* The token counts in an answer, and why it ended: a stage of the answer reads them, the record keeps them.
 */
#ifndef SR_ROUTER_USAGE_H
#define SR_ROUTER_USAGE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_FINISH_REASONS 15

struct sr_usage {
    bool seen;                                        /* there is at least one count */
    uint64_t prompt, completion, cached, cache_write; /* tokens; `prompt` contains the other prompt counts */
    uint32_t finish; /* reasons why choices ended: bits below SR_FINISH_REASONS */
};

/* The bit of a reason in an answer's own words; that of "other" for a word that no API is known to have. */
uint32_t sr_finish_bit(struct sr_bytes reason);

/* The word of bit `i`. */
const char *sr_finish_name(int i);

#endif

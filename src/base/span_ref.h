/* The span that something is done for, so that what many share can name them. */
#ifndef SR_BASE_SPAN_REF_H
#define SR_BASE_SPAN_REF_H

#include <stdbool.h>
#include <stdint.h>

struct sr_span_ref {
    bool known; /* the rest is set */
    bool kept;  /* its trace is, as far as is known */
    uint8_t trace[16], span[8];
};

#endif

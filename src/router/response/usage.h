/*
 * The stage that reads token usage: out of a JSON answer as it streams by, and out of the events of a stream.
 *
 * Nothing is buffered but the last few bytes; what is no usage in the dialect's shape is ignored. Knows no
 * metrics.
 */
#ifndef SR_ROUTER_RESPONSE_USAGE_H
#define SR_ROUTER_RESPONSE_USAGE_H

#include "router/response/stage.h"

struct sr_usage {
    bool seen;                                        /* a usage object with at least one count */
    uint64_t prompt, completion, cached, cache_write; /* tokens; `prompt` contains the other prompt counts */
};

/* Longest number that is read across a chunk boundary. */
#define SR_USAGE_TAIL 32

struct sr_usage_reader {
    struct sr_usage usage; /* the latest */
    size_t next;           /* the first span of a JSON answer that was not looked at */
    char tail[SR_USAGE_TAIL];
    size_t tail_n;
};

extern const struct sr_answer_stage sr_usage_stage; /* its state: struct sr_usage_reader, all zero */

#endif

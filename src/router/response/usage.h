/*
 * The stage that reads token usage: out of a JSON answer as it streams by, and out of the events of a stream.
 *
 * Nothing is buffered but the last few bytes; what is no usage in the dialect's shape is ignored. Knows no
 * metrics.
 */
#ifndef SR_ROUTER_RESPONSE_USAGE_H
#define SR_ROUTER_RESPONSE_USAGE_H

#include "router/response/stage.h"
#include "router/usage.h"

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

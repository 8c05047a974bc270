/*
 * The stage that reads token usage, and why an answer ended, from the pieces of a JSON answer and from the
 * events of a stream.
 *
 * It buffers only the last few bytes, and ignores usage that has not the dialect's shape. Knows no
 * metrics.
 */
#ifndef SR_ROUTER_RESPONSE_USAGE_H
#define SR_ROUTER_RESPONSE_USAGE_H

#include "router/response/stage.h"
#include "router/usage.h"

/* Bytes of the longest number, and of the longest reason, that is read across a chunk boundary. */
#define SR_USAGE_TAIL 32

struct sr_usage_reader {
    struct sr_usage usage; /* the latest count of each kind */
    uint64_t rest;         /* tokens of the prompt beside the cached ones, where an API counts them so */
    bool has_rest;
    size_t next; /* first span of a JSON answer that was not read */
    char tail[SR_USAGE_TAIL];
    size_t tail_n;
};

extern const struct sr_answer_stage sr_usage_stage; /* its state: struct sr_usage_reader, all zero */

#endif

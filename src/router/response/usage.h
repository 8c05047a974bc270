/*
 * Token usage read out of answers: whole JSON bodies as they stream by, and single SSE events.
 *
 * Nothing is buffered but the last few bytes; what is no usage in OpenAI's shape is ignored. Knows no
 * metrics.
 */
#ifndef SR_ROUTER_RESPONSE_USAGE_H
#define SR_ROUTER_RESPONSE_USAGE_H

#include "json/scan.h"

struct sr_usage {
    bool seen;                                        /* a usage object with at least one count */
    uint64_t prompt, completion, cached, cache_write; /* tokens; `prompt` contains the other prompt counts */
};

/* The paths of an answer; made once, shared. */
int sr_usage_paths(struct sr_paths **out, struct sr_err *err) SR_WARN_UNUSED;

/* Longest number that is read across a chunk boundary. */
#define SR_METER_TAIL 32

/* Reads a JSON answer chunk by chunk. */
struct sr_meter {
    struct sr_arena arena;
    struct sr_scan *scan; /* NULL: finished or given up */
    size_t offset;        /* bytes fed */
    size_t next;          /* the first span that was not looked at */
    char tail[SR_METER_TAIL];
    size_t tail_n;
    struct sr_usage usage;
};

/* Gives up quietly when memory is out: usage stays unseen. `paths` must outlive the meter. */
void sr_meter_init(struct sr_meter *meter, const struct sr_paths *paths);
void sr_meter_feed(struct sr_meter *meter, struct sr_bytes chunk);
void sr_meter_dispose(struct sr_meter *meter);

/* What one SSE event of a streamed completion holds. Offsets count in its `data`. */
struct sr_usage_event {
    bool has_member;    /* there is a top-level `usage` */
    bool is_null;       /* and it is null */
    bool choices_empty; /* `choices` is an empty array: the event is there for its usage alone */
    size_t start, end;  /* the member with one comma: what to cut out */
    struct sr_usage usage;
};

/* False when `data` is no JSON object. `arena` is scratch. */
bool sr_usage_read_event(struct sr_usage_event *out, struct sr_bytes data, const struct sr_paths *paths,
                         struct sr_arena *arena);

#endif

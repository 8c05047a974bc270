/*
 * The interface of an answer stage, which reads an answer event by event and may change it.
 *
 * answer.c lists the stages in one array and calls them in its order, on the thread that owns the
 * exchange. A stage owns its state, knows no other stage and no exchange: it marks events and returns
 * values.
 */
#ifndef SR_ROUTER_RESPONSE_STAGE_H
#define SR_ROUTER_RESPONSE_STAGE_H

#include "router/response/event.h"
#include "semroute/semroute.h"

enum sr_answer_mode { SR_ANSWER_RAW, SR_ANSWER_JSON, SR_ANSWER_SSE };

struct sr_redaction;
struct sr_translation;
struct sr_response_guard_plan;

/* The inputs of a stage, known when the head of an answer has arrived. */
struct sr_answer_head {
    int status;
    enum sr_answer_mode mode; /* RAW: not read because of its type, encoding or status */
    const struct sr_dialect_ops *dialect;
    const struct sr_answer_paths *paths; /* paths of the dialect's answers */
    size_t keeps;                        /* most bytes of it that are kept for the cache; 0: none are */
    size_t stores;            /* most bytes of a response that is to be continued by id; 0: it is not */
    struct sr_bytes previous; /* id of the answer that it continues, as JSON; empty: the upstream knows */
    bool strip_usage;         /* only the router asked for the usage */
    const struct sr_redaction *restores;        /* values to restore in the answer; NULL: none */
    const struct sr_response_guard_plan *guard; /* NULL: no plugin reads the answer */
    struct sr_translation *translation;         /* from the upstream's API; NULL: it speaks the client's */
};

/* What a stage needs of an answer: bits. */
enum {
    SR_WANTS_EVENTS = 1,  /* `event` for each event of a stream; `piece` for each piece of a JSON answer */
    SR_WANTS_CHANGES = 2, /* marks count: events are written one by one, a JSON answer is held until its end,
                             and is one event then */
    SR_WANTS_TEXTS = 4,   /* the spans of texts; without it an event is scanned only for its usage */
    SR_WANTS_LENGTH = 8,  /* the answer's length is not known before its end */
};

/* A piece of a JSON answer, and the spans of all of it so far. */
struct sr_answer_piece {
    struct sr_bytes bytes;
    size_t offset; /* bytes before it */
    const struct sr_span *spans;
    size_t n_spans;
    bool whole; /* the document is complete with it */
};

/* The flow at the gate, in bytes since the beginning of the answer. */
struct sr_answer_flow {
    uint64_t came, went; /* bytes that arrived, and bytes that the client has */
    bool last;           /* no more bytes follow */
    bool done;           /* the stream has its final event */
    bool broken;         /* out of memory: the stream is not read any more */
    bool between;        /* the next bytes begin at the start of an event */
};

/* What a gate lets through. */
struct sr_answer_gate {
    bool holds;           /* new bytes wait; else they go at once */
    uint64_t clean;       /* bytes up to this offset may go */
    struct sr_bytes says; /* text to send before them; borrowed until the next call */
};

struct sr_answer_stage {
    const char *name;
    /* Called once, with the head. Returns SR_WANTS_* bits; 0: no other slot is called for this answer.
     * Mandatory. */
    unsigned (*wants)(void *state, const struct sr_answer_head *head);
    /* Called with each piece of a JSON answer. Optional. */
    void (*piece)(void *state, const struct sr_answer_piece *piece);
    /* Called with each event, or with a whole JSON answer. An error ends the changes: the event and all
     * later bytes pass unchanged. Mandatory. */
    int (*event)(void *state, struct sr_answer_event *event);
    /* Called when the stream ends: appends the bytes that still wait. SR_ENOMEM: they are lost. Optional. */
    int (*end)(void *state, struct sr_buf *out);
    /* Called after the events of a piece, and when a late result arrives: returns how much may go. Only
     * one stage of an answer may have it. GO, HOLD, WAIT: see semroute.h; END, REPLACE: only the gate's
     * own text goes. Optional. */
    enum sr_answer_step (*gate)(void *state, const struct sr_answer_flow *flow, struct sr_answer_gate *gate);
    /* Called when there is no room to hold bytes: from here on everything passes at once. Optional. */
    void (*overflow)(void *state);
};

#endif

/*
 * What a stage of the answer is: something that sees an answer pass, event by event, and may change it.
 *
 * The stages stand in one explicit array in answer.c and are called in its order, by answer.c alone, on the
 * thread that owns the exchange. A stage owns its state, knows no other stage and no exchange: it marks
 * events and returns values.
 */
#ifndef SR_ROUTER_RESPONSE_STAGE_H
#define SR_ROUTER_RESPONSE_STAGE_H

#include "router/response/event.h"
#include "semroute/semroute.h"

enum sr_answer_mode { SR_ANSWER_RAW, SR_ANSWER_JSON, SR_ANSWER_SSE };

struct sr_redaction;
struct sr_response_guard_plan;

/* What is known when the head of an answer is there, with all that a stage may need. */
struct sr_answer_head {
    int status;
    enum sr_answer_mode mode; /* RAW: nothing reads it, for its type, its encoding or its status */
    const struct sr_dialect_ops *dialect;
    const struct sr_answer_paths *paths; /* of the dialect's answers */
    bool strip_usage; /* the client did not ask for the usage that the upstream was asked for */
    const struct sr_redaction *restores;        /* values that go back into the answer; NULL: none */
    const struct sr_response_guard_plan *guard; /* NULL: no plugin reads the answer */
};

/* What a stage needs of an answer: bits. */
enum {
    SR_WANTS_EVENTS = 1,  /* `event` for each event of a stream; `piece` for each piece of a JSON answer */
    SR_WANTS_CHANGES = 2, /* marks count: events are written one by one, a JSON answer is held until its end,
                             and is one event then */
    SR_WANTS_TEXTS = 4,   /* the spans of texts; without it an event is scanned for its usage alone */
    SR_WANTS_LENGTH = 8,  /* the answer's length is not known before its end */
};

/* A piece of a JSON answer, and the spans of all of it so far. */
struct sr_answer_piece {
    struct sr_bytes bytes;
    size_t offset; /* bytes before it */
    const struct sr_span *spans;
    size_t n_spans;
};

/* What has come to the gate, in bytes since the beginning of the answer. */
struct sr_answer_flow {
    uint64_t came, went; /* all that came, and what of it the client has */
    bool last;           /* nothing more will come */
    bool done;           /* the stream has its final event */
    bool broken;         /* memory was out: nothing reads the stream any more */
    bool between;        /* what comes next begins with a whole event */
};

/* What a gate lets through. */
struct sr_answer_gate {
    bool holds;           /* what comes waits; else it goes at once */
    uint64_t clean;       /* of what came, bytes up to this one may go */
    struct sr_bytes says; /* goes in front of it; borrowed until the next call */
};

struct sr_answer_stage {
    const char *name;
    /* Once, with the head: SR_WANTS_* bits; 0: no other slot is called for this answer. Mandatory. */
    unsigned (*wants)(void *state, const struct sr_answer_head *head);
    /* A piece of a JSON answer. Optional. */
    void (*piece)(void *state, const struct sr_answer_piece *piece);
    /* An event, or a whole JSON answer. An error ends the changes: the event and all that follows pass as
     * they came. Mandatory. */
    int (*event)(void *state, struct sr_answer_event *event);
    /* The stream ends: appends what still waits. SR_ENOMEM: it is lost. Optional. */
    int (*end)(void *state, struct sr_buf *out);
    /* After the events of a piece, and when a late result is there: how much may go. Only one stage of an
     * answer may have it. GO, HOLD, WAIT: see semroute.h; END, REPLACE: nothing goes any more but what it
     * says. Optional. */
    enum sr_answer_step (*gate)(void *state, const struct sr_answer_flow *flow, struct sr_answer_gate *gate);
    /* There is no room to hold what came: from here on everything passes as it comes. Optional. */
    void (*overflow)(void *state);
};

#endif

/*
 * Reads the body's texts while it arrives, for the prompt compressor and for neural classifiers: at the end
 * of the body only ranking and the last windows are left to do.
 *
 * The compressor. Which user turn is the last one is known at the end only, so the newest one is read, once
 * it is long enough to be compressed, and the text begins anew when the next one starts. At most
 * SR_PREFETCH_STEP bytes of the body are read for each chunk that arrives, so a loop is never held up; the
 * rest is left for the end of the text. What is read here is checked against the text of the complete body
 * before it is used: it saves time, and cannot change a result.
 *
 * Neural classifiers. Every message that is complete is prefetched, and of the one that arrives the windows
 * that are complete, as far as signals will ask for them (signal/neural/prefetch.h). Their answers are found
 * by text and by tokens. The same bound holds for each chunk.
 */
#ifndef SR_ROUTER_REQUEST_PREFETCH_H
#define SR_ROUTER_REQUEST_PREFETCH_H

#include "router/request/request.h"
#include "signal/neural/prefetch.h"

#define SR_PREFETCH_STEP ((size_t)64 << 10) /* bytes: about a millisecond */
#define SR_PREFETCH_MIN  ((size_t)4 << 10)  /* shorter turns are quicker read at the end */
#define SR_PREFETCH_MAX                                                                                      \
    ((size_t)1 << 20) /* longer ones are left to the workers: a compressor needs 12 times as much */

#define SR_PREFETCH_TURN ((size_t)64 << 10) /* bytes of JSON: longer messages are classified at the end */
#define SR_PREFETCH_ASK  ((size_t)32 << 10) /* bytes of texts for neural classifiers for each chunk */

struct sr_prefetch {
    struct sr_signal_brief *brief; /* NULL: nothing was read */
    size_t least;                  /* turns of at most so many bytes are left alone; 0: off */
    size_t next_span;              /* the first that was not looked at */
    uint32_t content;              /* of the message that is arriving; SR_SPAN_NONE */
    bool is_user;                  /* and its role is known to be that */
    uint32_t turn;                 /* the content or prompt that is being read; SR_SPAN_NONE */
    size_t text_span;              /* of the turn: the string that comes next or is being read */
    size_t at;                     /* next byte of that string; 0: it was not begun */
    bool begun;                    /* something of the turn was read */
    bool between;                  /* and a separator comes before more of it */
    struct {
        struct sr_signal_prefetch *asked; /* NULL: nothing was asked */
        size_t next_span;                 /* the first that was not looked at for a message */
        uint32_t message;                 /* that is arriving; SR_SPAN_NONE */
        size_t text_span, at;             /* of it, as above */
        size_t pieces;                    /* strings of it that were begun */
    } ask;
};

/* Decides whether there is anything to do for requests of this dialect. */
void sr_prefetch_init(struct sr_prefetch *prefetch, const struct sr_signals *signals,
                      const struct sr_dialect_ops *dialect);
/* Also cancels prefetches without waiters. Twice is allowed. */
void sr_prefetch_dispose(struct sr_prefetch *prefetch);

/* After a chunk that is not the last: `doc` with the body so far, its spans, and what they say. Costs nothing
 * when there is nothing to do. */
void sr_prefetch_read(struct sr_prefetch *prefetch, struct sr_signals *signals, const struct sr_request *doc);

/* The same for neural classifiers: `types` are the signal types that the request will need as far as is known
 * (bits), of this tenant. With none that asks a neural classifier, what was begun is given up. */
void sr_prefetch_ask(struct sr_prefetch *prefetch, struct sr_signals *signals, uint32_t types,
                     struct sr_bytes tenant, const struct sr_request *doc);

/* The short text that was begun, from now on the caller's; NULL when there is none. */
struct sr_signal_brief *sr_prefetch_take(struct sr_prefetch *prefetch);

#endif

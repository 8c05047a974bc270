/*
 * Reads the body's texts while it arrives, for the prompt compressor and for neural classifiers: at the
 * end of the body only ranking and the last windows remain.
 *
 * Compressor: the last user turn is known only at the end of the body, so the newest turn is read once it
 * is long enough to be compressed, and reading restarts when the next turn begins. At most
 * SR_PREFETCH_STEP bytes of the body are read for each chunk, so that the event loop does not wait; the
 * rest is read at the end of the text. The result is compared with the text of the complete body before it
 * is used: it saves time and cannot change a result.
 *
 * Neural classifiers: every complete message is prefetched, and the complete windows of the current one,
 * if a signal will ask for them (signal/neural/prefetch.h). Results are found by text and by tokens. The
 * same limit holds for each chunk.
 */
#ifndef SR_ROUTER_REQUEST_PREFETCH_H
#define SR_ROUTER_REQUEST_PREFETCH_H

#include "router/request/request.h"
#include "signal/neural/prefetch.h"

#define SR_PREFETCH_STEP ((size_t)64 << 10) /* bytes: about a millisecond */
#define SR_PREFETCH_MIN  ((size_t)4 << 10)  /* bytes; shorter turns are faster to read at the end */
#define SR_PREFETCH_MAX                                                                                      \
    ((size_t)1 << 20) /* bytes; worker threads read longer turns: a compressor needs 12 times the memory */

#define SR_PREFETCH_TURN ((size_t)64 << 10) /* bytes of JSON: longer messages are classified at the end */
#define SR_PREFETCH_ASK  ((size_t)32 << 10) /* bytes of texts for neural classifiers for each chunk */

struct sr_prefetch {
    struct sr_signal_brief *brief; /* NULL: nothing was read */
    size_t least;                  /* turns of at most this many bytes are not read; 0: off */
    size_t next_span;              /* the first that was not looked at */
    uint32_t content;              /* content of the current message; SR_SPAN_NONE */
    bool is_user;                  /* its role is known to be user */
    uint32_t turn;                 /* the content or prompt that is being read; SR_SPAN_NONE */
    size_t text_span;              /* the turn's next or current string */
    size_t at;                     /* next byte of that string; 0: not begun */
    bool begun;                    /* a part of the turn was read */
    bool between;                  /* a separator precedes its next part */
    struct {
        struct sr_signal_prefetch *asked; /* NULL: nothing was prefetched */
        size_t next_span;                 /* first span not yet searched for a message */
        uint32_t message;                 /* the current message; SR_SPAN_NONE */
        size_t text_span, at;             /* as above, for this message */
        enum sr_signal_role role;         /* of the message, as far as it has arrived */
    } ask;
};

/* Initialises it; decides whether requests of this dialect are prefetched. */
void sr_prefetch_init(struct sr_prefetch *prefetch, const struct sr_signals *signals,
                      const struct sr_dialect_ops *dialect);
/* Disposes of it and cancels prefetches that no signal waits for. May be called twice. */
void sr_prefetch_dispose(struct sr_prefetch *prefetch);

/* Call it after each chunk but the last, with the body so far in `doc`, its spans and members. Costs
 * nothing when there is nothing to do. */
void sr_prefetch_read(struct sr_prefetch *prefetch, struct sr_signals *signals, const struct sr_request *doc);

/* The same for neural classifiers: `types` are the signal types (bits) that the request is known to need,
 * of this tenant. If none of them uses a neural classifier, pending work is cancelled. */
void sr_prefetch_ask(struct sr_prefetch *prefetch, struct sr_signals *signals, uint32_t types,
                     struct sr_bytes tenant, const struct sr_request *doc);

/* Moves the compressed text so far to the caller; NULL when there is none. */
struct sr_signal_brief *sr_prefetch_take(struct sr_prefetch *prefetch);

#endif

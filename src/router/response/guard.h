/*
 * The plugin `response_jailbreak`: reads what the model answers with the jailbreak signal's models, and
 * warns, blocks or only counts when it looks like the work of an attack.
 *
 * A whole JSON answer is held, its head too, until its texts were read. Of a stream the texts are read in
 * pieces as they pass, each with the end of what came before: with `block` an event reaches the client only
 * after what it says was read, with other actions only the end of the stream waits. What cannot be read
 * passes and is counted. Readings may end late; they never hold up a loop.
 */
#ifndef SR_ROUTER_RESPONSE_GUARD_H
#define SR_ROUTER_RESPONSE_GUARD_H

#include "router/response/text.h"
#include "semroute/semroute.h"
#include "json/sse_frames.h"

#define SR_RESPONSE_HELD_MAX ((size_t)16 << 20) /* a larger JSON answer passes unread */
#define SR_RESPONSE_WINDOW   ((size_t)1536)     /* bytes of a stream's text that are read together */

struct sr_response_guard {
    const struct sr_config_decision *decision; /* whose plugin it is; NULL: none, nothing is done */
    enum sr_response_action action;
    float threshold;
    bool whole;  /* the answer is a JSON document, not a stream */
    bool unread; /* it is none of both, or has no body here */
    struct sr_response_texts texts;
    struct sr_buf held; /* what the client does not have */
    size_t clean;       /* bytes of it that may go: what they say was read */
    size_t given;       /* of which the latest slices hold so many */
    uint64_t closed;    /* choices whose finish_reason may go, too: bits */
    bool any, last;     /* something came; nothing more will */
    bool passes;        /* room was out: everything goes as it comes */
    bool ended;         /* blocked */
    bool told;          /* the client was warned */
    struct {
        struct sr_signal_run *run; /* NULL: nothing is under way */
        struct sr_arena arena;
        size_t fresh; /* bytes that it is about */
        size_t held;  /* what was held when it began */
        uint64_t finished;
        uint64_t deadline_ns;
    } reading;
    uint64_t read; /* bytes of texts that were */
    int status;    /* of the latest reading that failed */
    bool found;
    float risk; /* the highest so far */
    const char *kind;
    struct sr_buf words; /* what is said in the stream itself */
};

/* Allocates nothing. */
void sr_response_guard_init(struct sr_response_guard *guard);

/* Cancels what is under way and frees. Before the exchange's bridge goes. */
void sr_response_guard_dispose(struct sr_response_guard *guard);

/* The answer's head is there, with a status of 2xx and its mode known: is there a plugin for it? */
void sr_response_guard_begin(sr_exchange *x);

static inline bool sr_response_guard_reads(const struct sr_response_guard *guard)
{
    return guard->decision && !guard->unread;
}

/* Does the plugin of this answer change its body, or may it? Then its length is not known before. */
bool sr_response_guard_changes(const struct sr_response_guard *guard);

/* A frame of the stream. */
void sr_response_guard_event(sr_exchange *x, const struct sr_sse_frame *frame);

/* The exchange's slices are what the other stages made of the latest bytes: takes them over, and puts in
 * their place what may go. */
enum sr_answer_step sr_response_guard_pass(sr_exchange *x, bool last, size_t *n_slices);

/* The reading under way has taken too long. */
void sr_response_guard_give_up(sr_exchange *x);

/* Share of the answer's text that was read, 0..1; negative without a plugin. */
double sr_response_guard_coverage(const struct sr_response_guard *guard);

#endif

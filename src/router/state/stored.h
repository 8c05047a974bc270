/*
 * A stored response: the answer, and all items that the model read before it, as a record of the store.
 *
 * A record is whole in itself: one lookup gives a conversation, however many turns it has, and a turn that
 * was removed takes no later one with it. Its key is made of the owner and the id, so the id of another owner
 * is unknown. Pure functions over bytes: what is read back is checked, because a file or a server may hold
 * anything.
 */
#ifndef SR_ROUTER_STATE_STORED_H
#define SR_ROUTER_STATE_STORED_H

#include "base/arena.h"
#include "base/buf.h"
#include "cache/record.h"

#define SR_STORED_ID_MAX 256 /* bytes of an id */

struct sr_stored {
    struct sr_bytes response; /* a JSON object with an `id` and an `output` */
    struct sr_bytes input;    /* a JSON array of items: all before the answer */
    struct sr_bytes output;   /* the JSON array in the response */
    int turns;                /* answers of the conversation, this one included */
};

/* The key of a response. SR_EINVAL: the id is empty or too long. SR_ENOMEM. */
int sr_stored_key(struct sr_bytes owner, struct sr_bytes id, struct sr_cache_key *out) SR_WARN_UNUSED;

struct sr_stored_owner {
    struct sr_bytes name, user; /* "": none */
    const char *model;          /* that answered */
    int64_t now_ms, ttl_ms;     /* 0: it never expires */
};

/* A record of the response. SR_EPARSE: it is no whole response; SR_ELIMIT: more than `max` bytes; SR_ENOMEM.
 */
int sr_stored_write(struct sr_cache_record **out, const struct sr_stored *stored,
                    const struct sr_stored_owner *owner, size_t max) SR_WARN_UNUSED;

/* A record in place of this one for an id that came twice: without its texts, it is read as none of ours
 * until it expires. SR_ENOMEM. */
int sr_stored_withdraw(struct sr_cache_record **out, const struct sr_cache_record *record) SR_WARN_UNUSED;

/* The views borrow from the record. SR_EPARSE: it is none of ours, or damaged. */
int sr_stored_read(struct sr_stored *out, const struct sr_cache_record *record) SR_WARN_UNUSED;

/* The decoded id of a response; `p` NULL: it has none, or out of memory. */
struct sr_bytes sr_stored_id(struct sr_bytes response, struct sr_arena *arena);

/* Appends the list of items that `input` is: an item in short form becomes one. `input` is the value of a
 * request's member: a string, an array, or empty. SR_EINVAL: something else. SR_ENOMEM, SR_ELIMIT. */
int sr_stored_items(struct sr_bytes input, struct sr_buf *out) SR_WARN_UNUSED;

/* Appends the input of the next turn: the stored items, the stored output, and `input` as above. */
int sr_stored_continue(const struct sr_stored *stored, struct sr_bytes input,
                       struct sr_buf *out) SR_WARN_UNUSED;

/* Appends the response with `previous_response_id` set to `id` (raw bytes, "" leaves it as it is). */
int sr_stored_name_previous(struct sr_bytes response, struct sr_bytes id, struct sr_buf *out) SR_WARN_UNUSED;

#endif

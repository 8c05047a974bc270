/*
 * Which model a conversation has, so that it can keep it: one place for each conversation, by a hash.
 *
 * A table of fixed size in memory, lost at a restart; of conversations that fall on the same set the one that
 * was idle longest gives way. Holds no text of anyone. Any thread; one short lock.
 */
#ifndef SR_SELECT_STATE_HOLDS_H
#define SR_SELECT_STATE_HOLDS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_HOLDS_MAX 65536 /* conversations */

struct sr_holds;

/* What is known of a conversation. */
struct sr_hold {
    uint64_t decision; /* hash of its name */
    uint64_t arm;      /* sr_arm_key of the candidate */
    uint32_t turns;    /* that this candidate has answered in a row */
    uint32_t switches; /* from one candidate of the decision to another */
    uint32_t failures; /* of this candidate in a row, at the end */
    uint64_t bytes;    /* of the latest request's body */
    int64_t ended_ms;  /* when the latest turn ended, of the caller's clock */
};

int sr_holds_new(struct sr_holds **out) SR_WARN_UNUSED;
void sr_holds_free(struct sr_holds *holds); /* NULL is allowed */

/* What is known of the conversation of this key. False: nothing. */
bool sr_holds_get(struct sr_holds *holds, uint64_t key, struct sr_hold *out);

/* A turn has ended. */
struct sr_hold_turn {
    uint64_t decision, arm, bytes;
    bool failed;
    int64_t ended_ms;
};
void sr_holds_note(struct sr_holds *holds, uint64_t key, const struct sr_hold_turn *turn);

#endif

/*
 * What a request is apart from the text that signals read: its messages by role, its tools and images, its
 * metadata, who sends it, and the user's earlier turns.
 *
 * The router fills it for configurations with a signal that reads it; an input keeps its own copy.
 */
#ifndef SR_SIGNAL_FACTS_H
#define SR_SIGNAL_FACTS_H

#include "base/bytes.h"
#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Earlier turns of the user that are kept, and bytes of each. */
#define SR_SIGNAL_TURNS_MAX  8u
#define SR_SIGNAL_TURN_BYTES ((size_t)32 << 10)

struct sr_signal_entry {
    struct sr_bytes key, value;
};

struct sr_signal_facts {
    /* Messages by role. */
    uint32_t users, assistants, systems, tools;
    bool developer; /* there is a message of the role `developer` */
    /* Tools: definitions, calls by the assistant, results of calls. */
    uint32_t definitions, calls, results;
    uint32_t images;      /* parts of messages */
    bool tools_required;  /* tool_choice */
    bool tools_forbidden; /* the same */
    bool tool_loop; /* the last message calls a tool or answers a call, or stands right after an answer */
    bool replied;   /* the assistant has answered before the last turn of the user */
    enum sr_workload workload; /* where a signal reads it */
    struct sr_bytes user;      /* of a trusted source; empty: unknown */
    const struct sr_bytes *groups;
    size_t n_groups;
    const struct sr_signal_entry *metadata;
    size_t n_metadata;
    const struct sr_bytes *turns; /* earlier turns of the user, the newest first, none empty */
    size_t n_turns;
};

struct sr_signal_input;

/* Copies `facts` into the input, with valid UTF-8. Call it before the input is shared. SR_ENOMEM. */
int sr_signal_input_add_facts(struct sr_signal_input *input, const struct sr_signal_facts *facts);

#endif

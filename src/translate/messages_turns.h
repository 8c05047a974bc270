/*
 * Conversations as Messages take them: which turns are one message, which say nothing, and
 * which reasoning is theirs.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_MESSAGES_TURNS_H
#define SR_TRANSLATE_MESSAGES_TURNS_H

#include "translate/model.h"

/* Instructions, which stand in `system`. */
bool sr_tr_messages_is_system(const struct sr_tr_turn *turn);

/* Does a turn stand in the message of the one before it (NULL: there is none)? Results and what the user says
 * after them are one message; so are turns of results that follow each other. */
bool sr_tr_messages_joins(const struct sr_tr_turn *before, const struct sr_tr_turn *turn);

/* Is a part of reasoning one that the API takes? Without a signature, or with what another API encrypted, it
 * would be refused. An item of Responses whose id is made from that of a message holds a signature of
 * Messages. */
bool sr_tr_messages_is_own(const struct sr_tr_part *reasoning);

/* Is a string empty, or white space alone? The API takes no such text, and no such stop sequence. */
bool sr_tr_messages_is_blank(sr_json_view string);

/* Has a turn nothing that becomes a block of a message? */
bool sr_tr_messages_is_silent(const struct sr_tr_turn *turn);

/* Does the user's newest message have calls after it that no reasoning of this API precedes? The API refuses
 * a budget of reasoning then. */
bool sr_tr_messages_calls_unreasoned(const struct sr_tr_request *request);

#endif

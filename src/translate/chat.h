/*
 * What messages of chat completions have in common in requests and answers: content, reasoning and calls.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_CHAT_H
#define SR_TRANSLATE_CHAT_H

#include "translate/model.h"

/* The members of a message of an assistant. */
struct sr_tr_chat_message {
    sr_json_view content, refusal, tool_calls, function_call, reasoning, details;
};

/* Adds the reasoning of a message: its details where they are, else its text. SR_ENOMEM. */
int sr_tr_chat_read_reasoning(struct sr_tr *tr, const struct sr_tr_chat_message *message,
                              struct sr_tr_parts *parts) SR_WARN_UNUSED;
/* Adds a content: a string or a list of parts. The last part has `cache`. SR_ENOMEM, SR_EPARSE. */
int sr_tr_chat_read_content(struct sr_tr *tr, sr_json_view content, sr_json_view cache,
                            struct sr_tr_parts *parts) SR_WARN_UNUSED;
/* Adds the refusal and the calls. SR_ENOMEM, SR_EPARSE. */
int sr_tr_chat_read_rest(struct sr_tr *tr, const struct sr_tr_chat_message *message, const char *where,
                         struct sr_tr_parts *parts) SR_WARN_UNUSED;

/* Writes the members `reasoning_content` and `reasoning_details` of a message that has reasoning. */
int sr_tr_chat_write_reasoning(struct sr_tr *tr, const struct sr_tr_part *parts,
                               struct sr_json_writer *w) SR_WARN_UNUSED;
/* Writes the member `tool_calls` of a message that has calls. */
int sr_tr_chat_write_calls(struct sr_tr *tr, const struct sr_tr_part *parts,
                           struct sr_json_writer *w) SR_WARN_UNUSED;
/* Writes one element of `reasoning_details`; `index` < 0: without the member. */
void sr_tr_chat_write_detail(const struct sr_tr_part *part, int index, struct sr_json_writer *w);

#endif

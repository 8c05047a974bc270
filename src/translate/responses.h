/*
 * What requests, answers and streams of Responses have in common.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_RESPONSES_H
#define SR_TRANSLATE_RESPONSES_H

#include "translate/model.h"

/* The text of an item of reasoning: its content where it has one, else its summary. p NULL: it has none.
 * SR_ENOMEM. */
int sr_tr_responses_read_reasoning(struct sr_tr *tr, sr_json_view summary, sr_json_view content,
                                   sr_json_view *text) SR_WARN_UNUSED;

/* Members that are not there stay as they are. */
void sr_tr_responses_read_usage(sr_json_view value, struct sr_tr_usage *usage);

/* Reads the members of a response but its output. */
void sr_tr_responses_read_head(sr_json_view root, struct sr_tr_answer *out);
/* What its status and its reason say. */
enum sr_tr_stop sr_tr_responses_stop(sr_json_view root, bool calls);

enum sr_tr_status { SR_TR_STATUS_IN_PROGRESS, SR_TR_STATUS_ENDED };

/* Writes the members of a response up to its output, and those after it. `echo` is the client's request, of
 * which some are repeated. Between them stands the member `output`. */
int sr_tr_responses_write_head(struct sr_tr *tr, const struct sr_tr_answer *answer, enum sr_tr_status status,
                               sr_json_view echo, struct sr_json_writer *w) SR_WARN_UNUSED;
void sr_tr_responses_write_tail(const struct sr_tr_answer *answer, enum sr_tr_status status,
                                struct sr_json_writer *w);

/* Writes one item of the output; `number` makes its id where it has none. `ended` false: as it is when it
 * begins, without content. Parts that are no item are left out. SR_ENOMEM. */
int sr_tr_responses_write_item(struct sr_tr *tr, const struct sr_tr_part *part, sr_json_view response,
                               uint32_t number, bool ended, struct sr_json_writer *w) SR_WARN_UNUSED;
/* The id of that item. */
sr_json_view sr_tr_responses_item_id(struct sr_tr *tr, const struct sr_tr_part *part, sr_json_view response,
                                     uint32_t number);

#endif

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

/* Members that are not there stay as they are; what others do not count is named. */
void sr_tr_responses_read_usage(struct sr_tr *tr, sr_json_view value, struct sr_tr_usage *usage);

/* The members of a response that are read. What repeats the request is nothing to read; others are named. */
struct sr_tr_responses_head {
    sr_json_view id, model, created_at, status, incomplete_details, service_tier, usage, output, error;
};

void sr_tr_responses_read_head(struct sr_tr *tr, sr_json_view root, struct sr_tr_responses_head *head);
/* Takes what an answer has of it but its stop reason and its usage. */
void sr_tr_responses_take_head(const struct sr_tr_responses_head *head, struct sr_tr_answer *out);
/* What its status and its reason say. */
enum sr_tr_stop sr_tr_responses_stop(struct sr_tr *tr, const struct sr_tr_responses_head *head);
/* Names the members of an item of the output that others do not say, or the item itself: false. */
bool sr_tr_responses_known_item(struct sr_tr *tr, sr_json_view item);
/* The same of a part of a message. */
bool sr_tr_responses_known_part(struct sr_tr *tr, sr_json_view part);

enum sr_tr_status { SR_TR_STATUS_IN_PROGRESS, SR_TR_STATUS_ENDED };

/* Writes the members of a response up to its output, and those after it. `echo` is the client's request, of
 * which some are repeated. Between them stands the member `output`. */
int sr_tr_responses_write_head(struct sr_tr *tr, const struct sr_tr_answer *answer, enum sr_tr_status status,
                               sr_json_view echo, struct sr_json_writer *w) SR_WARN_UNUSED;
void sr_tr_responses_write_tail(const struct sr_tr_answer *answer, enum sr_tr_status status,
                                struct sr_json_writer *w);

/* Was the answer cut before its end? */
bool sr_tr_responses_is_cut(enum sr_tr_stop stop);

enum sr_tr_item { SR_TR_ITEM_BEGINS, SR_TR_ITEM_ENDED, SR_TR_ITEM_CUT };

/* Writes one item of the output; `number` makes its id where it has none. SR_TR_ITEM_BEGINS: without content.
 * Parts that are no item are left out. SR_ENOMEM. */
int sr_tr_responses_write_item(struct sr_tr *tr, const struct sr_tr_part *part, sr_json_view response,
                               uint32_t number, enum sr_tr_item state,
                               struct sr_json_writer *w) SR_WARN_UNUSED;
/* Is it the id of an item of reasoning that was made from another API's? */
bool sr_tr_responses_made_id(struct sr_bytes id);
/* The id of that item. */
sr_json_view sr_tr_responses_item_id(struct sr_tr *tr, const struct sr_tr_part *part, sr_json_view response,
                                     uint32_t number);

#endif

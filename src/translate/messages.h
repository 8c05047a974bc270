/*
 * What requests, answers and streams of Messages have in common.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_MESSAGES_H
#define SR_TRANSLATE_MESSAGES_H

#include "translate/model.h"

/* Reads the content of an answer. SR_ENOMEM, SR_EPARSE. */
int sr_tr_messages_read_blocks(struct sr_tr *tr, sr_json_view content,
                               struct sr_tr_parts *parts) SR_WARN_UNUSED;

/* The effort that a budget of reasoning stands for, and the budget that an effort stands for. */
sr_json_view sr_tr_messages_effort(int64_t budget);
int64_t sr_tr_messages_budget(sr_json_view effort);

/* The words of stop reasons; NULL: none was said. */
const char *sr_tr_messages_stop(enum sr_tr_stop stop);
/* Names what the other APIs do not say, and words that are not known. */
enum sr_tr_stop sr_tr_messages_stop_of(struct sr_tr *tr, sr_json_view word);

/* Reads the usage and the tier in it, of which members that are not there stay as they are; what others do
 * not count is named. The tier lives as long as `value`. */
void sr_tr_messages_read_usage(struct sr_tr *tr, sr_json_view value, struct sr_tr_answer *answer);
void sr_tr_messages_write_usage(const struct sr_tr_answer *answer, struct sr_json_writer *w);

/* The version of a model of Anthropic's by its name, 406 for 4.6; 0: it is none, or has none. */
int sr_tr_messages_version(struct sr_bytes model);

#endif

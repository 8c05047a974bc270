/*
 * The words and counts that whole and streamed answers of chat completions share.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_CHAT_WORDS_H
#define SR_TRANSLATE_CHAT_WORDS_H

#include "translate/model.h"

/* The finish reason; never NULL. */
const char *sr_tr_chat_finish(enum sr_tr_stop stop);
/* The stop reason of a finish reason; one that is not known is named. `sequence` is vLLM's `stop_reason`, the
 * mark at which it stopped. */
enum sr_tr_stop sr_tr_chat_stop(struct sr_tr *tr, sr_json_view finish, sr_json_view sequence);

/* Members that are not there stay as they are; what others do not count is named. */
void sr_tr_chat_read_usage(struct sr_tr *tr, sr_json_view value, struct sr_tr_usage *usage);
void sr_tr_chat_write_usage(const struct sr_tr_usage *usage, struct sr_json_writer *w);

#endif

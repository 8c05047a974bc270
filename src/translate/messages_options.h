/*
 * What requests of Messages say beside the conversation.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_MESSAGES_OPTIONS_H
#define SR_TRANSLATE_MESSAGES_OPTIONS_H

#include "translate/model.h"

/* The limit of the answer, which the API wants of every request. */
int64_t sr_tr_messages_limit(const struct sr_tr *tr, const struct sr_tr_request *request);
/* Writes tools, sampling, reasoning that fits into the limit, formats and the user. */
void sr_tr_messages_write_options(struct sr_tr *tr, const struct sr_tr_request *request, int64_t limit,
                                  struct sr_json_writer *w);

#endif

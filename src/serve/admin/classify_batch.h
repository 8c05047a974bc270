/* Many texts in one call of classify.h. */
#ifndef SR_SERVE_ADMIN_CLASSIFY_BATCH_H
#define SR_SERVE_ADMIN_CLASSIFY_BATCH_H

#include "serve/admin/classify_text.h"

/* What is read of each text. */
enum sr_api_batch_task {
    SR_API_BATCH_INTENT,
    SR_API_BATCH_PII,
    SR_API_BATCH_SECURITY,
    SR_API_BATCH_ALL,
    SR_API_BATCH_NONE, /* there is no such task */
};

/* The task of a body: `task_type`, or intents. */
enum sr_api_batch_task sr_api_batch_task(const sr_doc_value *root);

/* Writes the answer to a body that sr_api_classify_check has passed. */
void sr_api_put_batch(struct sr_api_classify_call *call, const sr_doc_value *root);

#endif

/*
 * POST /api/v1/explain: the request goes through an exchange that no upstream sees, and its explanation is
 * the answer. Loop's thread only.
 */
#ifndef SR_SERVE_ADMIN_EXPLAIN_H
#define SR_SERVE_ADMIN_EXPLAIN_H

#include "serve/admin/call.h"

/* Before anything of a call is explained or stopped. */
void sr_api_explain_init(struct sr_api_call *call);

/* Answers the call, now or when its signals are there. */
void sr_api_explain(struct sr_api_call *call);

/* The call ends: it no longer waits, and its exchange ends. */
void sr_api_explain_end(struct sr_api_call *call, bool complete);

#endif

/*
 * Asks workers for the tokens of prompts: the server of the runtime's sr_tokens.
 *
 * One of the process's loops does it, over the gateway's client. A worker that answers an error, or not in
 * time, gives no tokens. Loop's thread only.
 */
#ifndef SR_SERVE_GATEWAY_TOKENIZE_H
#define SR_SERVE_GATEWAY_TOKENIZE_H

#include "net/client/client.h"
#include "semroute/semroute.h"
#include "serve/gateway/upstream_tls.h"

#define SR_TOKENIZE_MAX 128  /* questions in progress; more are not asked */
#define SR_TOKENIZE_MS  2000 /* the longest wait for an answer */

struct sr_tokenizer;

/* Serves from now on. All must outlive it. SR_ENOMEM. */
int sr_tokenizer_new(struct sr_tokenizer **out, struct sr_loop *loop, struct sr_client *client,
                     sr_runtime *runtime, struct sr_upstream_tls *tls) SR_WARN_UNUSED;

/* Cancels what is in progress. The loop does not run any more. NULL is allowed. */
void sr_tokenizer_free(struct sr_tokenizer *tokenizer);

#endif

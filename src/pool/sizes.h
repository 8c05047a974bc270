/*
 * What is learned of the sizes of a model's requests: bytes of a prompt for each of its tokens, and the
 * tokens of an answer, for each kind of request.
 *
 * Running means with their mean deviations (Jacobson 1988, as TCP's round trip times, RFC 6298), so that an
 * estimate is rarely too small: a request that is taken for smaller than it is goes to workers that must
 * refuse it. Counted: routers before and after a reload share those of a model. A few numbers for each model;
 * thread-safe.
 */
#ifndef SR_POOL_SIZES_H
#define SR_POOL_SIZES_H

#include "pool/pool.h"

#define SR_POOL_KINDS 8 /* most kinds of requests */

/* Before anything is learned. */
#define SR_POOL_TOKEN_BYTES   4   /* of JSON, for a token */
#define SR_POOL_ANSWER_TOKENS 512 /* of a request without a limit */

struct sr_pool_sizes;

/* The sizes of this model, which are made if there are none, with a reference. SR_ENOMEM. */
int sr_pool_sizes_get(struct sr_pool *pool, struct sr_pool_sizes **out, const char *model) SR_WARN_UNUSED;
void sr_pool_sizes_unref(struct sr_pool *pool, struct sr_pool_sizes *sizes); /* NULL is allowed */

/* The tokens that a prompt of so many bytes most likely has at most. `kind` is below SR_POOL_KINDS. */
uint64_t sr_pool_sizes_prompt(const struct sr_pool_sizes *sizes, unsigned kind, uint64_t bytes);
/* The tokens that an answer most likely has at most, where the request sets no limit. */
uint64_t sr_pool_sizes_answer(const struct sr_pool_sizes *sizes, unsigned kind);

/* A request of this kind is over, with these counts of its upstream; 0: not known, or nothing to learn from.
 */
void sr_pool_sizes_learn(struct sr_pool_sizes *sizes, unsigned kind, uint64_t prompt_bytes,
                         uint64_t prompt_tokens, uint64_t answer_tokens);

#endif

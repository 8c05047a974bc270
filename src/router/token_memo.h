/*
 * Which token blocks a prompt has, remembered by its prefixes.
 *
 * A prompt that was tokenized is found again by the hashes of its blocks of bytes (pick/ask.h), each of which
 * covers all before it: a conversation that has grown begins with the prompt of its last turn. Where only a
 * part of a remembered prompt is shared, the token blocks are shared in the same proportion. Fixed memory:
 * the oldest prompts are forgotten. Any thread.
 */
#ifndef SR_ROUTER_TOKEN_MEMO_H
#define SR_ROUTER_TOKEN_MEMO_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SR_TOKEN_MEMO_PROMPTS 2048
#define SR_TOKEN_MEMO_SLOTS   262144             /* prefixes */
#define SR_TOKEN_MEMO_BYTES   ((size_t)16 << 20) /* of token blocks */

struct sr_token_memo;

/* SR_ENOMEM. */
int sr_token_memo_new(struct sr_token_memo **out) SR_WARN_UNUSED;
void sr_token_memo_free(struct sr_token_memo *memo); /* NULL is allowed */

/* A prompt: `blocks` [n] are its blocks of bytes, `kv` [n_kv] those of tokens. `kind` tells apart what has
 * different tokens for the same bytes: models, and sizes of token blocks. Left out when it is too large, or
 * out of memory. */
void sr_token_memo_put(struct sr_token_memo *memo, uint64_t kind, const uint64_t *blocks, size_t n,
                       const uint64_t *kv, size_t n_kv);

/* The token blocks of the longest known prefix, copied into the arena. Returns how many of the `n` blocks of
 * bytes it has; 0: none is known, and `*kv` is NULL. */
size_t sr_token_memo_get(struct sr_token_memo *memo, uint64_t kind, const uint64_t *blocks, size_t n,
                         struct sr_arena *arena, uint64_t **kv, size_t *n_kv);

#endif

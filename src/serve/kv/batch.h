/*
 * Reads one batch of KV events as engines publish it, and gives them on in small pieces.
 *
 * vLLM's format (vllm/distributed/kv_events.py): msgpack of [time, [event...], rank], an event an array that
 * begins with its name, or a map with the name as `type`, as Dynamo's workers write it. Hashes of blocks are
 * numbers or bytes. Knows no sockets and no workers.
 *
 * Blocks of an adapter (LoRA) are told apart by its name, and those of a salted prompt by the extra key of
 * its first block. Left out, as tokens alone do not say what is in them or as a request does not find them on
 * the GPU: blocks of an adapter without a name, blocks with other extra keys (images), blocks on other media
 * than the GPU, and groups of layers but the first.
 */
#ifndef SR_SERVE_KV_BATCH_H
#define SR_SERVE_KV_BATCH_H

#include "base/bytes.h"
#include "base/err.h"
#include "pool/policy.h"

#define SR_KV_PIECE_BLOCKS 64   /* of one piece: the policy's lock is held for one */
#define SR_KV_PIECE_TOKENS 4096 /* also the most tokens of a block */

/* What became of a batch's events. */
struct sr_kv_read {
    uint64_t events;   /* that were given on */
    uint64_t left_out; /* that were understood and left out, also in part */
};

/* Calls `fn` for each piece, in order; its arrays live for the call. SR_EPARSE: the batch is no such batch,
 * and what was given on before it was found is not to be relied on. */
int sr_kv_batch_read(struct sr_bytes payload, void (*fn)(void *ctx, const struct sr_pool_kv_event *event),
                     void *ctx, struct sr_kv_read *read) SR_WARN_UNUSED;

#endif

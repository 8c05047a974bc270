/* Batches of KV events: any bytes are read or refused, what is given on is whole, and the reader of msgpack
 * ends where its message ends. */
#include "net/msgpack/msgpack.h"
#include "serve/kv/batch.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *ctx, const struct sr_pool_kv_event *event)
{
    uint64_t *sum = ctx;
    if (event->n > SR_KV_PIECE_BLOCKS || event->n * event->block_size > SR_KV_PIECE_TOKENS)
        abort();
    for (size_t i = 0; i < event->n; i++)
        *sum += event->hashes[i];
    for (size_t i = 0; event->kind == SR_POOL_KV_STORED && i < event->n * event->block_size; i++)
        *sum += event->tokens[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_bytes payload = sr_bytes_of((const char *)data, size);
    struct sr_kv_read read;
    uint64_t sums[2] = {0, 0};
    int rc = sr_kv_batch_read(payload, check, &sums[0], &read);
    if (rc != sr_kv_batch_read(payload, check, &sums[1], &read) || sums[0] != sums[1])
        abort();
    struct sr_msgpack in = sr_msgpack_of(payload);
    struct sr_msgpack_item item;
    for (size_t i = 0; in.p < in.end && !sr_msgpack_next(&in, &item); i++)
        if (i > size || in.p > in.end)
            abort();
    in = sr_msgpack_of(payload);
    if (!sr_msgpack_skip(&in) && (in.p > in.end || in.p == payload.p))
        abort();
    return 0;
}

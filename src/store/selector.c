/*
 * Four keys, a time, and the name of a model: the rest of the bytes.
 */
#include "store/selector.h"

#include <string.h>

#define SELECTOR_KEYS 4

static void put_number(uint8_t *p, uint64_t v)
{
    for (size_t i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_number(const uint8_t *p)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

int sr_selector_write(struct sr_buf *out, const struct sr_cache_selector *which)
{
    const struct sr_cache_key *keys[SELECTOR_KEYS] = {&which->tenant, &which->user, &which->partition,
                                                      &which->exact};
    uint8_t before[8];
    int rc = SR_OK;
    put_number(before, (uint64_t)which->created_before_ms);
    for (size_t i = 0; i < SELECTOR_KEYS && rc == SR_OK; i++)
        rc = sr_buf_append(out, keys[i], SR_CACHE_KEY);
    if (rc == SR_OK)
        rc = sr_buf_append(out, before, sizeof before);
    return rc == SR_OK && which->model.n ? sr_buf_append_bytes(out, which->model) : rc;
}

bool sr_selector_read(struct sr_cache_selector *out, struct sr_bytes bytes)
{
    size_t head = SELECTOR_KEYS * (size_t)SR_CACHE_KEY + 8;
    struct sr_cache_key *keys[SELECTOR_KEYS] = {&out->tenant, &out->user, &out->partition, &out->exact};
    *out = (struct sr_cache_selector){0};
    if (bytes.n < head || bytes.n > head + SR_SELECTOR_MODEL_MAX)
        return false;
    for (size_t i = 0; i < SELECTOR_KEYS; i++)
        memcpy(keys[i], bytes.p + i * SR_CACHE_KEY, SR_CACHE_KEY);
    out->created_before_ms = (int64_t)get_number((const uint8_t *)bytes.p + SELECTOR_KEYS * SR_CACHE_KEY);
    out->model = sr_bytes_of(bytes.p + head, bytes.n - head);
    return true;
}

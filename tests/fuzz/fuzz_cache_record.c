/*
 * Any bytes as a record of the cache: what decodes is encoded to the same bytes again, and a cache takes it
 * or refuses it. Most inputs fail at the checksum, so the target repairs it first: the first byte says
 * whether.
 */
#include "base/hash.h"
#include "cache/cache.h"

#include <stdlib.h>

#define AT_FORM     4
#define AT_CHECKSUM 8
#define AT_COVERED  16

static void repair(uint8_t *bytes, size_t n)
{
    if (n <= AT_COVERED)
        return;
    uint64_t form = 0;
    for (int i = 0; i < 4; i++)
        form |= (uint64_t)bytes[AT_FORM + i] << (8 * i);
    uint64_t sum = sr_hash64(sr_bytes_of(bytes + AT_COVERED, n - AT_COVERED), form);
    for (int i = 0; i < 8; i++)
        bytes[AT_CHECKSUM + i] = (uint8_t)(sum >> (8 * i));
}

static void use(struct sr_cache *cache, struct sr_cache_record *record)
{
    struct sr_cache_query query = {.exact = record->f.exact, .partition = record->f.partition};
    struct sr_cache_selector selector = {.exact = record->f.exact};
    struct sr_cache_lookup *lookup;
    int rc = sr_cache_put(cache, record);
    if (rc)
        return;
    if (sr_cache_lookup(cache, &query, NULL, NULL, NULL, &lookup) != SR_OK)
        abort();
    if (lookup->record && lookup->record != record)
        abort();
    sr_task_unref(&lookup->task);
    sr_cache_remove(cache, &selector, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct sr_cache *cache;
    struct sr_cache_limits limits = {.max_entries = 10, .max_bytes = 1 << 20, .dimensions = 4};
    struct sr_cache_record *record;
    if (!size || size > 1 << 16)
        return 0;
    if (!cache && sr_cache_new(&cache, &limits))
        abort();
    size_t n = size - 1;
    uint8_t *in = malloc(n + 1), *out;
    memcpy(in, bytes + 1, n);
    if (bytes[0] & 1)
        repair(in, n);
    int rc = sr_cache_record_read(&record, sr_bytes_of(in, n));
    if (rc == SR_OK) {
        out = malloc(n);
        if (sr_cache_record_size(record) != n)
            abort();
        sr_cache_record_write(record, out);
        if (memcmp(in, out, n) != 0)
            abort();
        use(cache, record);
        sr_cache_record_unref(record);
        free(out);
    } else if (record) {
        abort();
    }
    free(in);
    return 0;
}

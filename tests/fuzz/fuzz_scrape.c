/* Metrics of a worker: any bytes in any slices are read, and what is said is what the slices say together. */
#include "serve/gateway/scrape_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_scrape_text whole, parts;
    struct sr_pool_reported a, b;
    sr_scrape_text_init(&whole);
    sr_scrape_text_init(&parts);
    sr_scrape_text_feed(&whole, sr_bytes_of((const char *)data, size));
    for (size_t at = 0, n; at < size; at += n) {
        n = 1 + data[at] % 7u;
        n = n < size - at ? n : size - at;
        sr_scrape_text_feed(&parts, sr_bytes_of((const char *)data + at, n));
    }
    bool good = sr_scrape_text_finish(&whole, &a);
    if (good != sr_scrape_text_finish(&parts, &b) || a.running != b.running || a.waiting != b.waiting ||
        a.asked != b.asked || a.hits != b.hits || a.kv_usage > 1)
        abort();
    return 0;
}

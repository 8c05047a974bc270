/* A worker's answer to POST /tokenize: any bytes in any slices are read, and give what the slices give
 * together. */
#include "serve/gateway/tokenize_text.h"

#include <stdlib.h>
#include <string.h>

#define MOST 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_tokenize_text whole, parts;
    sr_tokenize_text_init(&whole, MOST);
    sr_tokenize_text_init(&parts, MOST);
    sr_tokenize_text_feed(&whole, sr_bytes_of((const char *)data, size));
    for (size_t at = 0, n; at < size; at += n) {
        n = 1 + data[at] % 7u;
        n = n < size - at ? n : size - at;
        sr_tokenize_text_feed(&parts, sr_bytes_of((const char *)data + at, n));
    }
    if (sr_tokenize_text_finish(&whole) != sr_tokenize_text_finish(&parts) || whole.n != parts.n ||
        whole.n > MOST || (whole.n && memcmp(whole.ids, parts.ids, whole.n * sizeof *whole.ids) != 0))
        abort();
    sr_tokenize_text_dispose(&whole);
    sr_tokenize_text_dispose(&parts);
    return 0;
}

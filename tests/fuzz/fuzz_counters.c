/* What a Redis answers to the script of limits: any bytes are a refusal or a result that makes sense. */
#include "store/redis/counters.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_resp_reader *reader;
    struct sr_resp *reply;
    size_t n = size ? data[0] % 4 + 1 : 1;
    struct sr_limit limits[4] = {
        {.max = 10, .cost = 1}, {.max = 1000, .cost = 100}, {.max = 1}, {.max = 5, .cost = 9}};
    if (sr_resp_reader_new(&reader, 1 << 16))
        return 0;
    if (size > 1 && sr_resp_feed(reader, (const char *)data + 1, size - 1) == SR_OK) {
        while (sr_resp_next(reader, &reply) == SR_OK) {
            struct sr_limit_result result;
            if (sr_redis_counters_read(reply, limits, n, &result) == SR_OK &&
                (result.which >= n || result.remaining < 0))
                abort();
            sr_resp_free(reply);
        }
    }
    sr_resp_reader_free(reader);
    return 0;
}

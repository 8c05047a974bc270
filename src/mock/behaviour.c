/* Reads x-mock-* headers; malformed values change nothing. */
#include "mock/behaviour.h"

static bool number_of(const struct sr_http_head *head, struct sr_bytes name, uint64_t *out)
{
    unsigned long long n = 0;
    struct sr_bytes value = sr_http_head_value(head, name);
    if (!value.p || !sr_bytes_to_u64(value, &n))
        return false;
    *out = n;
    return true;
}

void sr_mock_behaviour_read(struct sr_mock_behaviour *out, const struct sr_http_head *head)
{
    const struct {
        struct sr_bytes name;
        uint64_t *value;
    } numbers[] = {
        {SR_LIT("x-mock-status"), &out->status},
        {SR_LIT("x-mock-delay-ms"), &out->delay_ms},
        {SR_LIT("x-mock-chunks"), &out->chunks},
        {SR_LIT("x-mock-chunk-delay-ms"), &out->chunk_delay_ms},
        {SR_LIT("x-mock-body-bytes"), &out->body_bytes},
        {SR_LIT("x-mock-slow-read"), &out->slow_read_ms},
        {SR_LIT("x-mock-tools"), &out->calls},
        {SR_LIT("x-mock-cached"), &out->cached},
        {SR_LIT("x-mock-reasoning"), &out->reasons},
        {SR_LIT("x-mock-fail-after"), &out->fail_after},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)number_of(head, numbers[i].name, numbers[i].value);
    if (out->calls > SR_MOCK_CALLS_MAX)
        out->calls = SR_MOCK_CALLS_MAX;
    if (sr_bytes_eq(sr_http_head_value(head, SR_LIT("x-mock-close")), SR_LIT("head")))
        out->close_before_head = true;
    if (number_of(head, SR_LIT("x-mock-close"), &out->close_after))
        out->close_inside = true;
}

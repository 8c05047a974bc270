/* Any two texts, cut at a NUL: the answer is one of the reasons, the order of the two does not decide whether
 * they agree, equal texts agree, and nothing is read outside of them. */
#include "cache/gate/gate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy_of(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1); /* exact, so that a read past its end is a report */
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
    size_t n = cut ? (size_t)(cut - data) : size / 2, from = cut ? n + 1 : n;
    char *a = copy_of(data, n), *b = copy_of(data + from, size - from);
    struct sr_bytes one = sr_bytes_of(a, n), two = sr_bytes_of(b, size - from);
    unsigned forth = sr_gate_check(one, two), back = sr_gate_check(two, one);
    if (forth >= SR_GATE_REASONS || back >= SR_GATE_REASONS ||
        (forth == SR_GATE_AGREES) != (back == SR_GATE_AGREES))
        abort();
    if (sr_gate_check(one, one) != SR_GATE_AGREES)
        abort();
    free(a);
    free(b);
    return 0;
}

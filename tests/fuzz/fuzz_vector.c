/*
 * Bytes that claim to be a packed vector: what unpacks has length 1 and can be searched; nothing else is
 * taken. First byte: the dimension.
 */
#include "cache/index/vectors.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    const size_t dimension = bytes[0];
    const struct sr_bytes packed = sr_bytes_of(bytes + 1, size - 1);
    float unit[256];
    double length2 = 0;
    const int rc = sr_vector_unpack(packed, dimension, unit);
    if (rc != sr_vector_check(packed, dimension) || (rc && rc != SR_EPARSE))
        abort();
    struct sr_vectors *vectors;
    if (dimension == 0 || sr_vectors_new(&vectors, dimension))
        return 0;
    if (sr_vectors_add_packed(vectors, 1, packed) != rc || sr_vectors_count(vectors) != (rc ? 0 : 1))
        abort();
    if (rc == SR_OK) {
        struct sr_vector_hit hit;
        for (size_t i = 0; i < dimension; i++)
            length2 += (double)unit[i] * (double)unit[i];
        if (!(fabs(length2 - 1) < 0.021) || sr_vectors_search(vectors, unit, 1, &hit) != 1 ||
            !(fabs((double)hit.similarity - length2) < 0.001))
            abort();
    }
    sr_vectors_free(vectors);
    return 0;
}

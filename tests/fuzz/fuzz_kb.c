/* Random manifests of knowledge bases: what is read has labels in order, each with texts that are not empty.
 */
#include "signal/topic/kb_file.h"

#include <stdint.h>
#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_kb_labels labels = {0};
    struct sr_arena arena;
    struct sr_err err = {0};
    sr_arena_init(&arena, (size_t)16 << 20);
    int rc = sr_kb_parse(&labels, sr_bytes_of((const char *)bytes, size), &arena, &err);
    CHECK(rc == SR_OK ? labels.n > 0 : err.message[0] != 0);
    for (size_t i = 0; rc == SR_OK && i < labels.n; i++) {
        CHECK(labels.items[i].texts.count > 0);
        CHECK(i == 0 || strcmp(labels.items[i - 1].name, labels.items[i].name) <= 0);
        for (size_t k = 0; k < labels.items[i].texts.count; k++)
            CHECK(labels.items[i].texts.items[k][0]);
    }
    sr_arena_dispose(&arena);
    return 0;
}

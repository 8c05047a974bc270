/* A model's answer which preference a text has: any bytes give a rule that there is, none, or an error. */
#include "signal/topic/preference_model.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct sr_config_preference rules[] = {{.name = "code"}, {.name = "verse"}};
    struct sr_arena arena;
    int rule = 7;
    sr_arena_init(&arena, (size_t)16 << 20);
    int rc = sr_preference_answer(sr_bytes_of((const char *)bytes, size), rules, 2, &arena, &rule);
    if (rc != SR_OK && rc != SR_EPARSE)
        abort();
    if (rc == SR_OK && (rule < SR_PREFERENCE_NONE || rule > 1))
        abort();
    sr_arena_dispose(&arena);
    return 0;
}

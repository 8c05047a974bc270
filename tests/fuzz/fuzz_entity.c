/* Any bytes: entities lie in order inside of the text, do not overlap, and a copy of the text gives the same.
 */
#include "text/entity/entity.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const uint8_t *data, size_t size, struct sr_entities *list)
{
    /* An exact copy, so that a read past its end is a report. */
    char *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    sr_entities_init(list, 4096);
    int rc = sr_entities_recognise(list, sr_bytes_of(copy, size));
    if (rc && rc != SR_ELIMIT)
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_entities a, b;
    find(data, size, &a);
    find(data, size, &b);
    if (a.n != b.n)
        abort();
    for (size_t i = 0; i < a.n; i++) {
        const struct sr_entity *e = &a.items[i];
        if (e->start >= e->end || e->end > size || e->type >= SR_ENTITY_TYPES || !(e->confidence > 0) ||
            e->confidence > 1 || (i && a.items[i - 1].end > e->start) || e->start != b.items[i].start)
            abort();
    }
    sr_entities_dispose(&a);
    sr_entities_dispose(&b);
    return 0;
}

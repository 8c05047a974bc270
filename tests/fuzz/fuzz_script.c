/* Any bytes: stretches lie in order inside of the text and begin and end with a letter of another script; a
 * text without such a letter has none. */
#include "text/script.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_script_stretch found[SR_SCRIPT_STRETCHES_MAX];
    char *copy = malloc(size ? size : 1); /* exact, so that a read past its end is a report */
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    struct sr_bytes text = sr_bytes_of(copy, size);
    bool foreign = sr_script_is_foreign(text), ascii = true;
    for (size_t i = 0; i < size; i++)
        ascii &= data[i] < 0x80;
    size_t n = sr_script_stretches(text, found);
    if (n > SR_SCRIPT_STRETCHES_MAX || (ascii && (n || foreign)))
        abort();
    for (size_t i = 0; i < n; i++)
        if (found[i].start >= found[i].end || found[i].end > size || data[found[i].start] < 0x80 ||
            (i && found[i].start <= found[i - 1].end))
            abort();
    free(copy);
    return 0;
}

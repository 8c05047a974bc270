/* Accept headers of scrapers: any bytes give one of the two formats, and no element matters behind a NUL of
 * the end: what is read of them does not depend on what follows in memory. */
#include "observe/exposition.h"

#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

#define TEXT ",text/plain;q=1"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char longer[1 << 12];
    struct sr_bytes in = sr_bytes_of(bytes, size);
    if (size > sizeof longer - sizeof TEXT)
        return 0;
    enum sr_exposition form = sr_exposition_of(in);
    CHECK(form == SR_EXPOSITION_TEXT || form == SR_EXPOSITION_OPENMETRICS);
    CHECK(form == SR_EXPOSITION_TEXT || size >= strlen("application/openmetrics-text"));
    if (size)
        memcpy(longer, bytes, size);
    memcpy(longer + size, TEXT, sizeof TEXT);
    CHECK(sr_exposition_of(sr_bytes_of(longer, size)) == form);
    return 0;
}

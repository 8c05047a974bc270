/* Any bytes, and tokens at every place of them: a case that there is, none where no character of a word
 * begins, and one word is never said to go on behind nothing. */
#include "infer/classifier/word.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t starts[TEXT_MAX], ends[TEXT_MAX];
    static uint8_t cases[TEXT_MAX];
    size = size < TEXT_MAX ? size : TEXT_MAX;
    char *copy = malloc(size ? size : 1); /* exact, so that a read past its end is a report */
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    struct sr_bytes text = sr_bytes_of(copy, size);
    for (size_t i = 0; i < size; i++) {
        starts[i] = (uint32_t)i;
        ends[i] = (uint32_t)(i + 1 + data[i] % 4 < size ? i + 1 + data[i] % 4 : size);
    }
    sr_word_cases(text, starts, ends, size, cases);
    for (size_t i = 0; i < size; i++)
        if (cases[i] >= SR_WORD_CASES || (data[i] == ' ' && cases[i] != SR_WORD_PLAIN))
            abort();
    struct sr_bytes half = sr_bytes_of(copy, size / 2), rest = sr_bytes_of(copy + size / 2, size - size / 2);
    bool spaced = sr_word_continues(half, rest, true), pieces = sr_word_continues(half, rest, false);
    if ((pieces && !spaced) || (spaced && !pieces && half.n == 0))
        abort();
    free(copy);
    return 0;
}

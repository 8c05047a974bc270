/* Any bytes, and any bytes in base64: text is never taken for sealed bytes; the alphabet, escaped slashes and
 * missing padding change no answer. */
#include "base/base64.h"
#include "router/request/sealed.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The most bytes of ASCII text in a row. */
static size_t longest_text(const uint8_t *data, size_t size)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < size; i++) {
        bool text =
            (data[i] >= ' ' && data[i] < 0x7F) || data[i] == '\t' || data[i] == '\n' || data[i] == '\r';
        run = text ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* The same from memory of that size alone, so that a read past its end is a report. */
static bool is_sealed(const char *p, size_t n, bool escaped)
{
    char *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    if (n)
        memcpy(copy, p, n);
    bool sealed = sr_sealed_is(sr_bytes_of(copy, n), escaped);
    free(copy);
    return sealed;
}

/* Writes the digits with each of the other alphabet's, or with a backslash before each `/`. */
static size_t rewrite(const char *digits, size_t n, bool escape, char *out)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        bool slash = digits[i] == '/';
        if (escape && slash)
            out[to++] = '\\';
        out[to++] = escape ? digits[i] : digits[i] == '+' ? '-' : slash ? '_' : digits[i];
    }
    return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = SR_BASE64_SIZE(size), digits = n;
    char *text = malloc(n + 1), *other = malloc(2 * n + 1);
    if (!text || !other)
        abort();
    const char *raw = (const char *)data;
    bool blank = size && memchr(data, ' ', size);
    if (blank && (is_sealed(raw, size, false) || is_sealed(raw, size, true)))
        abort();
    sr_base64_write(data, size, text);
    bool sealed = is_sealed(text, n, false);
    if (sealed && longest_text(data, size) >= SR_SEALED_RUN)
        abort();
    while (digits && text[digits - 1] == '=')
        digits--;
    if (is_sealed(text, digits, false) != sealed)
        abort();
    if (is_sealed(other, rewrite(text, n, false, other), false) != sealed ||
        is_sealed(other, rewrite(text, n, true, other), true) != sealed)
        abort();
    free(text);
    free(other);
    return 0;
}

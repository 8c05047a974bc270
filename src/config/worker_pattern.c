/* Words in braces are replaced; everything else is copied. */
#include "config/worker_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 5

/* `port`, `port+8`, `port-8`. */
static bool port_of(struct sr_bytes word, int port, int *out)
{
    size_t name = strlen("port");
    *out = port;
    if (word.n < name || memcmp(word.p, "port", name) != 0)
        return false;
    if (word.n == name)
        return true;
    int sign = word.p[name] == '+' ? 1 : word.p[name] == '-' ? -1 : 0, offset = 0;
    if (!sign || word.n == name + 1 || word.n > name + 1 + DIGITS_MAX)
        return false;
    for (size_t i = name + 1; i < word.n; i++) {
        if (word.p[i] < '0' || word.p[i] > '9')
            return false;
        offset = offset * 10 + (word.p[i] - '0');
    }
    *out = port + sign * offset;
    return *out >= 1 && *out <= 65535;
}

/* Returns the bytes that it takes, as snprintf; negative: the word means nothing. */
static int write_word(char *out, size_t size, struct sr_bytes word, struct sr_bytes host, int port)
{
    int number;
    bool v6 = memchr(host.p, ':', host.n) != NULL;
    if (sr_bytes_eq(word, SR_LIT("host")))
        return snprintf(out, size, v6 ? "[%.*s]" : "%.*s", (int)host.n, host.p);
    return port_of(word, port, &number) ? snprintf(out, size, "%d", number) : -1;
}

bool sr_worker_pattern(char out[SR_WORKER_PATTERN_MAX], const char *pattern, struct sr_bytes host, int port)
{
    size_t n = 0;
    while (*pattern) {
        const char *end = *pattern == '{' ? strchr(pattern, '}') : NULL;
        int wrote = 1;
        if (*pattern == '{' && !end)
            return false;
        if (end)
            wrote = write_word(out + n, SR_WORKER_PATTERN_MAX - n,
                               sr_bytes_of(pattern + 1, (size_t)(end - pattern - 1)), host, port);
        else
            out[n] = *pattern;
        if (wrote < 0 || n + (size_t)wrote >= SR_WORKER_PATTERN_MAX)
            return false;
        n += (size_t)wrote;
        pattern = end ? end + 1 : pattern + 1;
    }
    out[n] = '\0';
    return true;
}

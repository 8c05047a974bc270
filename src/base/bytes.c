/* Comparisons and small parsers over borrowed byte runs. Allocates nothing. */
#include "base/bytes.h"

bool sr_bytes_eq_nocase(struct sr_bytes a, struct sr_bytes b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (sr_ascii_lower(a.p[i]) != sr_ascii_lower(b.p[i]))
            return false;
    return true;
}

int sr_bytes_cmp(struct sr_bytes a, struct sr_bytes b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    if (order)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

bool sr_bytes_starts_with(struct sr_bytes s, struct sr_bytes prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool sr_bytes_contains(struct sr_bytes haystack, struct sr_bytes needle)
{
    if (needle.n == 0)
        return true;
    return haystack.n >= needle.n && memmem(haystack.p, haystack.n, needle.p, needle.n) != NULL;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct sr_bytes sr_bytes_trim(struct sr_bytes s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool sr_bytes_to_u64(struct sr_bytes s, unsigned long long *out)
{
    if (s.n == 0 || s.n > 19)
        return false;
    unsigned long long value = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        value = value * 10 + (unsigned long long)(s.p[i] - '0');
    }
    *out = value;
    return true;
}

size_t sr_bytes_edit_distance(struct sr_bytes a, struct sr_bytes b)
{
    size_t row[65];
    size_t na = a.n < 64 ? a.n : 64, nb = b.n < 64 ? b.n : 64;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t substituted = diagonal + (a.p[i - 1] != b.p[j - 1]);
            size_t shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = substituted < shorter + 1 ? substituted : shorter + 1;
        }
    }
    return row[nb];
}

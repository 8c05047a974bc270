/*
 * A borrowed run of bytes: pointer and length, no terminator, no ownership. All layers pass text in this
 * form; the function that returns one documents its lifetime.
 */
#ifndef SR_BASE_BYTES_H
#define SR_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifndef SR_BYTES_DEFINED /* semroute/semroute.h includes nothing and also defines it */
#define SR_BYTES_DEFINED
struct sr_bytes {
    const char *p;
    size_t n;
};
#endif

#define SR_LIT(literal) ((struct sr_bytes){("" literal), sizeof(literal) - 1})

static inline struct sr_bytes sr_bytes_of(const void *p, size_t n)
{
    return (struct sr_bytes){(const char *)p, n};
}

/* Borrows a C string; NULL gives an empty run. */
static inline struct sr_bytes sr_bytes_str(const char *s)
{
    return (struct sr_bytes){s ? s : "", s ? strlen(s) : 0};
}

static inline bool sr_bytes_eq(struct sr_bytes a, struct sr_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline char sr_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* ASCII case-insensitive equality, for header names and enum words. */
bool sr_bytes_eq_nocase(struct sr_bytes a, struct sr_bytes b);

/* memcmp order, the shorter first on a common prefix: <0, 0, >0. */
int sr_bytes_cmp(struct sr_bytes a, struct sr_bytes b);

bool sr_bytes_starts_with(struct sr_bytes s, struct sr_bytes prefix);
bool sr_bytes_contains(struct sr_bytes haystack, struct sr_bytes needle);

/* Without leading and trailing ASCII white space. */
struct sr_bytes sr_bytes_trim(struct sr_bytes s);

/* Parses a decimal number of at most 19 digits and nothing else; false for anything else. */
bool sr_bytes_to_u64(struct sr_bytes s, unsigned long long *out);

/* Edit distance between two short words (each cut at 64 bytes), for "did you mean" hints. */
size_t sr_bytes_edit_distance(struct sr_bytes a, struct sr_bytes b);

#endif

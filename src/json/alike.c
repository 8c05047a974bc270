/* Compares keys as the most lenient parsers do. Most unknown keys are ASCII and of another length than every
 * name: they cost a comparison of numbers for each name. */
#include "json/alike.h"

#include "base/unicode.h"

static bool same(struct sr_bytes name, const char *key, size_t n)
{
    if (name.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (sr_ascii_lower(name.p[i]) != sr_ascii_lower(key[i]))
            return false;
    return true;
}

/* Code points that NFKC_Casefold removes and that no name has: soft hyphen, joiners, marks of direction,
 * variation selectors, tags. */
static bool is_ignored(int32_t cp)
{
    return cp == 0xAD || cp == 0x34F || cp == 0x61C || (cp >= 0x17B4 && cp <= 0x17B5) ||
           (cp >= 0x180B && cp <= 0x180F) || (cp >= 0x200B && cp <= 0x200F) ||
           (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2060 && cp <= 0x206F) || cp == 0x115F || cp == 0x1160 ||
           cp == 0x3164 || (cp >= 0xFE00 && cp <= 0xFE0F) || cp == 0xFEFF || cp == 0xFFA0 ||
           (cp >= 0xFFF0 && cp <= 0xFFF8) || (cp >= 0x1BCA0 && cp <= 0x1BCA3) ||
           (cp >= 0x1D173 && cp <= 0x1D17A) || (cp >= 0xE0000 && cp <= 0xE0FFF);
}

/* Writes the folded key, as far as it is ASCII; returns its bytes, SIZE_MAX when it is not. */
static size_t fold(const char *key, size_t n, char out[SR_PATH_KEY_BLOCK])
{
    size_t used = 0;
    for (size_t at = 0; at < n;) {
        int32_t cp, parts[SR_UNICODE_POINTS_MAX];
        at += sr_utf8_decode_valid(key + at, &cp);
        if (is_ignored(cp))
            continue;
        size_t count = sr_unicode_decompose(cp, true, parts);
        for (size_t i = 0; i < count; i++) {
            int32_t folded = sr_unicode_lower(parts[i]);
            if (folded < 0 || folded > 0x7F || used == SR_PATH_KEY_BLOCK)
                return SIZE_MAX;
            out[used++] = (char)folded;
        }
    }
    return used;
}

size_t sr_key_alike(const struct sr_path_key *names, size_t n, const struct sr_key *key)
{
    char folded[SR_PATH_KEY_BLOCK];
    if (key->overflown)
        return n;
    const char *text = key->block, *nul = memchr(text, 0, key->n);
    size_t length = nul ? (size_t)(nul - text) : key->n;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] & 0x80) {
            length = fold(text, length, folded);
            text = folded;
            break;
        }
    for (size_t i = 0; i < n && length != SIZE_MAX; i++)
        if (same(names[i].text, text, length))
            return i;
    return n;
}

/*
 * What remains of a word without its endings: light rules by script, so that "card" is "cards". Looks nothing
 * up.
 */
#include "cache/gate/stem.h"

bool sr_gate_is_one_of(struct sr_bytes s, const char *const *list)
{
    for (; *list; list++)
        if ((*list)[0] == s.p[0] && strncmp(*list, s.p, s.n) == 0 && (*list)[s.n] == '\0')
            return true;
    return false;
}

bool sr_gate_ends(struct sr_bytes s, const char *ending)
{
    size_t n = strlen(ending);
    return s.n >= n && memcmp(s.p + s.n - n, ending, n) == 0;
}

/* Endings of English, and of its neighbours where they are no part of English words. */
static size_t stem_latin(char *p, size_t n)
{
    static const char *const endings[] = {"ing", "ed", "es", "en", "s", "e"};
    struct sr_bytes s = sr_bytes_of(p, n);
    if (!strchr("gdsne", p[n - 1]))
        return n;
    if (n > 4 && (sr_gate_ends(s, "ies") || sr_gate_ends(s, "ied"))) {
        p[n - 3] = 'y';
        return n - 2;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t size = strlen(endings[i]);
        if (n < size + 3 || !sr_gate_ends(s, endings[i]) || sr_gate_ends(s, "ss") || sr_gate_ends(s, "news"))
            continue;
        n -= size;
        return size > 1 && n > 3 && p[n - 1] == p[n - 2] ? n - 1 : n;
    }
    return n;
}

/* Cyrillic: up to three final letters of endings; each letter has two bytes. */
static struct sr_bytes stem_cyrillic(struct sr_bytes s)
{
    static const char *const endings[] = {"а", "е", "ё", "и", "о", "у", "ы", "э",
                                          "ю", "я", "й", "ь", "м", "х", NULL};
    for (int i = 0; i < 3 && s.n > 6 && sr_gate_is_one_of(sr_bytes_of(s.p + s.n - 2, 2), endings); i++)
        s.n -= 2;
    return s;
}

/* Hangul: without a particle, then the first syllables; a syllable has three bytes. */
static struct sr_bytes stem_korean(struct sr_bytes s)
{
    static const char *const particles[] = {"에서", "으로", "부터", "까지", "에게", "한테", "은",
                                            "는",   "이",   "가",   "을",   "를",   "에",   "의",
                                            "와",   "과",   "도",   "로",   "만",   "요"};
    for (size_t i = 0; i < sizeof particles / sizeof particles[0]; i++) {
        if (s.n >= strlen(particles[i]) + 6 && sr_gate_ends(s, particles[i])) {
            s.n -= strlen(particles[i]);
            break;
        }
    }
    size_t keep = s.n <= 9 ? 6 : 9;
    return s.n > keep ? sr_bytes_of(s.p, keep) : s;
}

struct sr_bytes sr_gate_stem(char *p, size_t n, enum sr_unicode_class class)
{
    struct sr_bytes folded = sr_bytes_of(p, n);
    if (n && p[n - 1] == 's')
        folded.n -= sr_gate_ends(folded, "'s") ? 2 : sr_gate_ends(folded, "\xe2\x80\x99s") ? 4 : 0;
    if (folded.n == 0)
        return folded;
    unsigned char first = (unsigned char)p[0];
    if (class == SR_UNICODE_KOREAN)
        return stem_korean(folded);
    if (first == 0xD0 || first == 0xD1)
        return stem_cyrillic(folded);
    return first < 0xD0 ? sr_bytes_of(p, stem_latin(p, folded.n)) : folded;
}

/*
 * Looks words up in the gate's table (words_table.c), as they are and without their English ending.
 */
#include "cache/gate/words.h"

#define LONGEST 32 /* bytes of a word that can be known */

const struct sr_gate_word *sr_gate_find(struct sr_bytes folded)
{
    uint32_t hash = 0x811C9DC5;
    if (folded.n == 0 || folded.n > LONGEST)
        return NULL;
    for (size_t i = 0; i < folded.n; i++)
        hash = (hash ^ (unsigned char)folded.p[i]) * 0x01000193;
    for (size_t at = hash % SR_GATE_SLOTS; sr_gate_slots[at]; at = (at + 1) % SR_GATE_SLOTS) {
        const struct sr_gate_word *word = &sr_gate_words[sr_gate_slots[at] - 1];
        if (word->size == folded.n && memcmp(word->text, folded.p, folded.n) == 0)
            return word;
    }
    return NULL;
}

static const struct sr_gate_word *find_with(struct sr_bytes stem, const char *ending)
{
    char text[LONGEST + 4];
    size_t n = strlen(ending);
    if (stem.n < 2 || stem.n > LONGEST)
        return NULL;
    memcpy(text, stem.p, stem.n);
    memcpy(text + stem.n, ending, n);
    const struct sr_gate_word *word = sr_gate_find(sr_bytes_of(text, stem.n + n));
    return word && sr_gate_entries[word->first].languages & 1 ? word : NULL;
}

const struct sr_gate_word *sr_gate_find_form(struct sr_bytes folded)
{
    static const struct {
        const char *from, *to;
    } endings[] = {{"ies", "y"}, {"es", ""},  {"s", ""},    {"ied", "y"}, {"ed", ""},
                   {"d", ""},    {"ing", ""}, {"ing", "e"}, {"ly", ""}};
    const struct sr_gate_word *word = sr_gate_find(folded);
    if (word || folded.n == 0 || !strchr("sdgy", folded.p[folded.n - 1]))
        return word;
    for (size_t i = 0; !word && i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i].from);
        if (folded.n > n + 2 && memcmp(folded.p + folded.n - n, endings[i].from, n) == 0)
            word = find_with(sr_bytes_of(folded.p, folded.n - n), endings[i].to);
    }
    return word;
}

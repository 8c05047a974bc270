/*
 * Fuzzy words. Almost every pair of word and keyword is excluded by its length and by the sets of letters
 * (each edit changes either set by one letter at most); the rest is compared by Myers' bit vectors (J. ACM
 * 46(3), 1999) in one step a letter, words of up to 64 letters.
 */
#include "base/mem.h"
#include "signal/keyword/keyword.h"
#include "text/words.h"

#define LETTERS_MAX 64
#define WIDTH_MAX   8 /* words in a keyword */

struct letters {
    int32_t points[LETTERS_MAX];
    uint64_t set; /* one bit a letter, folded to 64 */
    uint8_t n;
};

struct entry {
    size_t slot;
    int edits; /* edits allowed in all words together */
    size_t width;
    size_t first; /* in `words` */
};

struct sr_fuzzy {
    bool keep_case;
    size_t n, n_words, widest;
    struct entry *entries;
    struct letters *words;
};

static void spell(const struct sr_word *word, struct letters *letters)
{
    letters->n = 0;
    letters->set = 0;
    for (size_t at = 0; at < word->n && letters->n < LETTERS_MAX;) {
        int32_t cp;
        at += sr_utf8_decode(sr_bytes_of(word->folded, word->n), at, &cp);
        letters->points[letters->n++] = cp;
        letters->set |= UINT64_C(1) << (cp & 63);
    }
}

/* Distance of two words, each of 1 to 64 letters. */
static int distance(const struct letters *pattern, const struct letters *text)
{
    uint64_t plus = ~UINT64_C(0), minus = 0, last = UINT64_C(1) << (pattern->n - 1);
    int score = pattern->n;
    for (size_t i = 0; i < text->n; i++) {
        uint64_t equal = 0;
        for (size_t k = 0; k < pattern->n; k++)
            equal |= (uint64_t)(pattern->points[k] == text->points[i]) << k;
        uint64_t x = equal | minus;
        uint64_t d = (((equal & plus) + plus) ^ plus) | equal;
        uint64_t up = minus | ~(d | plus), down = plus & d;
        score += (up & last) != 0;
        score -= (down & last) != 0;
        up = up << 1 | 1;
        down <<= 1;
        plus = down | ~(x | up);
        minus = up & x;
    }
    return score;
}

/* Edits between the words, or a number above `most` when there are more. */
static int edits(const struct letters *keyword, const struct letters *word, int most)
{
    int half = keyword->n / 2, allowed = most < half ? most : half;
    int longer = keyword->n > word->n ? keyword->n - word->n : word->n - keyword->n;
    if (keyword->n == 0 || longer > allowed || __builtin_popcountll(keyword->set & ~word->set) > allowed ||
        __builtin_popcountll(word->set & ~keyword->set) > allowed)
        return most + 1;
    int found = distance(keyword, word);
    return found <= allowed ? found : most + 1;
}

static size_t count_words(struct sr_bytes text, bool keep_case)
{
    struct sr_words words = sr_words_of(text, keep_case);
    struct sr_word word;
    size_t n = 0;
    while (sr_words_next(&words, &word))
        n++;
    return n;
}

/* A threshold is a number of edits, or above that range the least share of letters that stay, in percent. */
static int edits_allowed(int threshold, size_t letters)
{
    if (threshold <= SR_FUZZY_EDITS_MAX)
        return threshold;
    return threshold >= 100 ? 0 : (int)(letters * (size_t)(100 - threshold) / 100);
}

int sr_fuzzy_new(struct sr_fuzzy **out, const struct sr_keyword_item *items, size_t n, bool keep_case)
{
    struct sr_fuzzy *fuzzy = sr_mem_calloc(1, sizeof *fuzzy);
    size_t total = 0;
    if (!fuzzy)
        return SR_ENOMEM;
    fuzzy->keep_case = keep_case;
    for (size_t i = 0; i < n; i++)
        total += count_words(items[i].text, keep_case);
    fuzzy->entries = sr_mem_calloc(n + 1, sizeof *fuzzy->entries);
    fuzzy->words = sr_mem_calloc(total + 1, sizeof *fuzzy->words);
    if (!fuzzy->entries || !fuzzy->words) {
        sr_fuzzy_free(fuzzy);
        return SR_ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        struct sr_words words = sr_words_of(items[i].text, keep_case);
        struct sr_word word;
        struct entry *entry = &fuzzy->entries[fuzzy->n];
        *entry = (struct entry){items[i].slot, 0, 0, fuzzy->n_words};
        size_t letters = 0;
        while (sr_words_next(&words, &word)) {
            spell(&word, &fuzzy->words[fuzzy->n_words]);
            letters += fuzzy->words[fuzzy->n_words++].n;
            entry->width++;
        }
        entry->edits = edits_allowed(items[i].rule->fuzzy_threshold, letters);
        /* Only the exact search finds longer phrases and keywords without letters. */
        if (entry->width == 0 || entry->width > WIDTH_MAX)
            continue;
        fuzzy->n++;
        if (entry->width > fuzzy->widest)
            fuzzy->widest = entry->width;
    }
    *out = fuzzy;
    return SR_OK;
}

void sr_fuzzy_free(struct sr_fuzzy *fuzzy)
{
    if (!fuzzy)
        return;
    sr_mem_free(fuzzy->entries);
    sr_mem_free(fuzzy->words);
    sr_mem_free(fuzzy);
}

/* True when the last `seen` words end with the entry; `recent` is a ring whose newest word is at `newest`. */
static bool stands(const struct sr_fuzzy *fuzzy, const struct entry *entry, const struct letters *recent,
                   size_t newest, size_t seen)
{
    int left = entry->edits;
    if (seen < entry->width)
        return false;
    for (size_t k = 0; k < entry->width && left >= 0; k++) {
        const struct letters *keyword = &fuzzy->words[entry->first + entry->width - 1 - k];
        left -= edits(keyword, &recent[(newest + WIDTH_MAX - k) % WIDTH_MAX], left);
    }
    return left >= 0;
}

void sr_fuzzy_run(const struct sr_fuzzy *fuzzy, struct sr_bytes text, float *scores)
{
    struct letters recent[WIDTH_MAX];
    struct sr_words words = sr_words_of(text, fuzzy->keep_case);
    struct sr_word word;
    for (size_t seen = 1; sr_words_next(&words, &word); seen++) {
        size_t newest = seen % WIDTH_MAX;
        spell(&word, &recent[newest]);
        for (size_t i = 0; i < fuzzy->n; i++) {
            const struct entry *entry = &fuzzy->entries[i];
            if (scores[entry->slot] < 1.0f && stands(fuzzy, entry, recent, newest, seen))
                scores[entry->slot] = 1.0f;
        }
    }
}

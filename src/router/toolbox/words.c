/* Splits at what is no letter or digit, before a capital that follows a small letter, and scripts without
 * spaces at each character. */
#include "router/toolbox/words.h"

#include "base/hash.h"
#include "base/unicode.h"
#include "base/utf8.h"

#define WORD_MAX 64 /* bytes of a word that count */

struct word {
    char bytes[WORD_MAX + SR_UTF8_MAX];
    size_t n;
};

/* Words that a question has whatever it asks. */
static bool is_common(struct sr_bytes word)
{
    static const char *const common[] = {"a",   "an",   "and",  "are", "as",   "at", "be",   "by",  "can",
                                         "for", "from", "i",    "in",  "is",   "it", "me",   "my",  "of",
                                         "on",  "or",   "that", "the", "this", "to", "with", "you", "your"};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (sr_bytes_eq(word, sr_bytes_str(common[i])))
            return true;
    return false;
}

/* Without a common English ending, where enough is left. */
static struct sr_bytes stem_of(struct sr_bytes word)
{
    static const char *const endings[] = {"ing", "es", "ed", "ly", "s"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct sr_bytes ending = sr_bytes_str(endings[i]);
        if (word.n >= ending.n + 3 && sr_bytes_eq(sr_bytes_of(word.p + word.n - ending.n, ending.n), ending))
            return sr_bytes_of(word.p, word.n - ending.n);
    }
    return word;
}

static size_t end_word(struct word *word, uint32_t *hashes, size_t n)
{
    struct sr_bytes bytes = sr_bytes_of(word->bytes, word->n);
    word->n = 0;
    if (bytes.n == 0 || is_common(bytes) || n == SR_TOOL_WORDS_MAX)
        return n;
    hashes[n] = (uint32_t)sr_hash64(stem_of(bytes), 0);
    return n + 1;
}

static size_t words_of(struct sr_bytes text, uint32_t *hashes, size_t n)
{
    struct word word = {.n = 0};
    bool small = false; /* the character before is no capital */
    int32_t point;
    for (size_t at = 0; at < text.n && n < SR_TOOL_WORDS_MAX;) {
        at += sr_utf8_decode(text, at, &point);
        unsigned kind = sr_unicode_kind(point);
        bool counts = kind & (SR_UNICODE_LETTER | SR_UNICODE_MARK | SR_UNICODE_DIGIT);
        bool dense = counts && sr_unicode_class(point) == SR_UNICODE_DENSE;
        if (!counts || dense || (small && kind & SR_UNICODE_UPPER))
            n = end_word(&word, hashes, n);
        if (counts && word.n < WORD_MAX)
            word.n += sr_utf8_encode(sr_unicode_lower(point), word.bytes + word.n);
        if (dense)
            n = end_word(&word, hashes, n);
        small = counts && !(kind & SR_UNICODE_UPPER);
    }
    return end_word(&word, hashes, n);
}

int sr_tool_words(const struct sr_bytes *texts, size_t n, struct sr_arena *arena, struct sr_tool_words *out)
{
    uint32_t hashes[SR_TOOL_WORDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count = words_of(texts[i], hashes, count);
    uint32_t *copy = sr_arena_calloc(arena, count + 1, sizeof *copy);
    if (!copy)
        return SR_ENOMEM;
    if (count)
        memcpy(copy, hashes, count * sizeof *copy);
    *out = (struct sr_tool_words){copy, count};
    return SR_OK;
}

bool sr_tool_words_have(const struct sr_tool_words *words, uint32_t hash)
{
    for (size_t i = 0; i < words->n; i++)
        if (words->hashes[i] == hash)
            return true;
    return false;
}

size_t sr_tool_words_shared(const struct sr_tool_words *words, const struct sr_tool_words *others,
                            size_t *distinct)
{
    size_t shared = 0, n = 0;
    for (size_t i = 0; i < words->n; i++) {
        const struct sr_tool_words before = {words->hashes, i};
        if (sr_tool_words_have(&before, words->hashes[i]))
            continue;
        n++;
        shared += sr_tool_words_have(others, words->hashes[i]);
    }
    if (distinct)
        *distinct = n;
    return shared;
}

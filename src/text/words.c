/* Word iteration: ASCII by a table-free fast path, all other text by code points. */
#include "text/words.h"

#include "base/unicode.h"

/* One bit a character: 0-9, A-Z, _, a-z. */
static bool is_ascii_word(unsigned char c)
{
    static const uint64_t words[4] = {UINT64_C(0x03FF000000000000), UINT64_C(0x07FFFFFE87FFFFFE), 0, 0};
    return words[c >> 6] >> (c & 63) & 1;
}

static enum sr_unicode_class class_at(struct sr_bytes text, size_t at, int32_t *cp, size_t *length)
{
    unsigned char c = (unsigned char)text.p[at];
    if (c < 0x80) {
        *cp = c;
        *length = 1;
        return is_ascii_word(c) ? SR_UNICODE_WORD : SR_UNICODE_OTHER;
    }
    *length = sr_utf8_decode(text, at, cp);
    return sr_unicode_class(*cp);
}

static void word_add(struct sr_word *word, int32_t cp, bool keep_case)
{
    int32_t folded[SR_UNICODE_FOLD_POINTS] = {cp};
    size_t points = keep_case ? 1 : sr_unicode_fold(cp, folded);
    if (word->n >= SR_WORD_MAX)
        return;
    for (size_t i = 0; i < points; i++)
        word->n += sr_utf8_encode(folded[i], word->folded + word->n);
    word->points += points;
}

/* True when the character at `at` continues a word of `class`. */
static bool continues(struct sr_bytes text, size_t at, enum sr_unicode_class class, int32_t *cp,
                      size_t *length)
{
    if (at >= text.n || class == SR_UNICODE_DENSE)
        return false;
    enum sr_unicode_class next = class_at(text, at, cp, length);
    if (next == class)
        return true;
    bool apostrophe = *cp == '\'' || *cp == 0x2019;
    int32_t after;
    size_t skip;
    return class == SR_UNICODE_WORD && apostrophe && at + *length < text.n &&
           class_at(text, at + *length, &after, &skip) == SR_UNICODE_WORD && after > '9';
}

/* The ASCII beginning of a word; returns where it ends. */
static size_t take_ascii(const struct sr_words *words, size_t at, struct sr_word *word)
{
    const unsigned char *p = (const unsigned char *)words->text.p;
    size_t end = at, n = 0;
    while (end < words->text.n && is_ascii_word(p[end]))
        end++;
    n = end - at < SR_WORD_MAX ? end - at : SR_WORD_MAX;
    for (size_t i = 0; i < n; i++)
        word->folded[i] = words->keep_case ? (char)p[at + i] : sr_ascii_lower((char)p[at + i]);
    word->n = word->points = n;
    return end;
}

bool sr_words_next(struct sr_words *words, struct sr_word *word)
{
    struct sr_bytes text = words->text;
    size_t at = words->at, length = 0;
    int32_t cp = 0;
    enum sr_unicode_class class = SR_UNICODE_OTHER;
    while (at < text.n && (class = class_at(text, at, &cp, &length)) == SR_UNICODE_OTHER)
        at += length;
    if (at >= text.n) {
        words->at = at;
        return false;
    }
    word->start = at;
    word->class = class;
    word->points = word->n = 0;
    if (cp < 0x80) {
        at = take_ascii(words, at, word);
    } else {
        word_add(word, cp, words->keep_case);
        at += length;
    }
    while (continues(text, at, class, &cp, &length)) {
        word_add(word, cp == 0x2019 ? '\'' : cp, words->keep_case);
        at += length;
    }
    word->end = words->at = at;
    return true;
}

size_t sr_words_count(struct sr_bytes text)
{
    size_t count = 0;
    enum sr_unicode_class before = SR_UNICODE_OTHER;
    for (size_t at = 0, length; at < text.n; at += length) {
        int32_t cp;
        enum sr_unicode_class class = class_at(text, at, &cp, &length);
        bool apostrophe =
            class == SR_UNICODE_OTHER && before == SR_UNICODE_WORD && (cp == '\'' || cp == 0x2019);
        if (apostrophe && continues(text, at, SR_UNICODE_WORD, &cp, &length))
            continue;
        count += class == SR_UNICODE_DENSE || (class != SR_UNICODE_OTHER && class != before);
        before = class;
    }
    return count;
}

size_t sr_words_stem(char *folded, size_t n)
{
    if (n < 4 || folded[n - 1] != 's')
        return n;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)folded[i] >= 0x80)
            return n;
    if (folded[n - 2] == '\'')
        return n - 2;
    if (folded[n - 2] == 's' || folded[n - 2] == 'u')
        return n;
    if (folded[n - 3] == 'i' && folded[n - 2] == 'e') {
        folded[n - 3] = 'y';
        return n - 2;
    }
    return n - 1;
}

/*
 * The regular expressions of published byte-level tokenizers, as hand-written matchers.
 *
 * Each is identified by its exact spelling in tokenizer.json; another spelling is refused at load, because an
 * approximation would give other tokens than the model was trained with. Alternatives are tried in the order
 * of the pattern.
 */
#include "model/tokenizer/private.h"

static inline unsigned class_at(const char *p, size_t *length)
{
    unsigned char c = (unsigned char)p[0];
    int32_t cp;
    if (c < 0x80) {
        *length = 1;
        return sr_chars_table[c];
    }
    *length = sr_utf8_decode_valid(p, &cp);
    return sr_chars_flags(cp);
}

/* End of the run of characters from p[i] on with (flags & mask) == want, at most `max` of them. */
static inline size_t run(const char *p, size_t n, size_t i, unsigned mask, unsigned want, size_t max)
{
    size_t length;
    for (; i < n && max; i += length, max--) {
        unsigned flags = class_at(p + i, &length) & mask;
        if (want ? !(flags & want) : flags != 0)
            break;
    }
    return i;
}

#define LETTER  SR_CHARS_LETTER
#define NUMBER  SR_CHARS_NUMBER
#define SPACE   SR_CHARS_SPACE
#define ALL     SIZE_MAX
#define LONG_S0 '\xC5' /* U+017F: folds to s */
#define LONG_S1 '\xBF'

/* 's|'t|'re|'ve|'m|'ll|'d after the apostrophe at p[i]; `fold`: in either case. */
static size_t contraction(const char *p, size_t n, size_t i, bool fold)
{
    if (i + 1 >= n)
        return 0;
    char a = p[i + 1], b = i + 2 < n ? p[i + 2] : 0;
    if (fold) {
        if (a == LONG_S0 && b == LONG_S1)
            return 3;
        a = sr_ascii_lower(a);
        b = sr_ascii_lower(b);
    }
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* \s+(?!\S)|\s+ at p[i], a space: all spaces at the end of the text, otherwise all but the last, but at least
 * one. */
static size_t spaces(const char *p, size_t n, size_t i)
{
    size_t end = i, last = i, length, count = 0;
    for (; end < n && class_at(p + end, &length) & SPACE; end += length, count++)
        last = end;
    return (end == n || count == 1 ? end : last) - i;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t sr_tok_regex_gpt2(const char *p, size_t n, size_t i)
{
    size_t length, match = p[i] == '\'' ? contraction(p, n, i, false) : 0;
    if (match)
        return match;
    size_t from = p[i] == ' ' && i + 1 < n ? i + 1 : i;
    unsigned flags = class_at(p + from, &length);
    if (flags & LETTER)
        return run(p, n, from + length, LETTER, LETTER, ALL) - i;
    if (flags & NUMBER)
        return run(p, n, from + length, NUMBER, NUMBER, ALL) - i;
    if (!(flags & SPACE))
        return run(p, n, from + length, LETTER | NUMBER | SPACE, 0, ALL) - i;
    return spaces(p, n, i);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
 * \s+(?!\S)|\s+ */
static inline size_t modern(const char *p, size_t n, size_t i, size_t digits)
{
    size_t length, next_length = 0, match = p[i] == '\'' ? contraction(p, n, i, true) : 0;
    if (match)
        return match;
    unsigned flags = class_at(p + i, &length), next = 0;
    if (flags & LETTER)
        return run(p, n, i + length, LETTER, LETTER, ALL) - i;
    if (flags & NUMBER)
        return run(p, n, i, NUMBER, NUMBER, digits) - i;
    if (i + length < n)
        next = class_at(p + i + length, &next_length);
    if (next & LETTER && p[i] != '\r' && p[i] != '\n')
        return run(p, n, i + length + next_length, LETTER, LETTER, ALL) - i;
    size_t from = p[i] == ' ' ? i + 1 : i;
    if (from < n && !(class_at(p + from, &length) & (LETTER | NUMBER | SPACE))) {
        size_t end = run(p, n, from, LETTER | NUMBER | SPACE, 0, ALL);
        while (end < n && (p[end] == '\r' || p[end] == '\n'))
            end++;
        return end - i;
    }
    size_t end = run(p, n, i, SPACE, SPACE, ALL), newline = end;
    while (newline > i && p[newline - 1] != '\r' && p[newline - 1] != '\n')
        newline--;
    return newline > i ? newline - i : spaces(p, n, i);
}

static size_t qwen2(const char *p, size_t n, size_t i)
{
    return modern(p, n, i, 1);
}

static size_t llama3(const char *p, size_t n, size_t i)
{
    return modern(p, n, i, 3);
}

static const struct {
    const char *pattern;
    sr_tok_regex *match;
} known[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", sr_tok_regex_gpt2},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     qwen2},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     llama3},
};

sr_tok_regex *sr_tok_regex_known(struct sr_bytes pattern)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sr_bytes_eq(pattern, sr_bytes_str(known[i].pattern)))
            return known[i].match;
    return NULL;
}

/* What stands beside a position: words of a list before it, the rest of a number behind it. */
#include "text/entity/row.h"

#include "base/utf8.h"

/* True when a word of the list is at `i`, whole and not beyond `end`. */
static bool is_word_at(const struct sr_entity_scan *scan, size_t i, size_t end, const char *words)
{
    char first = sr_ascii_lower(scan->text.p[i]);
    for (const char *word = words; *word;) {
        size_t n = strcspn(word, "|"), k = 1;
        if (*word == first && i + n <= end) {
            while (k < n && sr_ascii_lower(scan->text.p[i + k]) == word[k])
                k++;
            if (k == n && !sr_entity_is_word(sr_entity_at(scan, i + n)))
                return true;
        }
        word += n + (word[n] == '|');
    }
    return false;
}

bool sr_entity_word_before(const struct sr_entity_scan *scan, size_t at, size_t reach, const char *words)
{
    for (size_t i = at > reach ? at - reach : 0; i < at; i++) {
        bool begins = i == 0 || !sr_entity_is_word((unsigned char)scan->text.p[i - 1]);
        if (begins && is_word_at(scan, i, at, words))
            return true;
    }
    return false;
}

bool sr_entity_goes_on(const struct sr_entity_scan *scan, size_t at)
{
    int32_t cp;
    unsigned char c = sr_entity_at(scan, at);
    if (c < 0x80)
        return sr_entity_is_word(c);
    (void)sr_utf8_decode(scan->text, at, &cp);
    return sr_row_digit(cp) >= 0;
}

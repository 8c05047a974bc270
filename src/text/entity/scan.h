/* A text while the recognisers read it. Private to text/entity. */
#ifndef SR_TEXT_ENTITY_SCAN_H
#define SR_TEXT_ENTITY_SCAN_H

#include "text/entity/entity.h"

/* The state that the recognisers share. */
struct sr_entity_scan {
    struct sr_bytes text;
    struct sr_entities *list;
    int rc; /* the first failure; nothing is added after it */
};

static inline void sr_entity_found(struct sr_entity_scan *scan, enum sr_entity_type type, size_t start,
                                   size_t end, float confidence)
{
    if (!scan->rc)
        scan->rc = sr_entities_add(scan->list, type, start, end, confidence);
}

/* The byte at `at`, 0 outside of the text. */
static inline unsigned char sr_entity_at(const struct sr_entity_scan *scan, size_t at)
{
    return at < scan->text.n ? (unsigned char)scan->text.p[at] : 0;
}

static inline bool sr_entity_is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static inline bool sr_entity_is_alpha(unsigned char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

/* Letters, digits and all bytes above ASCII. */
static inline bool sr_entity_is_word(unsigned char c)
{
    return sr_entity_is_alpha(c) || sr_entity_is_digit(c) || c >= 0x80;
}

/* True when a number goes on at `at`, or a word that it is a part of: numbers and words of other scripts may
 * stand side by side. */
bool sr_entity_goes_on(const struct sr_entity_scan *scan, size_t at);

/* True when one of the words (lower case, separated by `|`) ends within `reach` bytes before `at`. */
bool sr_entity_word_before(const struct sr_entity_scan *scan, size_t at, size_t reach, const char *words);

#endif

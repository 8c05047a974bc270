/*
 * Detects the languages of a text; wraps CLD2. Whether a text is in English is english.h's.
 *
 * Pure and thread-safe. Long texts are sampled (beginning, middle and end), so the cost is bounded.
 */
#ifndef SR_TEXT_LANGUAGE_H
#define SR_TEXT_LANGUAGE_H

#include "base/bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SR_LANGUAGES_MAX   3
#define SR_LANGUAGE_SAMPLE ((size_t)6 << 10) /* maximum bytes of a text that are read */

struct sr_language {
    char code[8];     /* ISO 639-1 where there is one ("en", "zh"), else 639-2 or -3 */
    float confidence; /* 0..1: the share of the text that is in it; halved when the detector is not sure */
};

struct sr_languages {
    struct sr_language items[SR_LANGUAGES_MAX]; /* most frequent first */
    int count;                                  /* 0: nothing was recognised */
};

/* `text` must be valid UTF-8. */
struct sr_languages sr_language_detect(struct sr_bytes text);

#ifdef __cplusplus
}
#endif

#endif

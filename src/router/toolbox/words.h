/*
 * The words of tools and questions, for comparing them by what is written.
 *
 * A word is a run of letters and digits in lower case, `getWeather` and `get_weather` are two; common words
 * without meaning are left out, and English endings are cut. Pure functions.
 */
#ifndef SR_ROUTER_TOOLBOX_WORDS_H
#define SR_ROUTER_TOOLBOX_WORDS_H

#include "base/arena.h"

#include <stdint.h>

#define SR_TOOL_WORDS_MAX 512 /* of one text; the rest is not read */

/* Hashes of words in their order, repeats too. */
struct sr_tool_words {
    const uint32_t *hashes; /* in the arena */
    size_t n;
};

/* The words of `texts`, one after the other. SR_ENOMEM. */
int sr_tool_words(const struct sr_bytes *texts, size_t n, struct sr_arena *arena,
                  struct sr_tool_words *out) SR_WARN_UNUSED;

/* Does it have the word? */
bool sr_tool_words_have(const struct sr_tool_words *words, uint32_t hash);

/* The words of `words` that `others` have, each counted once. `distinct`, when not NULL, receives the number
 * of distinct words of `words`. */
size_t sr_tool_words_shared(const struct sr_tool_words *words, const struct sr_tool_words *others,
                            size_t *distinct);

#endif

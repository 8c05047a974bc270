/*
 * Which keys some parsers take for others: in another case, in compatibility forms, cut at a NUL.
 *
 * Private to the json layer; path.c asks when a key equals none of the names.
 */
#ifndef SR_JSON_ALIKE_H
#define SR_JSON_ALIKE_H

#include "json/path.h"

/* The first of `names` to which the key is alike: NFKC_Casefold of both is the same, where the key ends
 * before its first NUL. `n` when there is none. The names are ASCII. */
size_t sr_key_alike(const struct sr_path_key *names, size_t n, const struct sr_key *key);

#endif

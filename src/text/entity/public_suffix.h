/*
 * The registry of domain suffixes (publicsuffix.org): which ends of names people can register below.
 *
 * The seam of libpsl. Reads the system's list once, at the first call. Any thread.
 */
#ifndef SR_TEXT_ENTITY_PUBLIC_SUFFIX_H
#define SR_TEXT_ENTITY_PUBLIC_SUFFIX_H

#include "base/bytes.h"

/* Is `name` (lower-case ASCII labels joined by dots, at most 253 bytes) at least one label below a suffix of
 * the list? "example.co.uk" is, "co.uk" and "main.c" are not. */
bool sr_public_suffix_has(struct sr_bytes name);

#endif

/*
 * The registry of domain suffixes (publicsuffix.org): the suffixes below which domains can be registered.
 *
 * Wraps libpsl. Reads the system's list once, at the first call. Any thread.
 */
#ifndef SR_TEXT_ENTITY_PUBLIC_SUFFIX_H
#define SR_TEXT_ENTITY_PUBLIC_SUFFIX_H

#include "base/bytes.h"

/* True when `name` (lower-case ASCII labels joined by dots, at most 253 bytes) is at least one label below a
 * suffix of the list: true for "example.co.uk", false for "co.uk" and "main.c". */
bool sr_public_suffix_has(struct sr_bytes name);

#endif

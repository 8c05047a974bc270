/*
 * Hashes: XXH3-64 for tables and memo keys, SHA-256 for files and for input that an attacker may choose.
 * Wraps libxxhash and OpenSSL's digests.
 */
#ifndef SR_BASE_HASH_H
#define SR_BASE_HASH_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_SHA256_SIZE 32
#define SR_SHA256_HEX  65 /* 64 digits and the NUL */

uint64_t sr_hash64(struct sr_bytes s, uint64_t seed);

/* Any thread; each keeps a context until it ends. SR_ENOMEM when OpenSSL cannot allocate it. */
int sr_sha256(struct sr_bytes s, uint8_t out[SR_SHA256_SIZE]) SR_WARN_UNUSED;

/* The same of `a` and `b`, one after the other. */
int sr_sha256_both(struct sr_bytes a, struct sr_bytes b, uint8_t out[SR_SHA256_SIZE]) SR_WARN_UNUSED;
int sr_sha256_hex(struct sr_bytes s, char out[SR_SHA256_HEX]) SR_WARN_UNUSED;

/* Of an open file from where it stands to its end, and how many bytes these were; not on an event loop.
 * SR_EIO. */
int sr_sha256_file(int fd, char out[SR_SHA256_HEX], uint64_t *bytes) SR_WARN_UNUSED;

/* `n` bytes from the system's random source; SR_EIO when it has none. */
int sr_random(void *out, size_t n) SR_WARN_UNUSED;

#endif

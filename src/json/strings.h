/*
 * The strings of a JSON value that has passed the scanner: values and keys, at any depth.
 *
 * Reads the bytes between strings only as far as it must: numbers and structure cost a search for the next
 * quote. Builds no tree and allocates nothing.
 */
#ifndef SR_JSON_STRINGS_H
#define SR_JSON_STRINGS_H

#include "base/bytes.h"

#include <stdbool.h>

/* A reading; valid as long as the bytes. */
struct sr_json_strings {
    struct sr_bytes body;
    size_t at, end; /* the next byte to read, and the end of the value */
    bool numbers;   /* a digit was seen between strings; looked for only with `find_numbers` */
    bool find_numbers;
};

struct sr_json_string {
    size_t start, end; /* its bytes in the body, without the quotes */
    bool escaped;      /* there is a backslash: sr_json_unescape them */
    bool key;          /* the key of a member; else a value */
};

/* Prepares to read the value body[start..end). */
void sr_json_strings_init(struct sr_json_strings *strings, struct sr_bytes body, size_t start, size_t end);

/* The next string; false when there is none. */
bool sr_json_strings_next(struct sr_json_strings *strings, struct sr_json_string *out);

#endif

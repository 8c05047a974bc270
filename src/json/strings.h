/*
 * The strings of a JSON value that has passed the scanner: values and keys, at any depth; and, if asked for,
 * numbers whose value is an integer as long as the number of a card.
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
    size_t at, end;               /* the next byte to read, and the end of the value */
    bool numbers;                 /* a digit was seen between strings; looked for only with `find_numbers` */
    bool find_numbers, find_long; /* notes numbers; gives long numbers */
};

#define SR_JSON_LONG_MIN 12 /* digits of a long number */
#define SR_JSON_LONG_MAX 19

struct sr_json_string {
    size_t start, end; /* its bytes in the body, without the quotes */
    bool escaped;      /* there is a backslash: sr_json_unescape them */
    bool key;          /* the key of a member; else a value */
    bool number;       /* a long number: it has no quotes */
};

/* Prepares to read the value body[start..end). */
void sr_json_strings_init(struct sr_json_strings *strings, struct sr_bytes body, size_t start, size_t end);

/* Writes the digits of a number whose value, its sign aside, is an integer of SR_JSON_LONG_MIN to
 * SR_JSON_LONG_MAX digits, however it is written (4.2e15, 42.0), and returns how many they are; 0 for other
 * numbers. */
size_t sr_json_long_digits(struct sr_bytes number, char out[SR_JSON_LONG_MAX]);

/* The next string; false when there is none. */
bool sr_json_strings_next(struct sr_json_strings *strings, struct sr_json_string *out);

#endif

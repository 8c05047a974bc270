/*
 * The tokens in a worker's answer to POST /tokenize, as the bytes arrive: the numbers of the top-level list
 * `tokens` of a JSON object.
 *
 * Bytes of any origin: what is no such answer gives no tokens. Reads no more of JSON than it needs. Knows no
 * sockets.
 */
#ifndef SR_SERVE_GATEWAY_TOKENIZE_TEXT_H
#define SR_SERVE_GATEWAY_TOKENIZE_TEXT_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum sr_tokenize_state {
    SR_TOKENIZE_OUTSIDE, /* of the list */
    SR_TOKENIZE_STRING,
    SR_TOKENIZE_ESCAPE,
    SR_TOKENIZE_LIST,
    SR_TOKENIZE_DONE,
    SR_TOKENIZE_BAD,
};

struct sr_tokenize_text {
    enum sr_tokenize_state state;
    unsigned depth;  /* of brackets */
    char string[8];  /* the beginning of the latest string */
    size_t string_n; /* its bytes */
    bool named;      /* it was followed by a colon */
    uint32_t *ids;   /* [n] */
    size_t n, cap, max;
    uint64_t number;
    bool has_number; /* a number has begun */
};

/* At most `max` tokens. */
void sr_tokenize_text_init(struct sr_tokenize_text *text, size_t max);
void sr_tokenize_text_dispose(struct sr_tokenize_text *text);
void sr_tokenize_text_feed(struct sr_tokenize_text *text, struct sr_bytes slice);

/* After the last byte. False: there was no such list, or it had something else in it. */
bool sr_tokenize_text_finish(const struct sr_tokenize_text *text);

#endif

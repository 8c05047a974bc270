/*
 * A question as the gate sees it: tokens in order, with what is known of each. Private to cache/gate.
 */
#ifndef SR_CACHE_GATE_TEXT_H
#define SR_CACHE_GATE_TEXT_H

#include "cache/gate/words.h"

#define SR_GATE_TOKENS_MAX 512

enum sr_gate_kind {
    SR_GATE_TOKEN_WORD,
    SR_GATE_TOKEN_NUMBER, /* with its unit, where one stands beside it */
    SR_GATE_TOKEN_MONTH,  /* of a date: 1 to 12 */
    SR_GATE_TOKEN_CODE,   /* an identifier */
    SR_GATE_TOKEN_UNIT,   /* without a number */
    SR_GATE_TOKEN_GONE,   /* part of the token before or after it */
};

enum sr_gate_flag {
    SR_GATE_IS_STOP = 1,    /* carries no content of its own */
    SR_GATE_IS_NAME = 2,    /* written as a name */
    SR_GATE_IS_DENSE = 4,   /* of a script without spaces: a character, or a known word */
    SR_GATE_IS_WORDED = 8,  /* a number in letters */
    SR_GATE_IS_NOT = 16,    /* ends in n't */
    SR_GATE_IS_AND = 32,    /* joins equals: and, or */
    SR_GATE_IS_BY = 64,     /* the one named after it acts: by */
    SR_GATE_IS_UPPER = 128, /* starts with a capital */
};

struct sr_gate_token {
    uint64_t id;          /* equal ids say the same */
    double number, other; /* of NUMBER as read in English and with a decimal comma; of MONTH */
    uint32_t start, end;  /* bytes of the text */
    int32_t word;         /* index in sr_gate_words; -1: none */
    int16_t unit;         /* of NUMBER and UNIT: index in sr_gate_units; -1: none */
    int16_t match;        /* index of its partner in the other text; -1: none */
    uint8_t kind, flags;
    uint8_t points; /* characters, up to 255 */
    uint8_t digits; /* of NUMBER: behind the decimal separator */
};

struct sr_gate_text {
    struct sr_bytes text;
    size_t n;
    bool overflow; /* more than fits: nothing can be said */
    bool shouted;  /* most words are capitalised: that says nothing */
    bool kana, han, hangul;
    struct sr_gate_token tokens[SR_GATE_TOKENS_MAX];
};

/* Reads the tokens of a text of at most SR_GATE_TEXT_MAX bytes. The languages are not known yet: `word` is
 * any meaning. */
void sr_gate_read(struct sr_gate_text *out, struct sr_bytes text);

/* Which languages the two texts are in, as bits; all that fit when undecided. */
unsigned sr_gate_languages(const struct sr_gate_text *a, const struct sr_gate_text *b);

/* Decides what tokens are in these languages: numbers in words, units, months, stop words, words that say the
 * same. */
void sr_gate_settle(struct sr_gate_text *text, unsigned languages);

/* The value of the token in a class and these languages; -1: it has none. */
int sr_gate_value(const struct sr_gate_token *token, enum sr_gate_class class, unsigned languages);

#endif

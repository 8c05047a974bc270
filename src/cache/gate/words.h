/*
 * The words that the gate knows, from words.txt: what a word can mean in which language. Private to
 * cache/gate.
 */
#ifndef SR_CACHE_GATE_WORDS_H
#define SR_CACHE_GATE_WORDS_H

#include "base/bytes.h"

#include <stdint.h>

#define SR_GATE_SLOTS 8192

/* Bits of languages, in the order of tools/make_gate_words.py. */
enum sr_gate_language {
    SR_GATE_EN = 1,
    SR_GATE_DE = 2,
    SR_GATE_ES = 4,
    SR_GATE_FR = 8,
    SR_GATE_RU = 128,
    SR_GATE_ZH = 256,
    SR_GATE_JA = 512,
    SR_GATE_KO = 1024,
    SR_GATE_ALL = 2047,
};
#define SR_GATE_LANGUAGES 11

/* In the order of tools/make_gate_words.py; what `value` is. */
enum sr_gate_class {
    SR_GATE_STOP,     /* no content */
    SR_GATE_NEG,      /* negates */
    SR_GATE_WEAK,     /* negates where no SR_GATE_NEG is */
    SR_GATE_NUM,      /* index in sr_gate_numbers */
    SR_GATE_MEASURE,  /* index in sr_gate_units */
    SR_GATE_MONTH,    /* 1 to 12 */
    SR_GATE_DAY,      /* 1 to 8 */
    SR_GATE_RELATIVE, /* today, tomorrow */
    SR_GATE_ASK,      /* who, when, where, why, whom, whereto, wherefrom, often, how, what, amount */
    SR_GATE_QUANT,    /* all, none, some, any, most, half, both, only, almost, never, few, often */
    SR_GATE_MODAL,
    SR_GATE_TENSE,
    SR_GATE_OWNER,
    SR_GATE_PAIR,     /* 2 * axis + side */
    SR_GATE_COMP,     /* the same, of comparisons */
    SR_GATE_SAME,     /* group of words that say the same */
    SR_GATE_DEGREE,   /* behind "how": much, often, far, old, long, big, high, fast */
    SR_GATE_ASPECT,   /* with a denial: no longer, not any more */
    SR_GATE_RELATION, /* narrows what the rest asks: before, except, former */
};
/* "How much" asks what SR_GATE_ASK_AMOUNT asks: degrees go on behind SR_GATE_ASK_WHAT. */
enum { SR_GATE_ASK_OFTEN = 7, SR_GATE_ASK_HOW, SR_GATE_ASK_WHAT, SR_GATE_ASK_AMOUNT };
enum { SR_GATE_ALL_OF, SR_GATE_NONE_OF, SR_GATE_SOME_OF, SR_GATE_ANY_OF, SR_GATE_OFTEN = 11 };
#define SR_GATE_AXES 384

struct sr_gate_entry {
    uint8_t class;      /* enum sr_gate_class */
    uint16_t languages; /* where it has this meaning */
    uint16_t value;
};

struct sr_gate_word {
    const char *text;
    uint8_t size, n; /* bytes; entries */
    uint16_t first;  /* of its entries */
};

struct sr_gate_unit {
    double factor;
    uint8_t dimension;
    uint8_t family; /* dimensions of one family are compared with each other */
};

extern const uint16_t sr_gate_slots[SR_GATE_SLOTS]; /* word + 1; 0: free */
extern const struct sr_gate_word sr_gate_words[];
extern const struct sr_gate_entry sr_gate_entries[];
extern const double sr_gate_numbers[];
extern const struct sr_gate_unit sr_gate_units[];

/* The word with this folded spelling; NULL when it is not known. */
const struct sr_gate_word *sr_gate_find(struct sr_bytes folded);

/* The same; of an English word that is not known also without its ending. */
const struct sr_gate_word *sr_gate_find_form(struct sr_bytes folded);

#endif

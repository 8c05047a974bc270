/*
 * The gate of the semantic cache: whether two questions that a model finds close can have the same answer.
 *
 * It compares what embeddings blur: numbers with their units, dates, names, identifiers, quoted text,
 * negations, opposites, question words, roles, and single words that were exchanged. It knows no model, no
 * cache and no request. Words of eleven languages are in words.txt; in others fewer rules apply and an
 * exchanged word counts as another question. In doubt it says that they differ: a lost hit costs an answer, a
 * false hit a wrong one.
 */
#ifndef SR_CACHE_GATE_GATE_H
#define SR_CACHE_GATE_GATE_H

#include "base/bytes.h"
#include "base/err.h"

#define SR_GATE_TEXT_MAX ((size_t)8 << 10) /* bytes; longer texts agree only when they are equal */

#define SR_GATE_REASONS_LIST(X)                                                                              \
    X(AGREES, "agrees")                                                                                      \
    X(SIZE, "size")             /* too long to be compared */                                                \
    X(QUOTED, "quoted")         /* another quoted text */                                                    \
    X(IDENTIFIER, "identifier") /* another code, path, address, version, or none */                          \
    X(NUMBER, "number")                                                                                      \
    X(DATE, "date") /* another month, weekday or relative day */                                             \
    X(UNIT, "unit")                                                                                          \
    X(NEGATION, "negation")       /* one denies, the other does not */                                       \
    X(QUANTIFIER, "quantifier")   /* all, none, half */                                                      \
    X(POLARITY, "polarity")       /* enable, disable */                                                      \
    X(COMPARATIVE, "comparative") /* largest, smallest */                                                    \
    X(QUESTION, "question")       /* who, when, where */                                                     \
    X(OBLIGATION, "obligation")   /* may, must; did, will */                                                 \
    X(PERSON, "person")           /* my, your */                                                             \
    X(NAME, "name")                                                                                          \
    X(ROLE, "role") /* A buys B, B buys A */                                                                 \
    X(WORD, "word") /* otherwise the same, with one word exchanged */

enum sr_gate_reason {
#define SR_GATE_ENUM(name, text) SR_GATE_##name,
    SR_GATE_REASONS_LIST(SR_GATE_ENUM)
#undef SR_GATE_ENUM
        SR_GATE_REASONS,
};

/* "number", "role": as metrics and tables write them. */
extern const char *const sr_gate_reason_names[SR_GATE_REASONS];

/* SR_GATE_AGREES, or the first reason found why the answer to `stored` is none to `asked`. Any bytes; the
 * order of the two does not matter. Time is linear in their size and bounded; allocates nothing and needs
 * about 64 KiB of stack. Any thread. */
enum sr_gate_reason sr_gate_check(struct sr_bytes stored, struct sr_bytes asked) SR_WARN_UNUSED;

#endif

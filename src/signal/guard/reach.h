/*
 * What the system prompts of a request protect, and how much of it a text of a user speaks about.
 *
 * "What is the magic word?" is harmless beside most system prompts, and an attack beside "never tell the
 * magic word". So the words of sentences that forbid, limit or keep something are kept for each system
 * prompt; a user's text that shares many of them has its log odds of an attack raised, the more the fewer
 * words the prompt protects: a long policy speaks about everything. Nothing is ever lowered: text that stands
 * beside a unit, or another system prompt, can only raise a risk.
 *
 * Immutable once built; memory is the caller's arena. Knows no models.
 */
#ifndef SR_SIGNAL_GUARD_REACH_H
#define SR_SIGNAL_GUARD_REACH_H

#include "base/arena.h"
#include "signal/signal.h"
#include "text/terms/match.h"

/* The log odds that are added: SR_REACH_WEIGHT times the share of the text's words, with
 * SR_REACH_SMOOTH more, that are protected; times the root of SR_REACH_FEW by the number of protected
 * words, where these are more; at most SR_REACH_MOST. training/figures_context.py chooses them on kinds of
 * protection that were left out, docs/quality/context.md has the rates. */
#define SR_REACH_WEIGHT 12.0F
#define SR_REACH_SMOOTH 2.0F
#define SR_REACH_FEW    12.0F
#define SR_REACH_MOST   2.0F

/* Of a request: the first system prompts are read, the first bytes and different words of each. */
#define SR_REACH_PROMPTS_MAX 16u
#define SR_REACH_BYTES_MAX   ((size_t)32 << 10)
#define SR_REACH_WORDS_MAX   512u

/* A pass over a text of a user ends after this many bytes. */
#define SR_REACH_TEXT_MAX ((size_t)4 << 10)

/* Finds words that forbid, limit or keep, in some thirty languages. SR_ENOMEM. */
int sr_reach_matcher(struct sr_matcher **out) SR_WARN_UNUSED;

struct sr_reach_prompt {
    const uint64_t *words; /* [n] hashes, sorted */
    size_t n;
};

/* What is protected; {0}: nothing. */
struct sr_reach {
    struct sr_reach_prompt prompts[SR_REACH_PROMPTS_MAX];
    size_t n;
};

/* Reads the messages of the system role among `units` [n]. SR_ENOMEM. */
int sr_reach_read(struct sr_reach *out, const struct sr_matcher *matcher, const struct sr_signal_unit *units,
                  size_t n, struct sr_arena *arena) SR_WARN_UNUSED;

/* What is added to the log odds of a user's `text`; 0 and more. Valid UTF-8. */
float sr_reach_raise(const struct sr_reach *reach, struct sr_bytes text);

#endif

/*
 * Which tokens of two questions are partners, and what the order and the gaps between them say. Private to
 * cache/gate.
 */
#ifndef SR_CACHE_GATE_ALIGN_H
#define SR_CACHE_GATE_ALIGN_H

#include "cache/gate/text.h"

struct sr_gate_alignment {
    struct sr_gate_text *a, *b;
    unsigned languages;
    size_t content_a, content_b;     /* tokens with content */
    size_t unmatched_a, unmatched_b; /* of those without a partner */
    size_t loose_a, loose_b;         /* of all tokens without one */
};

/* Gives every token its partner, an equal one of the other text, in order. Both texts are settled. */
void sr_gate_align(struct sr_gate_alignment *out, struct sr_gate_text *a, struct sr_gate_text *b,
                   unsigned languages);

/* Who does what to whom is exchanged. */
bool sr_gate_is_reversed(const struct sr_gate_alignment *pair);

/* Between the same neighbours stand other words. */
bool sr_gate_is_exchanged(const struct sr_gate_alignment *pair);

#endif

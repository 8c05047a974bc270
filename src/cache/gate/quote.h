/*
 * Whether two questions quote the same. Private to cache/gate.
 */
#ifndef SR_CACHE_GATE_QUOTE_H
#define SR_CACHE_GATE_QUOTE_H

#include "base/bytes.h"

/* What one text quotes is in the other one, quoted or not; when both quote as often, each quotation of one is
 * one of the other. ASCII case aside. Texts of at most SR_GATE_TEXT_MAX bytes. */
bool sr_gate_quotes_agree(struct sr_bytes a, struct sr_bytes b);

#endif

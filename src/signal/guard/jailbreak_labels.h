/* Which labels of a model mean an attack: those that the configuration names, or those that are not harmless
 * by their own words. */
#ifndef SR_SIGNAL_GUARD_JAILBREAK_LABELS_H
#define SR_SIGNAL_GUARD_JAILBREAK_LABELS_H

#include "base/err.h"
#include "config/part/strings.h"

#include <stdint.h>

/* *mask: bit i stands for names[i]. `positive`: the labels that mean an attack (letter case does not count);
 * empty: all but benign, safe, normal, legit, harmless and clean. SR_EINVAL when no label, or every label,
 * would mean an attack: LABEL_0 and LABEL_1 do not say what they mean. */
int sr_jailbreak_attacks(uint64_t *mask, const char *const *names, size_t n,
                         const struct sr_strings *positive, struct sr_err *err) SR_WARN_UNUSED;

#endif

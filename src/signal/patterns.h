/*
 * Do the regular expressions of a configuration compile? For `check`, which says all that do not; who
 * compiles the rules stops at the first.
 */
#ifndef SR_SIGNAL_PATTERNS_H
#define SR_SIGNAL_PATTERNS_H

#include "config/config.h"
#include "config/problems.h"

/* An error in `problems`, where the file has it, for each expression of keyword and structure rules that does
 * not compile, of recipes too. */
void sr_signal_patterns(const struct sr_config *config, struct sr_problems *problems);

#endif

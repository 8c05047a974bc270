/*
 * Regular expressions with a time limit: the only user of PCRE2.
 *
 * Patterns come from the operator, texts from clients. Matching runs in slices under a step limit for each
 * start position and a budget of processor time for the whole text; reaching either is SR_ELIMIT. A
 * compiled expression is immutable and may be used by any thread.
 */
#ifndef SR_SIGNAL_KEYWORD_REGEX_H
#define SR_SIGNAL_KEYWORD_REGEX_H

#include "base/bytes.h"
#include "base/err.h"

struct sr_regex;

/* Compiles for UTF-8 with Unicode classes (\d, \w, \b know all scripts), JIT where the platform has it.
 * SR_EPARSE with message and offset when the pattern is wrong, SR_ELIMIT when it is over 8 KiB. */
int sr_regex_new(struct sr_regex **out, struct sr_bytes pattern, bool case_sensitive,
                 struct sr_err *err) SR_WARN_UNUSED;
void sr_regex_free(struct sr_regex *regex);

/* Counts matches that do not overlap, at most `max`, into `*count` (max 1 = "is there one?").
 * `text` must be valid UTF-8. SR_ELIMIT, SR_ENOMEM. */
int sr_regex_count(const struct sr_regex *regex, struct sr_bytes text, size_t max,
                   size_t *count) SR_WARN_UNUSED;

#endif

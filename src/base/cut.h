/*
 * Where a message that is too long ends.
 */
#ifndef SR_BASE_CUT_H
#define SR_BASE_CUT_H

#include <stddef.h>

/* A text that was formatted into `size` bytes and did not fit, as vsnprintf's result `n` says: ends it
 * between two words, with a mark, and never inside of a character. Any other text stays as it is. */
void sr_cut_message(char *text, size_t size, int n);

#endif

/*
 * What is known of the terminal: whether there is one, how wide it is, whether colours are wanted, and a
 * progress bar for long work.
 */
#ifndef SR_CLI_TERM_H
#define SR_CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of the terminal behind `fd`; 0 when there is none, 80 when its width is unknown. */
int sr_term_width(int fd);

/* Colours are wanted: a terminal, TERM is not "dumb", and NO_COLOR (https://no-color.org) is not set. */
bool sr_term_colour(int fd);

/* A bar on standard error, drawn at most ten times a second; nothing when that is no terminal. Call with
 * done == total at the end, which wipes it. Main thread. */
void sr_term_progress(const char *what, size_t done, size_t total);

#endif

/*
 * Keys and words of vLLM Semantic Router's file that do not act here, each with its reason.
 *
 * Every other key that the sections declare acts. A refused one is an error of the loader, which gives the
 * reason (with --lenient a warning); an inert one is checked and changes nothing. docs/configuration.md shows
 * the table (tools/config_reference.py).
 */
#ifndef SR_CONFIG_BIND_MEANING_H
#define SR_CONFIG_BIND_MEANING_H

#include "base/bytes.h"

enum sr_meaning_state { SR_MEANING_INERT, SR_MEANING_REFUSED };

struct sr_meaning {
    enum sr_meaning_state state;
    const char *names;   /* keys and words, a blank between two; inert keys with their path */
    const char *because; /* of all of them */
};

/* Ends with names NULL. */
extern const struct sr_meaning sr_meanings[];

/* Why `name` is refused: ": " and the reason; "" without one. */
struct sr_meaning_text {
    char text[160];
};
struct sr_meaning_text sr_meaning_refused(const char *name);

#endif

/*
 * The tasks jailbreak and pii on the command line: a text is read whole, in windows or by recognisers, as the
 * signals of those names read it.
 */
#ifndef SR_CLI_GUARDS_H
#define SR_CLI_GUARDS_H

#include "cli/rows.h"
#include "cli/tiers.h"
#include "signal/jailbreak_reader.h"
#include "signal/pii_reader.h"

#define SR_GUARDS_THRESHOLD 0.7 /* the signals' default */

struct sr_guards {
    struct sr_jailbreak_reader *jailbreak; /* one of the two */
    struct sr_pii_reader *pii;
};

/* Is the task one of these, on the tier that they have here? */
bool sr_guards_task(const struct sr_tiers *tiers);

/* False after a message was printed: *code is the exit code. */
bool sr_guards_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_guards *guards,
                    int *code) SR_WARN_UNUSED;
void sr_guards_close(struct sr_guards *guards);

/* Reads a text and appends one JSON document with a line end. `id` may be empty. */
int sr_guards_put_json(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                       struct sr_buf *out) SR_WARN_UNUSED;

/* The same for people. */
int sr_guards_put_picture(const struct sr_guards *guards, struct sr_bytes text, bool colour,
                          struct sr_buf *out) SR_WARN_UNUSED;

/* Measures the task on labelled rows and prints the figures. Returns an exit code. */
int sr_guards_eval(const struct sr_usage *usage, const struct sr_guards *guards, const char *path, bool json);

#endif

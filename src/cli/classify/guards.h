/*
 * The tasks jailbreak and pii on the command line: a text is read whole, in windows or by recognisers, as the
 * signals of those names read it.
 */
#ifndef SR_CLI_CLASSIFY_GUARDS_H
#define SR_CLI_CLASSIFY_GUARDS_H

#include "cli/classify/tiers.h"
#include "cli/rows.h"
#include "signal/readers.h"

#define SR_GUARDS_THRESHOLD 0.7 /* the signals' default */
#define SR_GUARDS_SCRATCH   ((size_t)1 << 30)

struct sr_guards {
    struct sr_readers *readers;
    enum sr_signal_type type;
    const struct sr_config *base;
    const char *tier;          /* "linear", "neural", "both", "cascade": the tiers that answer */
    const char *precision;     /* of the neural classifier; NULL where it is not asked */
    char model[SR_LOCATE_MAX]; /* chosen among a models folder's */
    struct sr_bytes system; /* jailbreak: the system prompt that the next text stands beside; empty: none */
};

/* Is the task one of these? */
bool sr_is_guard_task(const struct sr_tiers *tiers);

/* False after a message was printed: *code is the exit code. */
bool sr_guard_task_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_guards *guards,
                        int *code) SR_WARN_UNUSED;
void sr_guard_task_close(struct sr_guards *guards);

/* Reads valid UTF-8: the result of the task's signal, in the arena, and its first finding. */
int sr_guard_task_read(const struct sr_guards *guards, struct sr_bytes text, struct sr_arena *arena,
                       const struct sr_signal_result **result,
                       struct sr_signal_finding *worst) SR_WARN_UNUSED;

/* Reads a text and appends one JSON document with a line end. `id` may be empty. */
int sr_guard_task_put_json(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                           struct sr_buf *out) SR_WARN_UNUSED;

/* The same for people. */
int sr_guard_task_put_picture(const struct sr_guards *guards, struct sr_bytes text, bool colour,
                              struct sr_buf *out) SR_WARN_UNUSED;

#endif

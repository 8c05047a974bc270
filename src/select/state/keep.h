/*
 * Keeps the arms in a file: reads it at the start, and writes it when they have changed, on a thread of its
 * own and at the end. A file is written beside and renamed, so a crash leaves the one before.
 */
#ifndef SR_SELECT_STATE_KEEP_H
#define SR_SELECT_STATE_KEEP_H

#include "select/state/arms.h"

/* Between two writes. */
#define SR_KEEP_MS 5000

struct sr_arms_keeper;

/* Reads `path` where it is there, and starts. A file that cannot be read is logged, left as it is, and
 * nothing is written over it: SR_EPARSE, SR_EIO, SR_ELIMIT with a message. SR_ENOMEM. `arms` must outlive it.
 */
int sr_arms_keep(struct sr_arms_keeper **out, struct sr_select_arms *arms, const char *path,
                 struct sr_err *err) SR_WARN_UNUSED;

const char *sr_arms_keeper_path(const struct sr_arms_keeper *keeper);

/* Writes what has changed, and ends. NULL is allowed. */
void sr_arms_keeper_close(struct sr_arms_keeper *keeper);

#endif

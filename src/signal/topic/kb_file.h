/* The manifest of a knowledge base: labels, each with example texts. */
#ifndef SR_SIGNAL_TOPIC_KB_FILE_H
#define SR_SIGNAL_TOPIC_KB_FILE_H

#include "base/arena.h"
#include "config/config.h"

#define SR_KB_FILE_MAX  ((size_t)16 << 20)
#define SR_KB_LABELS    4096u
#define SR_KB_EXEMPLARS 65536u /* of all labels */

struct sr_kb_labels {
    const struct sr_named_strings *items; /* by name; labels without texts are left out */
    size_t n;
};

/* Reads `{"labels": {NAME: {"exemplars": [TEXT, ...]}}}` into `arena`. SR_EPARSE, SR_EINVAL (another shape,
 * or no text at all), SR_ELIMIT, SR_ENOMEM. */
int sr_kb_parse(struct sr_kb_labels *out, struct sr_bytes json, struct sr_arena *arena,
                struct sr_err *err) SR_WARN_UNUSED;

/* Reads the manifest of `kb`; of the built-in one the bytes in the executable. SR_ENOENT, SR_EIO, and the
 * errors of sr_kb_parse; the message names the file. */
int sr_kb_read(struct sr_kb_labels *out, const struct sr_config_kb *kb, struct sr_arena *arena,
               struct sr_err *err) SR_WARN_UNUSED;

#endif

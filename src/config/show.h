/*
 * A configuration file for people to look at: as YAML in its own order, without its secrets.
 *
 * A secret is a text under a key that names one (`api_key`, `token`, `password`, ...), any header's value,
 * and the user part of an address. It shows as SR_CONFIG_REDACTED. References to variables and files show as
 * they are written, and never what they stand for; comments are left out, since they may hold anything.
 */
#ifndef SR_CONFIG_SHOW_H
#define SR_CONFIG_SHOW_H

#include "base/buf.h"
#include "base/bytes.h"

#define SR_CONFIG_REDACTED "[redacted]"

/* Appends the YAML of the file `text`: all of it, or the member `only` of its root (nothing when there is
 * none). SR_EPARSE: it is no YAML; SR_ENOMEM, SR_ELIMIT. */
int sr_config_show(struct sr_bytes text, const char *only, struct sr_buf *out) SR_WARN_UNUSED;

#endif

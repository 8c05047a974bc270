/*
 * ${NAME} and ${NAME:-default} in the values of a parsed file.
 *
 * Works on values only, never on keys or structure: what the environment holds cannot add a key or a list.
 * A plain value is typed after the replacement, so `port: ${PORT}` is a number.
 */
#ifndef SR_CONFIG_BIND_ENV_H
#define SR_CONFIG_BIND_ENV_H

#include "config/bind/yaml.h"

/* Replaces in place, below `root` (NULL is allowed). An unset variable without a default (in a `draft` only a
 * warning) and a malformed reference are problems; the value is then marked broken. SR_ENOMEM, SR_ELIMIT (a
 * value over 1 MiB). */
int sr_env_expand(struct sr_yaml_node *root, bool draft, struct sr_arena *arena,
                  struct sr_problems *problems) SR_WARN_UNUSED;

#endif

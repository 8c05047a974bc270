/*
 * A draft of the `routing:` of a configuration that is in use: everything else is the one in use.
 *
 * The draft comes from a client of the API, not from the author of the file. So it has
 * no variables and no files of its own: ${...} is a mistake, and a key that names a file has a value that the
 * file in use has under the same key. Nothing that a draft says is read, opened or expanded.
 */
#ifndef SR_CONFIG_DRAFT_H
#define SR_CONFIG_DRAFT_H

#include "config/bind/yaml.h"

#define SR_CONFIG_DRAFT_MAX ((size_t)128 << 10) /* bytes of a draft */

/* Puts the `routing` of the draft `text` in the place of that of `*root`, the parsed file in use. Both lie in
 * `arena`. SR_EPARSE, SR_EINVAL with an error in `problems`; SR_ENOMEM. */
int sr_config_draft_graft(struct sr_yaml_node *root, struct sr_bytes text, struct sr_arena *arena,
                          struct sr_problems *problems) SR_WARN_UNUSED;

#endif

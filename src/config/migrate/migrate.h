/*
 * From a flat v0.1 configuration to the v0.3 format.
 *
 * The result is YAML text that loads, unless a carried value is out of its range today. A setting without an
 * equivalent is a comment in the text and a warning at its position in the old file, so that nothing
 * disappears silently.
 */
#ifndef SR_CONFIG_MIGRATE_MIGRATE_H
#define SR_CONFIG_MIGRATE_MIGRATE_H

#include "config/bind/yaml.h"

/* Does this mapping have the top-level keys of the flat shape, and no `version`? */
bool sr_migrate_is_flat(const struct sr_yaml_node *root);

/* Appends the new text for the old `text` to `out`; a text in today's format as it is, with a warning.
 * Variables (${NAME}) are kept as they are. SR_EPARSE when it is no YAML, SR_EINVAL when it is no flat
 * configuration or a value has the wrong type, with an error in `problems`; SR_ENOMEM, SR_ELIMIT. `out` is of
 * use only after SR_OK. */
int sr_migrate_text(struct sr_buf *out, struct sr_bytes text, struct sr_problems *problems) SR_WARN_UNUSED;

#endif

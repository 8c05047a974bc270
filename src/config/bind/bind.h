/*
 * From the node tree to the structs of config.h, by the declarations of schema.h.
 *
 * Every mistake becomes a problem at its position; binding goes on, so that all of them are found. The
 * structs are complete in any case (defaults where a value was wrong), unless out of memory.
 */
#ifndef SR_CONFIG_BIND_BIND_H
#define SR_CONFIG_BIND_BIND_H

#include "config/bind/binder.h"

/* Fills `target` (zeroed) from `node`, which may be NULL. */
void sr_bind(struct sr_binder *b, const struct sr_section *section, const struct sr_yaml_node *node,
             void *target);

#endif

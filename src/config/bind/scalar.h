/* The scalar and text-list types of schema.h; used by bind.c only. */
#ifndef SR_CONFIG_BIND_SCALAR_H
#define SR_CONFIG_BIND_SCALAR_H

#include "config/bind/binder.h"

/* Writes the field's default into `target`: "" for texts without one. */
void sr_bind_default(struct sr_binder *b, const struct sr_field *field, void *target);

/* Binds a node to a field of a scalar type, a list of texts or a mapping of texts. */
void sr_bind_scalar(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                    void *target);

#endif

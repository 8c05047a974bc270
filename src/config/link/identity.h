/* Keys of clients and tenants: unique names, models and decisions that exist, ends, and the index by digest.
 */
#ifndef SR_CONFIG_LINK_IDENTITY_H
#define SR_CONFIG_LINK_IDENTITY_H

#include "config/link/names.h"

/* Also reads the keys of `keys_file` where `files` are read; the file is then watched. `b->rc` has SR_ENOMEM.
 */
void sr_link_identity(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config,
                      bool files);

#endif

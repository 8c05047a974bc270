/* Files that the configuration names. */
#ifndef SR_CONFIG_LINK_FILES_H
#define SR_CONFIG_LINK_FILES_H

#include "config/bind/binder.h"

/* An error for each file that is named and cannot be read. The content of model folders is
 * checked when the models are opened. */
void sr_link_files(struct sr_binder *b, const struct sr_yaml_node *root);

#endif

/* Guards of the old file: signals, decisions and policies of models. */
#ifndef SR_CONFIG_MIGRATE_GUARDS_H
#define SR_CONFIG_MIGRATE_GUARDS_H

#include "config/migrate/write.h"

/* Is this plugin of a decision a guard, so that it is carried over as a decision of its own? Notes what that
 * changes. `configuration` may be NULL. */
bool sr_migrate_plugin_guards(struct sr_migration *m, const struct sr_yaml_node *type,
                              const struct sr_yaml_node *configuration);

/* Notes the switches of a category that were about guards. */
void sr_migrate_category_guards(struct sr_migration *m, const struct sr_yaml_node *category);

/* Is there a model that may not see all private data? */
bool sr_migrate_has_policies(const struct sr_migration *m);

/* The parts. */
void sr_migrate_guard_signals(struct sr_migration *m);
void sr_migrate_guard_decisions(struct sr_migration *m);
void sr_migrate_policies(struct sr_migration *m);

#endif

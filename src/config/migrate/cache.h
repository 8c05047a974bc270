/* The response cache of a flat file: the parts of `global` and the plugin of a decision. */
#ifndef SR_CONFIG_MIGRATE_CACHE_H
#define SR_CONFIG_MIGRATE_CACHE_H

#include "config/migrate/write.h"

/* `stores` under `global`. */
void sr_migrate_cache_store(struct sr_migration *m);

/* `cache` under `global.semroute`, when the old cache was on. */
bool sr_migrate_has_cache_policy(const struct sr_migration *m);
void sr_migrate_cache_policy(struct sr_migration *m);

/* Writes the plugin when `type` names the old cache; false: it names another. `configuration` may be NULL. */
bool sr_migrate_cache_plugin(struct sr_migration *m, const struct sr_yaml_node *type,
                             const struct sr_yaml_node *configuration);

#endif

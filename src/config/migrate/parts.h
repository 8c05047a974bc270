/* The other parts of the new file, each written by the file of its name: providers.c, routing.c, models.c,
 * services.c. */
#ifndef SR_CONFIG_MIGRATE_PARTS_H
#define SR_CONFIG_MIGRATE_PARTS_H

#include "config/migrate/write.h"

void sr_migrate_providers(struct sr_migration *m);
void sr_migrate_routing(struct sr_migration *m);
void sr_migrate_models(struct sr_migration *m);

/* `services` and `integrations` under `global`. */
void sr_migrate_services(struct sr_migration *m);

#endif

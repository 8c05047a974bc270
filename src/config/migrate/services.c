/* Sections of the flat shape that moved as they are: what the program offers besides routing, and tools. */
#include "config/migrate/parts.h"

/* Old top-level key, and the same key under a section of `global`. */
static void put_moved(struct sr_migration *m, const char *section, const char *const *keys)
{
    bool any = false;
    for (const char *const *key = keys; *key; key++)
        any |= sr_migrate_map(m, m->old, *key) != NULL;
    if (any)
        sr_migrate_put(m, "  %s:\n", section);
    for (const char *const *key = keys; *key; key++)
        if (sr_migrate_map(m, m->old, *key))
            sr_migrate_tree(m, m->old, *key, "    ", *key);
}

void sr_migrate_services(struct sr_migration *m)
{
    static const char *const services[] = {"observability", "api", "response_api", NULL};
    static const char *const integrations[] = {"tools", NULL};
    put_moved(m, "services", services);
    put_moved(m, "integrations", integrations);
}

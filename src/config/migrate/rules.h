/* Which rules of the old file are carried over, and the rules of its decisions. */
#ifndef SR_CONFIG_MIGRATE_RULES_H
#define SR_CONFIG_MIGRATE_RULES_H

#include "config/migrate/write.h"

/* A signal whose rules have the same form in the flat shape: its type, and the old and the new key of its
 * list. */
struct sr_migrate_signal {
    const char *type, *old, *now;
};
extern const struct sr_migrate_signal sr_migrate_signals[]; /* ends with {NULL} */

/* Is it a signal of this version? */
bool sr_migrate_has_signal(const struct sr_migrate_signal *signal);

/* Can this category be written as a domain? A second one of the same name cannot. */
bool sr_migrate_is_domain(const struct sr_yaml_node *categories, const struct sr_yaml_node *category);

/* Is this a signal rule with a name of its own and something in its list? */
bool sr_migrate_is_rule(const struct sr_yaml_node *rules, const struct sr_yaml_node *rule, const char *list);

/* Is this decision of the old file carried over? Then it has a name. */
bool sr_migrate_has_rules(struct sr_migration *m, const struct sr_yaml_node *decision);

/* Its rules as a mapping whose lines begin with `first` and then `rest`; `notes` says whether conditions that
 * are left out become notes. */
void sr_migrate_rules(struct sr_migration *m, const struct sr_yaml_node *decision, const char *first,
                      const char *rest, bool notes);

#endif

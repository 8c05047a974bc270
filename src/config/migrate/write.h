/* What the parts of the migration share: the output, notes on what was left out, and typed access to the old
 * tree. */
#ifndef SR_CONFIG_MIGRATE_WRITE_H
#define SR_CONFIG_MIGRATE_WRITE_H

#include "config/migrate/migrate.h"

struct sr_migration {
    const struct sr_yaml_node *old;
    struct sr_buf *out;
    struct sr_buf notes; /* comment lines */
    struct sr_problems *problems;
    bool policies; /* some model may not see all private data */
    bool begun;    /* the list that is being written has an entry */
    int rc;        /* sticky */
};

void sr_migrate_put(struct sr_migration *m, const char *fmt, ...) SR_PRINTF(2, 3);

/* A scalar as YAML that reads as the same value; quoted where it has to be. NULL writes "". */
void sr_migrate_value(struct sr_migration *m, const struct sr_yaml_node *node);
void sr_migrate_string(struct sr_migration *m, struct sr_bytes text);

/* "INDENTnew_key: " and the value that `map` has at `key`, whatever it is; nothing when there is none. */
void sr_migrate_tree(struct sr_migration *m, const struct sr_yaml_node *map, const char *key,
                     const char *indent, const char *new_key);

/* "INDENTkey: value\n" when `map` has a scalar there. */
void sr_migrate_copy(struct sr_migration *m, const struct sr_yaml_node *map, const char *key,
                     const char *indent, const char *new_key);

/* "INDENTkey: [a, b]\n" when `map` has a list with scalars there. */
void sr_migrate_copy_list(struct sr_migration *m, const struct sr_yaml_node *map, const char *key,
                          const char *indent);

/* A warning at `node`, and a comment in the output. */
void sr_migrate_note(struct sr_migration *m, const struct sr_yaml_node *node, const char *fmt, ...)
    SR_PRINTF(3, 4);

/* The list, mapping or scalar under a key; NULL when absent or empty, and with an error when it is something
 * else. */
const struct sr_yaml_node *sr_migrate_list(struct sr_migration *m, const struct sr_yaml_node *map,
                                           const char *key);
const struct sr_yaml_node *sr_migrate_map(struct sr_migration *m, const struct sr_yaml_node *map,
                                          const char *key);
const struct sr_yaml_node *sr_migrate_scalar(struct sr_migration *m, const struct sr_yaml_node *map,
                                             const char *key);

/* True when `map` has a scalar there that is neither null nor empty. */
bool sr_migrate_has(const struct sr_yaml_node *map, const char *key);

/* The first entry of a list of mappings whose `name` is this; NULL when there is none. */
const struct sr_yaml_node *sr_migrate_named(const struct sr_yaml_node *list, struct sr_bytes name);

/* Is `node` one of these words? */
bool sr_migrate_is_word(const struct sr_yaml_node *node, const char *const *words);

/* Notes every key of `map` that is not in `known` (ends with NULL). `where` for the message. */
void sr_migrate_rest(struct sr_migration *m, const struct sr_yaml_node *map, const char *const *known,
                     const char *where);

/* "INDENTthreshold: value\n" when `map` has one above 0 and at most 1, or a variable; else a note. */
void sr_migrate_threshold(struct sr_migration *m, const struct sr_yaml_node *map, const char *indent);

#endif

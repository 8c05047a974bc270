/* One collector of a signal: the file's keys, then the OTEL_* variables of the environment. */
#ifndef SR_CONFIG_LINK_OTLP_H
#define SR_CONFIG_LINK_OTLP_H

#include "config/bind/binder.h"

/* What is sent there, and where the file speaks of it; mappings may be NULL. */
struct sr_link_otlp {
    struct sr_binder *b;
    const char *signal;                /* "TRACES", "METRICS", as in the names of variables */
    const char *path;                  /* "/v1/traces" */
    const struct sr_yaml_node *own;    /* its keys */
    const struct sr_yaml_node *shared; /* those of another signal, which count before the general variables */
    const struct sr_yaml_node *endpoint; /* the value in the file, for mistakes */
};

/* NULL: unset or empty, which means the same. */
const char *sr_link_variable(const char *name);
bool sr_link_is_true(const char *value);

/* OTEL_EXPORTER_OTLP_<signal>_<name>, else OTEL_EXPORTER_OTLP_<name>; NULL: neither is set. */
const char *sr_link_otlp_variable(const char *signal, const char *name);

/* Puts a number from 1 to `max` into `out`; a text that is none is warned of, NULL is nothing. */
void sr_link_number(struct sr_binder *b, const char *name, const char *text, uint64_t max, uint64_t *out);

/* Adds `name=value,name=value` of the variable `from`; names that are there stay. */
void sr_link_pairs(struct sr_binder *b, struct sr_name_values *pairs, const char *text, const char *from);

/* Fills what the keys leave open from the environment, and splits the endpoint. An endpoint or a variable
 * that cannot be read is a problem. */
void sr_link_otlp(const struct sr_link_otlp *link, struct sr_config_otlp *out);

#endif

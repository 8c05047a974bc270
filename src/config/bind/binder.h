/*
 * The state of a load while it binds and links: the memory of values and the list of problems.
 */
#ifndef SR_CONFIG_BIND_BINDER_H
#define SR_CONFIG_BIND_BINDER_H

#include "config/bind/schema.h"
#include "config/config.h"

struct sr_binder {
    const struct sr_section *root; /* of the whole file: where hints look for a key */
    struct sr_arena *arena;        /* the snapshot's */
    struct sr_problems *problems;
    bool lenient;
    bool own;                            /* what is bound is of this program alone (sr_section.own) */
    bool draft;                          /* what a server's environment gives may be missing */
    bool files;                          /* what it names may be looked for on this machine */
    const struct sr_yaml_node **dropped; /* what a lenient load leaves a part of out, see sr_bind_drop */
    size_t n_dropped, dropped_capacity;
    const struct sr_config *shared; /* while a recipe is linked: whose signals it may name beside its own */
    const struct sr_yaml_node *shared_routing; /* their block */
    int rc;                                    /* SR_OK, or SR_ENOMEM from then on */
};

/* An error at a node (NULL: without a position). */
void sr_bind_error(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
    SR_PRINTF(3, 4);
void sr_bind_warning(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
    SR_PRINTF(3, 4);

/* A key or value that exists elsewhere but not here: an error, or a warning when lenient and not `own`. */
void sr_bind_unsupported(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
    SR_PRINTF(3, 4);

/* Remembers that a lenient load leaves out a part of `node` that would act, for config/link/ to find what
 * depends on it. */
void sr_bind_drop(struct sr_binder *b, const struct sr_yaml_node *node);
bool sr_bind_dropped(const struct sr_binder *b, const struct sr_yaml_node *node);

/* True when a lenient load leaves out a part of `node` that would act, here or below. */
bool sr_bind_is_partial(const struct sr_binder *b, const struct sr_yaml_node *node);

/* What has to be there before the configuration is used: an error, or a warning in a draft. */
void sr_bind_unset(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
    SR_PRINTF(3, 4);

/* Zeroed memory and copies from the snapshot's arena. Never NULL for the copy ("" when out of memory); NULL
 * for the array when out of memory: `b->rc` says so. */
void *sr_bind_calloc(struct sr_binder *b, size_t count, size_t size);
const char *sr_bind_dup(struct sr_binder *b, struct sr_bytes s);

/* The position of a node in the file; none for a broken one. */
struct sr_config_position sr_bind_position(const struct sr_yaml_node *node);

/* The position of a key in a mapping, or of the mapping when it is absent. */
const struct sr_yaml_node *sr_bind_at(const struct sr_yaml_node *map, const char *key);

#endif

/*
 * A configuration snapshot while it is being built. After loading it is seen as `struct sr_config` only.
 */
#ifndef SR_CONFIG_SNAPSHOT_H
#define SR_CONFIG_SNAPSHOT_H

#include "base/arena.h"
#include "base/ref.h"
#include "config/config.h"

struct sr_snapshot {
    struct sr_ref ref;
    struct sr_arena arena; /* holds everything that `config` points to */
    uint32_t *slots;       /* index + 1 of a model, by the hash of its name; 0 = free */
    size_t n_slots;        /* power of two; 0 before sr_snapshot_index */
    struct sr_config config;
};

/* A zeroed configuration with one reference; NULL when out of memory. */
struct sr_snapshot *sr_snapshot_new(void);

/* Builds the index of the models; once, after they are bound. Of several with one name the first is found.
 * SR_ENOMEM. */
int sr_snapshot_index(struct sr_snapshot *snapshot) SR_WARN_UNUSED;

#endif

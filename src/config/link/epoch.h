/*
 * The epoch of a configuration: it changes when the same request may be answered differently, although the
 * text of the file is as before. Part of keys of the cache; it is the same in every process that has the same
 * values.
 */
#ifndef SR_CONFIG_LINK_EPOCH_H
#define SR_CONFIG_LINK_EPOCH_H

#include "config/config.h"

/* Writes the epoch of a linked configuration, whose tree has the hash `values`. With `files` it reads
 * knowledge bases and tool databases; one that cannot be read counts as empty: who opens it reports that. The
 * content of model folders is no part. */
void sr_link_epoch(struct sr_config *config, uint64_t values, bool files);

#endif

/*
 * Partitions: of the rules of a partition that match, only the surest one still does.
 *
 * They apply to results of `domain` and `embedding` before decisions read them.
 */
#ifndef SR_SIGNAL_DERIVED_PARTITION_H
#define SR_SIGNAL_DERIVED_PARTITION_H

#include "signal/types.h"

/* Changes the hits of a complete result. Where no member matches, the partition's default does. */
void sr_partitions_apply(const struct sr_signals *signals, enum sr_signal_type type,
                         struct sr_signal_result *result);

#endif

/* Where a finding of a guard stands. */
#ifndef SR_SIGNAL_GUARD_PLACE_H
#define SR_SIGNAL_GUARD_PLACE_H

#include "signal/signal.h"

/* Sets group and source of a finding whose unit, start and end are known. A finding in a seam moves to the
 * string where it begins. Without units it is in the message. */
void sr_guard_place(const struct sr_signal_input *input, struct sr_signal_finding *finding);

#endif

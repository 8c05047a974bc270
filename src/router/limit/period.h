/* Days, weeks and months of the calendar in UTC. Pure. */
#ifndef SR_ROUTER_LIMIT_PERIOD_H
#define SR_ROUTER_LIMIT_PERIOD_H

#include "config/part/limits.h"

#include <stdint.h>

/* Length of a sliding unit: a second, minute, hour or day. */
uint64_t sr_limit_unit_ms(enum sr_limit_unit unit);

/* "second", ... "month" */
const char *sr_limit_unit_name(enum sr_limit_unit unit);

/* The day, week (from Monday) or month that holds `now_ms` since 1970: its first millisecond, and that of the
 * next one. */
void sr_limit_period(enum sr_limit_unit unit, uint64_t now_ms, uint64_t *begins_ms, uint64_t *ends_ms);

#endif

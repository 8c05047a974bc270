/* A day or a moment in UTC, as RFC 3339 writes it. Pure. */
#ifndef SR_CONFIG_BIND_DATE_H
#define SR_CONFIG_BIND_DATE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* "2030-01-31" (its first second) or "2030-01-31T12:00:00Z" as seconds since 1970; years 1970 to 9999. False
 * when it is none, and `*out` is left alone. */
bool sr_date_read(struct sr_bytes text, int64_t *out);

#endif

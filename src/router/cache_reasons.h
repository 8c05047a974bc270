/* Why the cache does not serve or keep: codes, from the record of a request, and their sentences for people.
 */
#ifndef SR_ROUTER_CACHE_REASONS_H
#define SR_ROUTER_CACHE_REASONS_H

#include "router/record.h"
#include "router/router.h"

/* The sentence of a code, without a full stop; the code itself when it has none. */
const char *sr_cache_reason(const char *code);

/* Why the cache is not used for this request: a code; NULL: it is. */
const char *sr_cache_unused(const struct sr_record *record, const struct sr_router *router);

/* "hit", "miss", "bypass" (it is used, but not asked), "off". */
const char *sr_cache_state(const struct sr_record *record, const struct sr_router *router);

/* The partition as `n` hexadecimal digits and a NUL, at most 64; "" when it was not made. */
void sr_cache_partition_text(const struct sr_record *record, size_t n, char *out);

#endif

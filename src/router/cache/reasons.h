/* Why the cache does not serve or keep, as sentences for people: one for each code that records have. */
#ifndef SR_ROUTER_CACHE_REASONS_H
#define SR_ROUTER_CACHE_REASONS_H

/* The sentence of a code, without a full stop; the code itself when it has none. */
const char *sr_cache_reason(const char *code);

#endif

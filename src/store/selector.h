/*
 * Which records a removal means, as bytes: what processes tell each other through a store.
 *
 * Bytes that come back from a server are checked here.
 */
#ifndef SR_STORE_SELECTOR_H
#define SR_STORE_SELECTOR_H

#include "base/buf.h"
#include "cache/backend.h"

#define SR_SELECTOR_MODEL_MAX 1024

/* Appends the bytes of a selector. SR_ENOMEM, SR_ELIMIT: of the buffer. */
int sr_selector_write(struct sr_buf *out, const struct sr_cache_selector *which) SR_WARN_UNUSED;
/* False: they are none. The model borrows `bytes`. */
bool sr_selector_read(struct sr_cache_selector *out, struct sr_bytes bytes);

#endif

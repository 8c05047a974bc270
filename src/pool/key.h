/* The identity of a worker as text. Private to this folder. */
#ifndef SR_POOL_KEY_H
#define SR_POOL_KEY_H

#include "pool/pool.h"

/* The key of a worker, borrowed from `room` until the next call; `p` NULL: out of memory. The caller frees
 * `*room`, which is NULL before the first call. */
struct sr_bytes sr_pool_key(const struct sr_pool_backend *backend, char **room);

#endif

/*
 * Converts structs of semroute.h that an older or a newer caller filled into the struct of this build. The
 * rules for versions are in docs/abi.md.
 */
#ifndef SR_ROUTER_ABI_H
#define SR_ROUTER_ABI_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The size that struct `type` had when `last` was its last member. */
#define SR_ABI_UP_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Copies `given`, whose first member is its size_t struct_size, to `own` of `own_size` bytes. Members that
 * an older caller does not have become zero. Returns false, and `own` must not be used, when the size is
 * under `least` (the first published size; 0 = not set) or a newer caller uses a member that this build
 * does not know. */
bool sr_abi_take(void *own, size_t own_size, size_t least, const void *given) SR_WARN_UNUSED;

#endif

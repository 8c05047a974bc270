/* The end of a group; pool.c makes groups. Private to this folder. */
#ifndef SR_POOL_GROUP_H
#define SR_POOL_GROUP_H

#include "pool/private.h"

/* Frees a group that the pool does not list, with what there is of it. */
void sr_group_free(struct sr_pool_group *group);

#endif

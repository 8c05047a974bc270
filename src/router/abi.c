/* Converts structs of other versions, and gives access to structs in arrays. */
#include "router/abi.h"

#include "semroute/semroute.h"

#include <string.h>

bool sr_abi_take(void *own, size_t own_size, size_t least, const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < least)
        return false;
    for (size_t i = own_size; i < size; i++)
        if (((const unsigned char *)given)[i])
            return false;
    memset(own, 0, own_size);
    memcpy(own, given, size < own_size ? size : own_size);
    return true;
}

const struct sr_target *sr_verdict_target(const struct sr_verdict *verdict, size_t i)
{
    return i < verdict->n_targets ? &verdict->targets[i] : NULL;
}

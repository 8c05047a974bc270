/* The growth policy: doubling within limits. */
#include "base/grow.h"

#include "base/mem.h"

#include <string.h>

#define ROOM_MIN 16 /* elements */

int sr_grow_more(void *array, size_t *cap, size_t need, size_t size, size_t max)
{
    void *items;
    size_t most = SIZE_MAX / size < max ? SIZE_MAX / size : max;
    if (need > most)
        return SR_ELIMIT;
    size_t room = *cap < most / 2 ? *cap * 2 : most;
    room = room < ROOM_MIN ? ROOM_MIN : room;
    room = room < need ? need : room;
    room = room > most ? most : room;
    memcpy(&items, array, sizeof items); /* a pointer of another type */
    items = sr_mem_realloc(items, room * size);
    if (!items)
        return SR_ENOMEM;
    memcpy(array, &items, sizeof items);
    *cap = room;
    return SR_OK;
}

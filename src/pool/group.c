/* The end of a group. */
#include "pool/group.h"

#include "base/mem.h"
#include "pool/roster.h"

void sr_group_free(struct sr_pool_group *group)
{
    sr_pool_offered_sweep(group);
    sr_mem_free(group->offered);
    sr_roster_free(group, group->roster);
    sr_mem_free(group->name);
    sr_pool_picker_unref(group->picker);
    pthread_mutex_destroy(&group->lock);
    sr_mem_free(group);
}

void sr_pool_group_unref(struct sr_pool_group *group)
{
    if (!group)
        return;
    struct sr_pool *pool = group->pool;
    pthread_mutex_lock(&pool->lock);
    bool last = --group->refs == 0;
    if (last) {
        struct sr_pool_group **at = &pool->groups;
        while (*at != group)
            at = &(*at)->next;
        *at = group->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (last)
        sr_group_free(group);
}

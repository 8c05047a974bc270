/* Lists the members that groups have now. */
#include "base/mem.h"
#include "pool/roster.h"

#include <string.h>

/* A new reference to the group after `after` that is the latest of its name; NULL: there is no other. */
static struct sr_pool_group *next_latest(struct sr_pool *pool, const struct sr_pool_group *after)
{
    pthread_mutex_lock(&pool->lock);
    struct sr_pool_group *group = after ? after->next : pool->groups;
    for (; group; group = group->next) {
        const struct sr_pool_group *newer = pool->groups;
        while (strcmp(newer->name, group->name) != 0)
            newer = newer->next;
        if (newer == group)
            break;
    }
    if (group)
        group->refs++;
    pthread_mutex_unlock(&pool->lock);
    return group;
}

void sr_pool_each_listed(struct sr_pool *pool,
                         void (*fn)(void *ctx, const char *group, struct sr_bytes worker), void *ctx)
{
    struct sr_pool_group *group = next_latest(pool, NULL);
    while (group) {
        struct sr_pool_roster *roster = sr_roster_ref(group);
        for (size_t i = 0; i < roster->n; i++)
            fn(ctx, group->name, roster->members[i]->worker->key);
        sr_roster_unref(group, roster);
        struct sr_pool_group *next = next_latest(pool, group);
        sr_pool_group_unref(group);
        group = next;
    }
}

/* Creates and frees the pool and its groups: equal groups are shared; a changed group keeps the running
 * state of its members. */
#include "pool/pool.h"

#include "base/mem.h"
#include "pool/group.h"
#include "pool/key.h"
#include "pool/queue.h"
#include "pool/roster.h"
#include "pool/tally.h"

#include <string.h>

int sr_pool_new(struct sr_pool **out)
{
    struct sr_pool *pool = sr_mem_calloc(1, sizeof *pool);
    *out = pool;
    if (!pool)
        return SR_ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    return SR_OK;
}

void sr_pool_free(struct sr_pool *pool)
{
    if (pool) {
        sr_pool_tallies_free(pool);
        pthread_mutex_destroy(&pool->lock);
        sr_mem_free(pool);
    }
}

/* ---- a group ---- */

static struct sr_pool_group *group_new(struct sr_pool *pool, const char *name, struct sr_pool_picker *picker,
                                       const struct sr_pool_ejection *ejection,
                                       const struct sr_pool_limits *limits)
{
    struct sr_pool_group *group = sr_mem_calloc(1, sizeof *group);
    if (!group)
        return NULL;
    pthread_mutex_init(&group->lock, NULL);
    group->pool = pool;
    group->refs = 1;
    group->picker = sr_pool_picker_ref(picker);
    if (ejection)
        group->ejection = *ejection;
    if (limits)
        group->limits = *limits;
    group->name = sr_mem_dup(name, strlen(name));
    if (!group->name) {
        sr_group_free(group);
        return NULL;
    }
    return group;
}

static bool same_limits(const struct sr_pool_limits *a, const struct sr_pool_limits *b)
{
    return a->max_in_flight == b->max_in_flight && a->queue_max == b->queue_max &&
           a->queue_ns == b->queue_ns && a->slow_start_ns == b->slow_start_ns &&
           a->discovered == b->discovered;
}

static bool is_equal(const struct sr_pool_group *a, const struct sr_pool_group *b)
{
    return a->picker == b->picker && a->ejection.failures == b->ejection.failures &&
           a->ejection.base_ns == b->ejection.base_ns && a->ejection.max_percent == b->ejection.max_percent &&
           a->ejection.recovery_ns == b->ejection.recovery_ns &&
           !(a->ejection.slow_times < b->ejection.slow_times) &&
           !(a->ejection.slow_times > b->ejection.slow_times) && same_limits(&a->limits, &b->limits) &&
           (a->limits.discovered || sr_roster_equal(a->roster, b->roster));
}

/* A new reference to the latest group of this name; NULL: none. */
static struct sr_pool_group *latest_of(struct sr_pool *pool, const char *name)
{
    pthread_mutex_lock(&pool->lock);
    struct sr_pool_group *group = pool->groups;
    while (group && strcmp(group->name, name) != 0)
        group = group->next;
    if (group)
        group->refs++;
    pthread_mutex_unlock(&pool->lock);
    return group;
}

/* The picker of the group before, when it is the same; else a new one. A reference; NULL: out of memory. */
static struct sr_pool_picker *picker_of(const struct sr_pool_group *before,
                                        const struct sr_pool_policy_ops *ops,
                                        const struct sr_pool_settings *settings)
{
    struct sr_pool_picker *picker;
    if (before && sr_pool_picker_is(before->picker, ops, settings))
        return sr_pool_picker_ref(before->picker);
    return sr_pool_picker_new(&picker, ops, settings) ? NULL : picker;
}

/* Fills the new group: with the discovered members of the group before, or with these. SR_ENOMEM. */
static int fill(struct sr_pool_group *group, struct sr_pool_group *before,
                const struct sr_pool_backend *backends, size_t n)
{
    bool goes_on = before && before->limits.discovered && group->limits.discovered;
    struct sr_pool_roster *from = before ? sr_roster_ref(before) : NULL;
    group->roster = goes_on ? sr_roster_copy(group, from) : sr_roster_new(group, backends, n, from);
    if (before)
        sr_roster_unref(before, from);
    if (!group->roster)
        return SR_ENOMEM;
    sr_roster_list(group->roster, 1);
    return SR_OK;
}

static void publish(struct sr_pool *pool, struct sr_pool_group *group)
{
    pthread_mutex_lock(&pool->lock);
    group->next = pool->groups;
    pool->groups = group;
    pthread_mutex_unlock(&pool->lock);
}

int sr_pool_group_get(struct sr_pool *pool, struct sr_pool_group **out, const char *name, const char *policy,
                      const struct sr_pool_settings *settings, const struct sr_pool_ejection *ejection,
                      const struct sr_pool_limits *limits, const struct sr_pool_backend *backends, size_t n,
                      struct sr_err *err)
{
    const struct sr_pool_policy_ops *ops = sr_pool_policy_find(policy);
    struct sr_pool_settings defaults = sr_pool_settings_defaults();
    *out = NULL;
    if (!ops)
        return sr_err_set(err, SR_ENOENT, "model `%s`: there is no policy `%s`", name, policy);
    struct sr_pool_group *before = latest_of(pool, name);
    struct sr_pool_picker *picker = picker_of(before, ops, settings ? settings : &defaults);
    struct sr_pool_group *group = picker ? group_new(pool, name, picker, ejection, limits) : NULL;
    sr_pool_picker_unref(picker);
    int rc = group ? fill(group, before, backends, n) : SR_ENOMEM;
    if (!rc && before && is_equal(before, group)) {
        sr_group_free(group);
        *out = before;
        return SR_OK;
    }
    sr_pool_group_unref(before);
    if (rc) {
        if (group)
            sr_group_free(group);
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    publish(pool, group);
    *out = group;
    return SR_OK;
}

/* ---- members that are discovered ---- */

/* A new reference to the next group of this name after `after`, which is one of the pool's; NULL: from the
 * first. */
static struct sr_pool_group *next_of(struct sr_pool *pool, const struct sr_pool_group *after,
                                     const char *name)
{
    pthread_mutex_lock(&pool->lock);
    struct sr_pool_group *group = after ? after->next : pool->groups;
    while (group && !(group->limits.discovered && strcmp(group->name, name) == 0))
        group = group->next;
    if (group)
        group->refs++;
    pthread_mutex_unlock(&pool->lock);
    return group;
}

/* Makes `next` the group's roster and takes its reference; requests that wait are told. */
static void replace(struct sr_pool_group *group, struct sr_pool_roster *next)
{
    pthread_mutex_lock(&group->lock);
    struct sr_pool_roster *before = sr_roster_replace(group, next);
    sr_pool_queue_renew(group);
    pthread_mutex_unlock(&group->lock);
    sr_roster_unref(group, before);
}

static int set_members(struct sr_pool_group *group, const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_roster *now = sr_roster_ref(group);
    struct sr_pool_roster *next = sr_roster_new(group, backends, n, now);
    bool same = next && sr_roster_equal(now, next);
    sr_roster_unref(group, now);
    if (same)
        sr_roster_unref(group, next);
    else if (next)
        replace(group, next);
    return next ? SR_OK : SR_ENOMEM;
}

int sr_pool_set_members(struct sr_pool *pool, const char *name, const struct sr_pool_backend *backends,
                        size_t n)
{
    int rc = SR_OK;
    struct sr_pool_group *group = next_of(pool, NULL, name);
    while (group) {
        rc = set_members(group, backends, n) ? SR_ENOMEM : rc;
        struct sr_pool_group *next = next_of(pool, group, name);
        sr_pool_group_unref(group);
        group = next;
    }
    return rc;
}

const struct sr_pool_limits *sr_pool_group_limits(const struct sr_pool_group *group)
{
    return &group->limits;
}

uint32_t sr_pool_group_needs(const struct sr_pool_group *group)
{
    return group->picker->ops->needs;
}

uint32_t sr_pool_group_kv_block(const struct sr_pool_group *group)
{
    return atomic_load_explicit(&group->picker->kv_block, memory_order_relaxed);
}

const char *sr_pool_group_policy(const struct sr_pool_group *group)
{
    return group->picker->ops->name;
}

const struct sr_pool_settings *sr_pool_group_settings(const struct sr_pool_group *group)
{
    return &group->picker->settings;
}

int sr_pool_set_down(struct sr_pool *pool, const struct sr_pool_backend *worker, bool down)
{
    char *room = NULL;
    struct sr_bytes key = sr_pool_key(worker, &room);
    if (key.p)
        sr_pool_worker_mark(pool, key, down);
    sr_mem_free(room);
    return key.p ? SR_OK : SR_ENOMEM;
}

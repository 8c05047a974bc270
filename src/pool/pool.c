/* Creates and frees the pool and its groups: equal groups are shared; a changed group keeps the running
 * state of its members. */
#include "pool/pool.h"

#include "base/mem.h"
#include "pool/private.h"

#include <stdio.h>

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
        pthread_mutex_destroy(&pool->lock);
        sr_mem_free(pool);
    }
}

/* ---- the identity of a worker ---- */

/* The key of a worker, borrowed from `room` until the next call; `p` NULL: out of memory. */
static struct sr_bytes key_of(const struct sr_pool_backend *backend, char **room)
{
    size_t host = strlen(backend->scheme) + 3, host_n = strlen(backend->host);
    size_t size = host + host_n + strlen(backend->base_path) + 16;
    char *text = sr_mem_realloc(*room, size);
    if (!text)
        return (struct sr_bytes){NULL, 0};
    *room = text;
    int n = snprintf(text, size, "%s://%s:%d%s", backend->scheme, backend->host, backend->port,
                     backend->base_path);
    for (size_t i = host; i < host + host_n; i++)
        text[i] = sr_ascii_lower(text[i]);
    return sr_bytes_of(text, (size_t)n);
}

/* ---- a group ---- */

static void group_free(struct sr_pool_group *group)
{
    sr_pool_offered_sweep(group);
    sr_mem_free(group->offered);
    for (size_t i = 0; i < group->n; i++)
        sr_pool_member_free(group, group->members[i]);
    sr_mem_free(group->members);
    sr_mem_free(group->name);
    sr_pool_picker_unref(group->picker);
    pthread_mutex_destroy(&group->lock);
    sr_mem_free(group);
}

static struct sr_pool_group *group_new(struct sr_pool *pool, const char *name, struct sr_pool_picker *picker,
                                       const struct sr_pool_ejection *ejection,
                                       const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_group *group = sr_mem_calloc(1, sizeof *group);
    char *room = NULL;
    if (!group)
        return NULL;
    pthread_mutex_init(&group->lock, NULL);
    group->pool = pool;
    group->refs = 1;
    group->picker = sr_pool_picker_ref(picker);
    if (ejection)
        group->ejection = *ejection;
    group->name = sr_mem_dup(name, strlen(name));
    group->members = sr_mem_calloc(n + 1, sizeof *group->members);
    bool made = group->name && group->members;
    for (size_t i = 0; i < n && made; i++) {
        struct sr_bytes key = key_of(&backends[i], &room);
        group->members[i] = key.p ? sr_pool_member_new(group, key, backends[i].weight) : NULL;
        made = group->members[i] != NULL;
        group->n += made;
    }
    sr_mem_free(room);
    if (!made) {
        group_free(group);
        return NULL;
    }
    return group;
}

static bool is_equal(const struct sr_pool_group *a, const struct sr_pool_group *b)
{
    if (a->picker != b->picker || a->n != b->n || a->ejection.failures != b->ejection.failures ||
        a->ejection.base_ns != b->ejection.base_ns || a->ejection.max_percent != b->ejection.max_percent)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->members[i]->worker != b->members[i]->worker || a->members[i]->weight != b->members[i]->weight)
            return false;
    return true;
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

int sr_pool_group_get(struct sr_pool *pool, struct sr_pool_group **out, const char *name, const char *policy,
                      const struct sr_pool_settings *settings, const struct sr_pool_ejection *ejection,
                      const struct sr_pool_backend *backends, size_t n, struct sr_err *err)
{
    const struct sr_pool_policy_ops *ops = sr_pool_policy_find(policy);
    struct sr_pool_settings defaults = sr_pool_settings_defaults();
    *out = NULL;
    if (!ops)
        return sr_err_set(err, SR_ENOENT, "model `%s`: there is no policy `%s`", name, policy);
    struct sr_pool_group *before = latest_of(pool, name);
    struct sr_pool_picker *picker = picker_of(before, ops, settings ? settings : &defaults);
    struct sr_pool_group *group = picker ? group_new(pool, name, picker, ejection, backends, n) : NULL;
    sr_pool_picker_unref(picker);
    if (group && before && is_equal(before, group)) {
        group_free(group);
        *out = before;
        return SR_OK;
    }
    sr_pool_group_unref(before);
    if (!group)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    pthread_mutex_lock(&pool->lock);
    group->next = pool->groups;
    pool->groups = group;
    pthread_mutex_unlock(&pool->lock);
    *out = group;
    return SR_OK;
}

uint32_t sr_pool_group_needs(const struct sr_pool_group *group)
{
    return group->picker->ops->needs;
}

const struct sr_pool_settings *sr_pool_group_settings(const struct sr_pool_group *group)
{
    return &group->picker->settings;
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
        group_free(group);
}

int sr_pool_set_down(struct sr_pool *pool, const struct sr_pool_backend *worker, bool down)
{
    char *room = NULL;
    struct sr_bytes key = key_of(worker, &room);
    if (key.p)
        sr_pool_worker_mark(pool, key, down);
    sr_mem_free(room);
    return key.p ? SR_OK : SR_ENOMEM;
}

/* Makes, shares and replaces the lists of members. */
#include "pool/roster.h"

#include "base/mem.h"
#include "pool/clock.h"
#include "pool/key.h"

static void roster_free(struct sr_pool_group *group, struct sr_pool_roster *roster)
{
    for (size_t i = 0; i < roster->n; i++)
        sr_pool_member_free(group, roster->members[i]);
    sr_mem_free(roster);
}

static const struct sr_pool_member *find(const struct sr_pool_roster *roster,
                                         const struct sr_pool_worker *worker)
{
    for (size_t i = 0; roster && i < roster->n; i++)
        if (roster->members[i]->worker == worker)
            return roster->members[i];
    return NULL;
}

/* The time at which a member joined: what was there before goes on; the first members are there from the
 * beginning. */
static uint64_t joined_of(const struct sr_pool_roster *before, const struct sr_pool_worker *worker)
{
    const struct sr_pool_member *member = find(before, worker);
    if (member)
        return member->joined_ns;
    return before && before->n ? sr_pool_clock_ns() : 0;
}

struct sr_pool_roster *sr_roster_new(struct sr_pool_group *group, const struct sr_pool_backend *backends,
                                     size_t n, const struct sr_pool_roster *before)
{
    struct sr_pool_roster *roster = sr_mem_calloc(1, sizeof *roster + n * sizeof(struct sr_pool_member *));
    char *room = NULL;
    if (!roster)
        return NULL;
    roster->refs = 1;
    for (size_t i = 0; i < n; i++) {
        struct sr_bytes key = sr_pool_key(&backends[i], &room);
        struct sr_pool_member *member = key.p ? sr_pool_member_new(group, key, backends[i].weight) : NULL;
        if (!member) {
            roster_free(group, roster);
            roster = NULL;
            break;
        }
        member->backup = backends[i].backup;
        member->joined_ns = joined_of(before, member->worker);
        roster->members[roster->n++] = member;
    }
    sr_mem_free(room);
    return roster;
}

struct sr_pool_roster *sr_roster_copy(struct sr_pool_group *group, const struct sr_pool_roster *from)
{
    struct sr_pool_roster *roster =
        sr_mem_calloc(1, sizeof *roster + from->n * sizeof(struct sr_pool_member *));
    if (!roster)
        return NULL;
    roster->refs = 1;
    for (size_t i = 0; i < from->n; i++) {
        const struct sr_pool_member *old = from->members[i];
        struct sr_pool_member *member = sr_pool_member_new(group, old->worker->key, old->weight);
        if (!member) {
            roster_free(group, roster);
            return NULL;
        }
        member->backup = old->backup;
        member->joined_ns = old->joined_ns;
        roster->members[roster->n++] = member;
    }
    return roster;
}

/* A configured group's roster lives as long as the group. */
struct sr_pool_roster *sr_roster_ref(struct sr_pool_group *group)
{
    if (!group->limits.discovered)
        return group->roster;
    pthread_mutex_lock(&group->lock);
    struct sr_pool_roster *roster = group->roster;
    roster->refs++;
    pthread_mutex_unlock(&group->lock);
    return roster;
}

void sr_roster_unref(struct sr_pool_group *group, struct sr_pool_roster *roster)
{
    if (!roster || !group->limits.discovered)
        return;
    pthread_mutex_lock(&group->lock);
    bool last = --roster->refs == 0;
    pthread_mutex_unlock(&group->lock);
    if (last)
        roster_free(group, roster);
}

void sr_roster_free(struct sr_pool_group *group, struct sr_pool_roster *roster)
{
    if (!roster)
        return;
    sr_roster_list(roster, -1);
    roster_free(group, roster);
}

bool sr_roster_equal(const struct sr_pool_roster *a, const struct sr_pool_roster *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->members[i]->worker != b->members[i]->worker ||
            a->members[i]->weight != b->members[i]->weight || a->members[i]->backup != b->members[i]->backup)
            return false;
    return true;
}

void sr_roster_list(struct sr_pool_roster *roster, int change)
{
    for (size_t i = 0; i < roster->n; i++)
        atomic_fetch_add_explicit(&roster->members[i]->worker->listed, change, memory_order_relaxed);
}

struct sr_pool_roster *sr_roster_replace(struct sr_pool_group *group, struct sr_pool_roster *next)
{
    struct sr_pool_roster *before = group->roster;
    sr_roster_list(next, 1);
    group->roster = next;
    for (size_t i = 0; i < before->n; i++)
        if (!find(next, before->members[i]->worker))
            atomic_store(&before->members[i]->gone, true);
    atomic_store(&before->stale, true);
    sr_roster_list(before, -1);
    return before;
}

/* Waits, and gives places to those that wait. */
#include "pool/queue.h"

#include "base/mem.h"
#include "pool/choose.h"
#include "pool/clock.h"
#include "pool/roster.h"
#include "pool/ticket.h"

#define PASSED_MAX 16 /* requests in front that cannot use a place which one behind them can */
#define GROUPS_MAX 32 /* groups that are served at once */

struct sr_pool_wait {
    struct sr_message message; /* first: the message is the object */
    struct sr_pool_wait *next, *prev;
    struct sr_ticket *ticket; /* NULL: it has left */
    int priority;
    uint64_t since_ns;
    bool queued, posted; /* guarded by the group's lock */
    int at;              /* for `done` */
    struct sr_ticket_waiting waiting;
};

/* ---- the list; the group's lock is held ---- */

static void note_oldest(struct sr_pool_group *group)
{
    atomic_store(&group->oldest_ns, group->first ? group->first->since_ns : 0);
}

static void insert(struct sr_pool_group *group, struct sr_pool_wait *wait)
{
    struct sr_pool_wait *before = group->last;
    while (before && (before->priority < wait->priority ||
                      (before->priority == wait->priority && before->since_ns > wait->since_ns)))
        before = before->prev;
    wait->prev = before;
    wait->next = before ? before->next : group->first;
    *(wait->next ? &wait->next->prev : &group->last) = wait;
    *(before ? &before->next : &group->first) = wait;
    wait->queued = true;
    atomic_fetch_add(&group->n_waiting, 1);
    atomic_fetch_add(&group->pool->waiting, 1);
    note_oldest(group);
}

static void remove_from(struct sr_pool_group *group, struct sr_pool_wait *wait)
{
    *(wait->next ? &wait->next->prev : &group->last) = wait->prev;
    *(wait->prev ? &wait->prev->next : &group->first) = wait->next;
    wait->queued = false;
    atomic_fetch_sub(&group->n_waiting, 1);
    atomic_fetch_sub(&group->pool->waiting, 1);
    note_oldest(group);
}

/* ---- its end ---- */

/* On the ticket's thread. */
static void arrive(struct sr_message *message, bool closed)
{
    struct sr_pool_wait *wait = (struct sr_pool_wait *)message;
    struct sr_ticket *ticket = wait->ticket;
    struct sr_ticket_waiting waiting = wait->waiting;
    int at = wait->at;
    if (ticket)
        ticket->wait = NULL;
    sr_mem_free(wait);
    if (ticket && !closed)
        waiting.done(waiting.ctx, at);
}

/* The group's lock is held. */
static void tell(struct sr_pool_group *group, struct sr_pool_wait *wait, int at)
{
    remove_from(group, wait);
    wait->at = at;
    wait->posted = true;
    if (wait->waiting.post(wait->waiting.post_ctx, &wait->message) != SR_OK)
        wait->posted = false; /* else it is its thread's, which may have freed it */
}

void sr_pool_queue_renew(struct sr_pool_group *group)
{
    while (group->first)
        tell(group, group->first, SR_AGAIN);
}

/* Gives places to those that wait in this group. */
static void serve(struct sr_pool_group *group)
{
    size_t passed = 0;
    pthread_mutex_lock(&group->lock);
    for (struct sr_pool_wait *wait = group->first, *next; wait && passed < PASSED_MAX; wait = next) {
        next = wait->next;
        int at = sr_pool_choose(wait->ticket, NULL, NULL);
        if (at >= 0)
            tell(group, wait, at);
        else if (!wait->ticket->full)
            tell(group, wait, SR_ENOENT);
        else
            passed++;
    }
    pthread_mutex_unlock(&group->lock);
}

/* The groups in which requests wait, the longest wait first, with a reference each. */
static size_t take_groups(struct sr_pool *pool, struct sr_pool_group **groups)
{
    size_t n = 0;
    pthread_mutex_lock(&pool->lock);
    for (struct sr_pool_group *group = pool->groups; group && n < GROUPS_MAX; group = group->next) {
        uint64_t oldest = atomic_load(&group->oldest_ns);
        if (!oldest)
            continue;
        size_t at = n++;
        for (; at > 0 && atomic_load(&groups[at - 1]->oldest_ns) > oldest; at--)
            groups[at] = groups[at - 1];
        groups[at] = group;
        group->refs++;
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

void sr_pool_serve_waiting(struct sr_pool *pool)
{
    struct sr_pool_group *groups[GROUPS_MAX];
    if (atomic_load(&pool->waiting) == 0)
        return;
    size_t n = take_groups(pool, groups);
    for (size_t i = 0; i < n; i++) {
        serve(groups[i]);
        sr_pool_group_unref(groups[i]);
    }
}

/* ---- waiting ---- */

uint64_t sr_ticket_patience_ns(const struct sr_ticket *ticket)
{
    uint64_t until = ticket->waits_since_ns + ticket->group->limits.queue_ns, now = sr_pool_clock_ns();
    return !ticket->waits_since_ns ? ticket->group->limits.queue_ns : until > now ? until - now : 0;
}

int sr_ticket_wait(struct sr_ticket *ticket, const struct sr_ticket_waiting *waiting)
{
    struct sr_pool_group *group = ticket->group;
    struct sr_pool_wait *wait = sr_mem_calloc(1, sizeof *wait);
    if (!wait)
        return SR_ENOMEM;
    if (!ticket->waits_since_ns)
        ticket->waits_since_ns = sr_pool_clock_ns();
    wait->message.run = arrive;
    wait->ticket = ticket;
    wait->priority = ticket->priority;
    wait->since_ns = ticket->waits_since_ns;
    wait->waiting = *waiting;
    pthread_mutex_lock(&group->lock);
    bool room = atomic_load(&group->n_waiting) < group->limits.queue_max;
    if (room) {
        ticket->wait = wait;
        insert(group, wait);
        if (atomic_load(&ticket->roster->stale))
            tell(group, wait, SR_AGAIN);
    }
    pthread_mutex_unlock(&group->lock);
    if (!room) {
        sr_mem_free(wait);
        return SR_ELIMIT;
    }
    serve(group); /* a place may have become free meanwhile */
    return SR_OK;
}

void sr_ticket_leave(struct sr_ticket *ticket)
{
    struct sr_pool_wait *wait = ticket->wait;
    if (!wait)
        return;
    pthread_mutex_lock(&ticket->group->lock);
    if (wait->queued)
        remove_from(ticket->group, wait);
    bool posted = wait->posted;
    wait->ticket = NULL; /* a message that was posted frees it */
    pthread_mutex_unlock(&ticket->group->lock);
    ticket->wait = NULL;
    if (!posted)
        sr_mem_free(wait);
}

/*
 * The members of a group at one time: an immutable, counted list.
 *
 * A group whose members are configured has one roster for its life. A group whose members are discovered gets
 * a new one with every change; tickets keep theirs, so that a worker that was removed finishes its requests.
 * Private to this folder.
 */
#ifndef SR_POOL_ROSTER_H
#define SR_POOL_ROSTER_H

#include "pool/private.h"

struct sr_pool_roster {
    size_t refs;        /* guarded by the group's lock */
    _Atomic bool stale; /* another one has followed */
    size_t n;
    struct sr_pool_member *members[];
};

/* A roster of these backends with one reference. `before`, which may be NULL: members of the same worker and
 * their time of joining go on from there. NULL: out of memory. */
struct sr_pool_roster *sr_roster_new(struct sr_pool_group *group, const struct sr_pool_backend *backends,
                                     size_t n, const struct sr_pool_roster *before);

/* The same members for another group of the same name. NULL: out of memory. */
struct sr_pool_roster *sr_roster_copy(struct sr_pool_group *group, const struct sr_pool_roster *from);

/* The group's roster now; a reference. */
struct sr_pool_roster *sr_roster_ref(struct sr_pool_group *group);
void sr_roster_unref(struct sr_pool_group *group, struct sr_pool_roster *roster); /* NULL is allowed */

/* Frees the last roster of a group that ends. NULL is allowed. */
void sr_roster_free(struct sr_pool_group *group, struct sr_pool_roster *roster);

/* The same members in the same order. */
bool sr_roster_equal(const struct sr_pool_roster *a, const struct sr_pool_roster *b);

/* The workers of a roster are listed in one group more, or one less. */
void sr_roster_list(struct sr_pool_roster *roster, int change);

/* Makes `next` the group's roster and takes its reference. The one before, with its reference; members that
 * are in it and not in `next` are gone. The group's lock is held. */
struct sr_pool_roster *sr_roster_replace(struct sr_pool_group *group,
                                         struct sr_pool_roster *next) SR_WARN_UNUSED;

#endif

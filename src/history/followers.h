/*
 * Who follows requests as they end, and which of them each takes: those that pass its filter, as long as it
 * has credit for more. So nothing is written of a request that no follower takes.
 *
 * Thread-safe. Knows no connection: a follower has a number.
 */
#ifndef SR_HISTORY_FOLLOWERS_H
#define SR_HISTORY_FOLLOWERS_H

#include "history/select.h"

struct sr_followers;

#define SR_FOLLOWERS_MAX 32u

/* SR_ENOMEM. */
int sr_followers_new(struct sr_followers **out) SR_WARN_UNUSED;
void sr_followers_free(struct sr_followers *followers); /* NULL is allowed */

/* A follower without credit; the filter is borrowed until it leaves. SR_EBUSY: there are too many. */
int sr_followers_join(struct sr_followers *followers, const struct sr_history_filter *filter,
                      unsigned *number) SR_WARN_UNUSED;
void sr_followers_leave(struct sr_followers *followers, unsigned number);

size_t sr_followers_count(const struct sr_followers *followers);

/* The follower takes so many from now on. Returns how many passed its filter since the last call for which it
 * had no credit. */
uint64_t sr_followers_credit(struct sr_followers *followers, unsigned number, size_t credit);

/* A request has ended: the followers who take it, a bit each. Only what a filter reads of `entry` is read. */
uint32_t sr_followers_take(struct sr_followers *followers, const struct sr_history_entry *entry);

#endif

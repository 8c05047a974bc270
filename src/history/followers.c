/* A lock around a few comparisons: it is taken only while there are followers. */
#include "history/followers.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

struct follower {
    const struct sr_history_filter *filter; /* NULL: the number is free */
    size_t credit;
    uint64_t left_out;
};

struct sr_followers {
    pthread_mutex_t lock;
    atomic_size_t count;
    struct follower list[SR_FOLLOWERS_MAX];
};

int sr_followers_new(struct sr_followers **out)
{
    struct sr_followers *f = *out = sr_mem_calloc(1, sizeof *f);
    if (!f)
        return SR_ENOMEM;
    pthread_mutex_init(&f->lock, NULL);
    return SR_OK;
}

void sr_followers_free(struct sr_followers *f)
{
    if (f)
        pthread_mutex_destroy(&f->lock);
    sr_mem_free(f);
}

int sr_followers_join(struct sr_followers *f, const struct sr_history_filter *filter, unsigned *number)
{
    int rc = SR_EBUSY;
    pthread_mutex_lock(&f->lock);
    for (unsigned i = 0; i < SR_FOLLOWERS_MAX && rc; i++) {
        if (f->list[i].filter)
            continue;
        f->list[i] = (struct follower){.filter = filter};
        *number = i;
        atomic_fetch_add(&f->count, 1);
        rc = SR_OK;
    }
    pthread_mutex_unlock(&f->lock);
    return rc;
}

void sr_followers_leave(struct sr_followers *f, unsigned number)
{
    pthread_mutex_lock(&f->lock);
    f->list[number].filter = NULL;
    atomic_fetch_sub(&f->count, 1);
    pthread_mutex_unlock(&f->lock);
}

size_t sr_followers_count(const struct sr_followers *f)
{
    return atomic_load_explicit(&f->count, memory_order_relaxed);
}

uint64_t sr_followers_credit(struct sr_followers *f, unsigned number, size_t credit)
{
    struct follower *follower = &f->list[number];
    pthread_mutex_lock(&f->lock);
    uint64_t left_out = follower->left_out;
    follower->credit = credit;
    follower->left_out = 0;
    pthread_mutex_unlock(&f->lock);
    return left_out;
}

uint32_t sr_followers_take(struct sr_followers *f, const struct sr_history_entry *entry)
{
    uint32_t takers = 0;
    pthread_mutex_lock(&f->lock);
    for (unsigned i = 0; i < SR_FOLLOWERS_MAX; i++) {
        struct follower *follower = &f->list[i];
        if (!follower->filter || !sr_history_passes(follower->filter, entry))
            continue;
        if (follower->credit) {
            follower->credit--;
            takers |= UINT32_C(1) << i;
        } else {
            follower->left_out++;
        }
    }
    pthread_mutex_unlock(&f->lock);
    return takers;
}

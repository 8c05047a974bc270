/* Slots in a ring, by number. */
#include "history/history.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>

#define GROUP     64 /* entries that leave under one lock */
#define US_PER_MS 1000

struct sr_history {
    pthread_mutex_t lock;
    struct sr_history_entry **slots; /* [capacity]; number n is at n % capacity */
    size_t capacity;                 /* 0: nothing is kept */
    uint64_t first, next;            /* numbers: first <= n < next are there */
    struct sr_history_limits limits;
    struct sr_history_stats stats;
    struct sr_history_keeper keeper; /* `added` NULL: none */
};

int sr_history_new(struct sr_history **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    (*out)->first = (*out)->next = 1;
    pthread_mutex_init(&(*out)->lock, NULL);
    return SR_OK;
}

void sr_history_free(struct sr_history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < history->capacity; i++)
        sr_history_entry_unref(history->slots[i]);
    sr_mem_free(history->slots);
    pthread_mutex_destroy(&history->lock);
    sr_mem_free(history);
}

/* ---- leaving ---- */

static int64_t now_us(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US);
}

/* Takes the oldest out of the ring. With the lock. */
static struct sr_history_entry *shift(struct sr_history *history)
{
    struct sr_history_entry **slot = &history->slots[history->first % history->capacity], *entry = *slot;
    *slot = NULL;
    history->first++;
    history->stats.entries--;
    history->stats.bytes -= entry->bytes;
    return entry;
}

/* Does the oldest go? `entries`, `more`: entries and bytes that are to be added. With the lock. */
static bool is_over(const struct sr_history *history, size_t entries, size_t more, int64_t now,
                    bool *for_room)
{
    const struct sr_history_limits *limits = &history->limits;
    uint64_t n = history->next - history->first;
    if (n == 0)
        return false;
    /* while limits change there may be fewer slots than the limit says */
    size_t max = limits->max_entries < history->capacity ? limits->max_entries : history->capacity;
    *for_room = n + entries > max || history->stats.bytes + more > limits->max_bytes;
    const struct sr_history_entry *oldest = history->slots[history->first % history->capacity];
    return *for_room || (limits->ttl_ms && oldest->f.ended_us + limits->ttl_ms * US_PER_MS <= now);
}

/* Takes what is over the limits, at most GROUP; what is to be freed is in `out`. With the lock. */
static size_t trim(struct sr_history *history, size_t entries, size_t more, struct sr_history_entry **out)
{
    int64_t now = history->limits.ttl_ms ? now_us() : 0;
    bool for_room;
    size_t n = 0;
    while (n < GROUP && is_over(history, entries, more, now, &for_room)) {
        out[n++] = shift(history);
        history->stats.evicted += for_room;
    }
    return n;
}

static void unref_all(struct sr_history_entry **entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sr_history_entry_unref(entries[i]);
}

/* ---- adding ---- */

/* With the lock; there is room for it. */
static void append(struct sr_history *history, struct sr_history_entry *entry)
{
    history->slots[history->next % history->capacity] = sr_history_entry_ref(entry);
    history->next++;
    history->stats.entries++;
    history->stats.bytes += entry->bytes;
}

void sr_history_add(struct sr_history *history, struct sr_history_entry *entry)
{
    struct sr_history_entry *gone[GROUP];
    size_t n;
    do {
        n = 0;
        pthread_mutex_lock(&history->lock);
        bool fits =
            history->capacity && history->limits.max_entries && entry->bytes <= history->limits.max_bytes;
        if (fits)
            n = trim(history, 1, entry->bytes, gone);
        if (fits && n < GROUP) {
            append(history, entry);
            history->stats.added++;
            if (history->keeper.added)
                history->keeper.added(history->keeper.ctx, entry);
        }
        pthread_mutex_unlock(&history->lock);
        unref_all(gone, n);
    } while (n == GROUP);
}

bool sr_history_replace(struct sr_history *history, const struct sr_history_entry *old,
                        struct sr_history_entry *entry)
{
    struct sr_history_entry *gone = NULL;
    pthread_mutex_lock(&history->lock);
    for (uint64_t n = history->next; n > history->first && !gone; n--) {
        struct sr_history_entry **slot = &history->slots[(n - 1) % history->capacity];
        if (*slot != old)
            continue;
        gone = *slot;
        *slot = sr_history_entry_ref(entry);
        history->stats.bytes += entry->bytes - gone->bytes;
        if (history->keeper.changed)
            history->keeper.changed(history->keeper.ctx, entry);
    }
    pthread_mutex_unlock(&history->lock);
    sr_history_entry_unref(gone);
    return gone != NULL;
}

void sr_history_clear(struct sr_history *history)
{
    struct sr_history_entry *gone[GROUP];
    size_t n;
    do {
        n = 0;
        pthread_mutex_lock(&history->lock);
        while (n < GROUP && history->first < history->next)
            gone[n++] = shift(history);
        pthread_mutex_unlock(&history->lock);
        unref_all(gone, n);
    } while (n == GROUP);
}

/* ---- settings ---- */

/* Moves the newest entries that fit into `slots`. With the lock. */
static void move(struct sr_history *history, struct sr_history_entry **slots, size_t capacity)
{
    for (uint64_t n = history->first; capacity && n < history->next; n++)
        slots[n % capacity] = history->slots[n % history->capacity];
}

int sr_history_set(struct sr_history *history, const struct sr_history_limits *limits)
{
    struct sr_history_entry *gone[GROUP], **slots = NULL, **old = NULL;
    size_t n;
    if (limits->max_entries &&
        !(slots = sr_mem_calloc(limits->max_entries, sizeof(struct sr_history_entry *))))
        return SR_ENOMEM;
    do {
        pthread_mutex_lock(&history->lock);
        history->limits = *limits;
        n = trim(history, 0, 0, gone);
        if (n < GROUP) {
            move(history, slots, limits->max_entries);
            old = history->slots;
            history->slots = slots;
            history->capacity = limits->max_entries;
        }
        pthread_mutex_unlock(&history->lock);
        unref_all(gone, n);
    } while (n == GROUP);
    sr_mem_free(old);
    return SR_OK;
}

void sr_history_set_keeper(struct sr_history *history, const struct sr_history_keeper *keeper)
{
    pthread_mutex_lock(&history->lock);
    history->keeper = keeper ? *keeper : (struct sr_history_keeper){0};
    pthread_mutex_unlock(&history->lock);
}

/* ---- reading ---- */

uint64_t sr_history_next(struct sr_history *history)
{
    pthread_mutex_lock(&history->lock);
    uint64_t next = history->next;
    pthread_mutex_unlock(&history->lock);
    return next;
}

size_t sr_history_take(struct sr_history *history, uint64_t *from, struct sr_history_entry **out, size_t max)
{
    int64_t now = now_us();
    size_t n = 0;
    pthread_mutex_lock(&history->lock);
    int64_t ttl = history->limits.ttl_ms * US_PER_MS;
    if (*from < history->first)
        *from = history->first;
    for (; *from < history->next && n < max; ++*from) {
        struct sr_history_entry *entry = history->slots[*from % history->capacity];
        if (!ttl || entry->f.ended_us + ttl > now)
            out[n++] = sr_history_entry_ref(entry);
    }
    pthread_mutex_unlock(&history->lock);
    return n;
}

void sr_history_stats(struct sr_history *history, struct sr_history_stats *out)
{
    pthread_mutex_lock(&history->lock);
    *out = history->stats;
    pthread_mutex_unlock(&history->lock);
}

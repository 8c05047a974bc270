/* Sets of four places; a key has its set by its low bits. */
#include "select/state/holds.h"

#include "base/mem.h"

#include <pthread.h>

#define WAYS 4u
#define SETS (SR_HOLDS_MAX / WAYS)

struct place {
    uint64_t key; /* 0: free */
    struct sr_hold hold;
};

struct sr_holds {
    pthread_mutex_t lock; /* protects everything */
    struct place places[SETS][WAYS];
};

int sr_holds_new(struct sr_holds **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    pthread_mutex_init(&(*out)->lock, NULL);
    return SR_OK;
}

void sr_holds_free(struct sr_holds *holds)
{
    if (!holds)
        return;
    pthread_mutex_destroy(&holds->lock);
    sr_mem_free(holds);
}

/* The place of a key, else the one that is to be taken for it. With the lock. */
static struct place *find(struct sr_holds *holds, uint64_t key)
{
    struct place *set = holds->places[key % SETS], *best = &set[0];
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].key == key)
            return &set[i];
    for (size_t i = 0; i < WAYS; i++) {
        if (!set[i].key)
            return &set[i];
        if (set[i].hold.ended_ms < best->hold.ended_ms)
            best = &set[i];
    }
    return best;
}

bool sr_holds_get(struct sr_holds *holds, uint64_t key, struct sr_hold *out)
{
    pthread_mutex_lock(&holds->lock);
    const struct place *place = find(holds, key);
    bool known = place->key == key;
    if (known)
        *out = place->hold;
    pthread_mutex_unlock(&holds->lock);
    return known;
}

void sr_holds_note(struct sr_holds *holds, uint64_t key, const struct sr_hold_turn *turn)
{
    pthread_mutex_lock(&holds->lock);
    struct place *place = find(holds, key);
    struct sr_hold *hold = &place->hold;
    if (place->key != key || hold->decision != turn->decision)
        *hold = (struct sr_hold){.decision = turn->decision, .arm = turn->arm};
    if (hold->arm != turn->arm) {
        hold->arm = turn->arm;
        hold->turns = hold->failures = 0;
        hold->switches++;
    }
    hold->turns += !turn->failed;
    hold->failures = turn->failed ? hold->failures + 1 : 0;
    hold->bytes = turn->bytes;
    hold->ended_ms = turn->ended_ms;
    place->key = key;
    pthread_mutex_unlock(&holds->lock);
}

/*
 * Smooth weighted round robin over a small open-addressing table of target states.
 *
 * Each round every eligible target gains its weight, the highest is chosen and pays the sum: the running
 * weights stay bounded by the sum, and the picks of one target are spread instead of bunched.
 */
#include "pool/pick.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define SLOTS ((size_t)SR_PICK_MAX_TARGETS * 2) /* a power of two, at most half full */

struct slot {
    uint64_t key;
    double current;
    uint64_t rests_until;
    bool used;
};

struct sr_pick {
    size_t count;
    size_t resting; /* upper bound of targets that may rest: lets the common case skip them */
    struct slot slots[SLOTS];
};

int sr_pick_new(struct sr_pick **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    return *out ? SR_OK : SR_ENOMEM;
}

void sr_pick_free(struct sr_pick *pick)
{
    sr_mem_free(pick);
}

static struct slot *find(struct sr_pick *pick, uint64_t key)
{
    size_t at = (size_t)(key ^ (key >> 32)) & (SLOTS - 1);
    while (pick->slots[at].used && pick->slots[at].key != key) {
        at = (at + 1) & (SLOTS - 1);
    }
    return &pick->slots[at];
}

static struct slot *find_or_add(struct sr_pick *pick, uint64_t key)
{
    struct slot *slot = find(pick, key);
    if (slot->used) {
        return slot;
    }
    if (pick->count == SR_PICK_MAX_TARGETS) {
        memset(pick, 0, sizeof *pick);
        slot = find(pick, key);
    }
    pick->count++;
    *slot = (struct slot){.key = key, .used = true};
    return slot;
}

static bool rests(struct sr_pick *pick, uint64_t key, uint64_t now_ns)
{
    if (pick->resting == 0) {
        return false;
    }
    const struct slot *slot = find(pick, key);
    return slot->used && slot->rests_until > now_ns;
}

/* One round over the candidates that are neither tried nor, unless `also_resting`, at rest. */
static int round_of(struct sr_pick *pick, const struct sr_pick_candidate *candidates, size_t n,
                    uint64_t now_ns, bool also_resting)
{
    double sum = 0;
    int best = -1;
    double best_current = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sr_pick_candidate *c = &candidates[i];
        if (c->tried || (!also_resting && rests(pick, c->key, now_ns))) {
            continue;
        }
        double weight = isfinite(c->weight) && c->weight > 0 ? c->weight : 0;
        struct slot *slot = find_or_add(pick, c->key);
        slot->current += weight;
        sum += weight;
        if (best < 0 || slot->current > best_current) {
            best = (int)i;
            best_current = slot->current;
        }
    }
    if (best >= 0) {
        find_or_add(pick, candidates[best].key)->current -= sum;
    }
    return best;
}

int sr_pick_next(struct sr_pick *pick, const struct sr_pick_candidate *candidates, size_t n, uint64_t now_ns)
{
    if (n == 1) {
        return candidates[0].tried ? -1 : 0;
    }
    int chosen = round_of(pick, candidates, n, now_ns, false);
    return chosen >= 0 ? chosen : round_of(pick, candidates, n, now_ns, true);
}

void sr_pick_failed(struct sr_pick *pick, uint64_t key, uint64_t now_ns)
{
    struct slot *slot = find_or_add(pick, key);
    if (slot->rests_until == 0) {
        pick->resting++;
    }
    slot->rests_until = now_ns + SR_PICK_REST_NS;
}

void sr_pick_worked(struct sr_pick *pick, uint64_t key)
{
    if (pick->resting == 0) {
        return;
    }
    struct slot *slot = find(pick, key);
    if (slot->used && slot->rests_until != 0) {
        slot->rests_until = 0;
        pick->resting--;
    }
}

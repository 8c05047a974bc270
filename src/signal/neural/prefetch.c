/*
 * Readings without waiters. Each has a slot in a block of its own, which outlives the rest where an
 * answer is being given while the request goes away.
 */
#include "signal/neural/prefetch.h"

#include "base/hash.h"
#include "base/mem.h"
#include "infer/classifier/neural.h"
#include "signal/types.h"

#include <stdatomic.h>

#define SCRATCH_MAX ((size_t)16 << 20) /* bytes: what is undone of disguises in a turn */
#define NO_TURN     0u

struct slot {
    struct sr_neural_wait wait;
    struct block *block;
    struct sr_neural *neural;
    unsigned turn;
    atomic_bool busy;
};

struct block {
    struct sr_ref ref; /* of the owner, and one for each slot that is busy */
    struct slot slots[SR_SIGNAL_AHEAD_MAX];
};

struct sr_signal_ahead {
    struct sr_signals *signals;
    uint32_t types;
    uint64_t salt;
    struct block *block;
    size_t next_slot;
    unsigned turn; /* the number of the one that is arriving; NO_TURN before the first */
    size_t n_growing, room_growing;
    struct {
        struct sr_neural *neural; /* lives as long as the signals */
        struct sr_neural_growing *text;
    } growing[SR_SIGNAL_TYPES]; /* the first n_growing read the turn that is arriving */
};

bool sr_signals_foresee(const struct sr_signals *signals, uint32_t types)
{
    uint32_t late = types ? types & sr_signals_late(signals) : 0;
    for (int type = 0; late >> type; type++)
        if ((late >> type & 1) && sr_signal_registry[type]->foresee)
            return true;
    return false;
}

static void block_unref(struct block *block)
{
    if (sr_ref_put(&block->ref))
        sr_mem_free(block);
}

struct sr_signal_ahead *sr_signal_ahead_new(struct sr_signals *signals, struct sr_bytes tenant)
{
    struct sr_signal_ahead *ahead = sr_mem_calloc(1, sizeof *ahead);
    struct block *block = sr_mem_calloc(1, sizeof *block);
    if (!ahead || !block) {
        sr_mem_free(ahead);
        sr_mem_free(block);
        return NULL;
    }
    sr_ref_init(&block->ref);
    for (size_t i = 0; i < SR_SIGNAL_AHEAD_MAX; i++)
        atomic_init(&block->slots[i].busy, false);
    ahead->block = block;
    ahead->salt = tenant.n ? sr_hash64(tenant, 0) : 0;
    ahead->signals = sr_signals_ref(signals);
    return ahead;
}

void sr_signal_ahead_free(struct sr_signal_ahead *ahead)
{
    if (!ahead)
        return;
    for (size_t i = 0; i < SR_SIGNAL_AHEAD_MAX; i++)
        if (atomic_load(&ahead->block->slots[i].busy))
            sr_neural_leave(ahead->block->slots[i].neural, &ahead->block->slots[i].wait);
    for (size_t i = 0; i < ahead->room_growing; i++)
        sr_neural_growing_free(ahead->growing[i].text);
    block_unref(ahead->block);
    sr_signals_unref(ahead->signals);
    sr_mem_free(ahead);
}

void sr_signal_ahead_want(struct sr_signal_ahead *ahead, uint32_t types)
{
    ahead->types = types;
}

/* A thread of the engine, or the owner's when it leaves. The result is remembered where it was read. */
static void answered(struct sr_neural_wait *wait, int status)
{
    struct slot *slot = wait->owner;
    struct block *block = slot->block;
    (void)status;
    sr_neural_result_unref(wait->reading);
    atomic_store(&slot->busy, false);
    block_unref(block);
}

static struct slot *take_slot(struct sr_signal_ahead *ahead, struct sr_neural *neural)
{
    struct block *block = ahead->block;
    for (size_t i = 0; i < SR_SIGNAL_AHEAD_MAX; i++) {
        struct slot *slot = &block->slots[ahead->next_slot++ % SR_SIGNAL_AHEAD_MAX];
        if (atomic_load(&slot->busy))
            continue;
        slot->block = block;
        slot->neural = neural;
        slot->turn = NO_TURN;
        slot->wait = (struct sr_neural_wait){.done = answered, .owner = slot};
        sr_ref_get(&block->ref);
        atomic_store(&slot->busy, true);
        return slot;
    }
    return NULL;
}

/* What a neural classifier's function returned for the slot. */
static void settle_slot(struct slot *slot, int rc)
{
    if (rc != SR_AGAIN)
        answered(&slot->wait, rc);
}

static void ask(struct sr_signal_ahead *ahead, struct sr_neural *neural, struct sr_bytes text)
{
    struct slot *slot = take_slot(ahead, neural);
    if (slot)
        settle_slot(slot, sr_neural_read(neural, text, ahead->salt, SR_INFER_AHEAD, &slot->wait));
}

/* A type that may read a shorter text instead is not foreseen where it would. */
static bool reads(const struct sr_signal_ahead *ahead, int type, struct sr_bytes text)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    return (ahead->types >> type & 1) && ahead->signals->sets[type] && ops->foresee &&
           (ops->reads_all || text.n <= sr_signals_read_whole(ahead->signals));
}

void sr_signal_ahead_turn(struct sr_signal_ahead *ahead, const struct sr_signal_turn *turn)
{
    struct sr_neural *asked[SR_SIGNAL_TYPES]; /* the turn's text as it stands */
    size_t n_asked = 0;
    for (int type = 0; turn->text.n && type < SR_SIGNAL_TYPES; type++) {
        struct sr_signal_foreseen foreseen = {.n = 0};
        struct sr_arena scratch;
        if (!reads(ahead, type, turn->text))
            continue;
        sr_arena_init(&scratch, SCRATCH_MAX);
        if (sr_signal_registry[type]->foresee(ahead->signals->sets[type], turn, &scratch, &foreseen))
            foreseen.n = 0;
        bool as_it_stands = foreseen.n && foreseen.texts[0].p == turn->text.p, again = false;
        for (size_t i = 0; i < n_asked; i++) /* another type has put it to this neural classifier */
            again |= as_it_stands && asked[i] == foreseen.neural;
        for (size_t i = again; i < foreseen.n; i++)
            ask(ahead, foreseen.neural, foreseen.texts[i]);
        if (as_it_stands && !again)
            asked[n_asked++] = foreseen.neural;
        sr_arena_dispose(&scratch);
    }
}

/* One more neural classifier reads the turn that arrives, unless it does already. */
static void grow(struct sr_signal_ahead *ahead, struct sr_neural *neural)
{
    size_t n = ahead->n_growing;
    for (size_t i = 0; i < n; i++)
        if (ahead->growing[i].neural == neural)
            return;
    if (n < ahead->room_growing && ahead->growing[n].neural != neural) {
        sr_neural_growing_free(ahead->growing[n].text);
        ahead->growing[n].text = NULL;
    }
    if (!ahead->growing[n].text && sr_neural_growing_new(&ahead->growing[n].text, neural, ahead->salt))
        ahead->growing[n].text = NULL;
    ahead->growing[n].neural = neural;
    if (ahead->room_growing == n)
        ahead->room_growing++;
    if (!ahead->growing[n].text)
        return;
    sr_neural_growing_begin(ahead->growing[n].text);
    ahead->n_growing++;
}

void sr_signal_ahead_begin(struct sr_signal_ahead *ahead, enum sr_signal_role role)
{
    const struct sr_signal_turn turn = {.role = role, .text = SR_LIT("")};
    ahead->n_growing = 0;
    ahead->turn++;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        struct sr_signal_foreseen foreseen = {.n = 0};
        if (!reads(ahead, type, turn.text))
            continue;
        if (sr_signal_registry[type]->foresee(ahead->signals->sets[type], &turn, NULL, &foreseen) == SR_OK &&
            foreseen.n)
            grow(ahead, foreseen.neural);
    }
}

/* The turn has become too long for its neural classifier: what was asked of it is for nothing. */
static void give_up(struct sr_signal_ahead *ahead, const struct sr_neural *neural)
{
    for (size_t i = 0; i < SR_SIGNAL_AHEAD_MAX; i++) {
        struct slot *slot = &ahead->block->slots[i];
        if (atomic_load(&slot->busy) && slot->turn == ahead->turn && slot->neural == neural)
            sr_neural_leave(slot->neural, &slot->wait);
    }
}

static void read_windows(struct sr_signal_ahead *ahead, size_t i)
{
    for (int rc = SR_OK; rc == SR_OK || rc == SR_AGAIN;) {
        struct slot *slot = take_slot(ahead, ahead->growing[i].neural);
        if (!slot)
            return;
        slot->turn = ahead->turn;
        rc = sr_neural_growing_read(ahead->growing[i].text, &slot->wait);
        settle_slot(slot, rc);
    }
}

void sr_signal_ahead_feed(struct sr_signal_ahead *ahead, struct sr_bytes piece)
{
    for (size_t i = 0; i < ahead->n_growing;) {
        int rc = sr_neural_growing_feed(ahead->growing[i].text, piece);
        read_windows(ahead, i);
        if (rc == SR_OK) {
            i++;
            continue;
        }
        if (rc == SR_ELIMIT)
            give_up(ahead, ahead->growing[i].neural);
        /* the last one takes its place */
        size_t last = --ahead->n_growing;
        struct sr_neural *neural = ahead->growing[i].neural;
        struct sr_neural_growing *text = ahead->growing[i].text;
        ahead->growing[i] = ahead->growing[last];
        ahead->growing[last].neural = neural;
        ahead->growing[last].text = text;
    }
}

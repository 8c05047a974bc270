/*
 * Prefetches texts. Each has a slot in a separate block, which lives longer than the rest when a result
 * arrives while the request ends.
 */
#include "signal/neural/prefetch.h"

#include "base/mem.h"
#include "signal/neural/ask.h"
#include "signal/types.h"
#include "text/script.h"

#include <stddef.h>

#define SCRATCH_MAX ((size_t)16 << 20) /* bytes for the undisguised views of a unit */
#define NO_UNIT     0u

struct slot {
    struct sr_neural_ask ask;
    struct block *block;
    struct sr_neural *neural;
    unsigned unit;
    atomic_bool busy;
};

struct block {
    struct sr_ref ref; /* one reference of the owner, and one for each busy slot */
    struct slot slots[SR_SIGNAL_PREFETCH_MAX];
};

struct sr_signal_prefetch {
    struct sr_signals *signals;
    uint32_t types;
    uint64_t salt;
    struct block *block;
    size_t next_slot;
    unsigned unit; /* number of the current unit; NO_UNIT before the first */
    size_t n_growing, room_growing;
    struct {
        struct sr_neural *neural; /* lives as long as the signals */
        struct sr_neural_growing *text;
        bool latin;             /* it does not read other scripts */
    } growing[SR_SIGNAL_TYPES]; /* the first n_growing read the current unit */
};

bool sr_signals_can_prefetch(const struct sr_signals *signals, uint32_t types)
{
    uint32_t late = types ? types & sr_signals_late(signals) : 0;
    for (int type = 0; late >> type; type++)
        if ((late >> type & 1) && sr_signal_registry[type]->prefetch)
            return true;
    return false;
}

static void block_unref(struct block *block)
{
    if (sr_ref_put(&block->ref))
        sr_mem_free(block);
}

struct sr_signal_prefetch *sr_signal_prefetch_new(struct sr_signals *signals, struct sr_bytes tenant)
{
    struct sr_signal_prefetch *prefetch = sr_mem_calloc(1, sizeof *prefetch);
    struct block *block = sr_mem_calloc(1, sizeof *block);
    if (!prefetch || !block) {
        sr_mem_free(prefetch);
        sr_mem_free(block);
        return NULL;
    }
    sr_ref_init(&block->ref);
    for (size_t i = 0; i < SR_SIGNAL_PREFETCH_MAX; i++)
        atomic_init(&block->slots[i].busy, false);
    prefetch->block = block;
    prefetch->salt = sr_signal_salt(tenant);
    prefetch->signals = sr_signals_ref(signals);
    return prefetch;
}

void sr_signal_prefetch_free(struct sr_signal_prefetch *prefetch)
{
    if (!prefetch)
        return;
    for (size_t i = 0; i < SR_SIGNAL_PREFETCH_MAX; i++)
        if (atomic_load(&prefetch->block->slots[i].busy))
            sr_task_cancel(&prefetch->block->slots[i].ask.task);
    for (size_t i = 0; i < prefetch->room_growing; i++)
        sr_neural_growing_free(prefetch->growing[i].text);
    block_unref(prefetch->block);
    sr_signals_unref(prefetch->signals);
    sr_mem_free(prefetch);
}

void sr_signal_prefetch_want(struct sr_signal_prefetch *prefetch, uint32_t types)
{
    prefetch->types = types;
}

/* Runs on an engine thread, or on the owner's when it cancels. The neural classifier has memoised the
 * result. */
static void slot_done(struct sr_task *task, int status)
{
    (void)status;
    sr_task_unref(task);
}

/* Frees a slot that no work refers to any more. */
static void slot_free(struct sr_task *task)
{
    struct slot *slot = (struct slot *)((char *)task - offsetof(struct slot, ask.task));
    struct block *block = slot->block;
    sr_neural_result_unref(slot->ask.result);
    atomic_store(&slot->busy, false);
    block_unref(block);
}

static struct slot *take_slot(struct sr_signal_prefetch *prefetch, struct sr_neural *neural)
{
    struct block *block = prefetch->block;
    for (size_t i = 0; i < SR_SIGNAL_PREFETCH_MAX; i++) {
        struct slot *slot = &block->slots[prefetch->next_slot++ % SR_SIGNAL_PREFETCH_MAX];
        if (atomic_load(&slot->busy))
            continue;
        slot->block = block;
        slot->neural = neural;
        slot->unit = NO_UNIT;
        slot->ask.result = NULL;
        sr_task_init(&slot->ask.task, slot_done, slot_free, NULL);
        sr_ref_get(&block->ref);
        atomic_store(&slot->busy, true);
        return slot;
    }
    return NULL;
}

/* Frees the slot unless the neural classifier's function returned that work is pending. */
static void release_slot(struct slot *slot, int rc)
{
    if (rc != SR_AGAIN)
        sr_task_unref(&slot->ask.task);
}

static void ask(struct sr_signal_prefetch *prefetch, struct sr_neural *neural, struct sr_bytes text)
{
    struct slot *slot = sr_neural_is_busy(neural) ? NULL : take_slot(prefetch, neural);
    if (slot)
        release_slot(slot, sr_neural_read(neural, text, prefetch->salt, SR_INFER_PREFETCH, &slot->ask));
}

/* True when the type reads this text; a type that would read a shorter text instead is not prefetched. */
static bool reads(const struct sr_signal_prefetch *prefetch, int type, struct sr_bytes text)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    return (prefetch->types >> type & 1) && prefetch->signals->sets[type] && ops->prefetch &&
           (ops->reads != SR_SIGNAL_READS_TEXT || text.n <= sr_signals_read_whole(prefetch->signals));
}

void sr_signal_prefetch_unit(struct sr_signal_prefetch *prefetch, const struct sr_signal_unit *unit)
{
    struct sr_neural *asked[SR_SIGNAL_TYPES]; /* neural classifiers that read the unit's unchanged text */
    size_t n_asked = 0;
    for (int type = 0; unit->text.n && type < SR_SIGNAL_TYPES; type++) {
        struct sr_signal_prefetched wanted = {.n = 0};
        struct sr_arena scratch;
        if (!reads(prefetch, type, unit->text))
            continue;
        sr_arena_init(&scratch, SCRATCH_MAX);
        if (sr_signal_registry[type]->prefetch(prefetch->signals->sets[type], unit, &scratch, &wanted))
            wanted.n = 0;
        bool as_it_stands = wanted.n && wanted.texts[0].p == unit->text.p, again = false;
        for (size_t i = 0; i < n_asked; i++) /* another type had it classified already */
            again |= as_it_stands && asked[i] == wanted.neural;
        for (size_t i = again; i < wanted.n; i++)
            ask(prefetch, wanted.neural, wanted.texts[i]);
        if (as_it_stands && !again)
            asked[n_asked++] = wanted.neural;
        sr_arena_dispose(&scratch);
    }
}

/* Adds a neural classifier that reads the current unit, unless it does already. */
static void grow(struct sr_signal_prefetch *prefetch, struct sr_neural *neural, bool latin)
{
    size_t n = prefetch->n_growing;
    for (size_t i = 0; i < n; i++)
        if (prefetch->growing[i].neural == neural) {
            prefetch->growing[i].latin &= latin;
            return;
        }
    if (n < prefetch->room_growing && prefetch->growing[n].neural != neural) {
        sr_neural_growing_free(prefetch->growing[n].text);
        prefetch->growing[n].text = NULL;
    }
    if (!prefetch->growing[n].text &&
        sr_neural_growing_new(&prefetch->growing[n].text, neural, prefetch->salt))
        prefetch->growing[n].text = NULL;
    prefetch->growing[n].neural = neural;
    prefetch->growing[n].latin = latin;
    if (prefetch->room_growing == n)
        prefetch->room_growing++;
    if (!prefetch->growing[n].text)
        return;
    sr_neural_growing_begin(prefetch->growing[n].text);
    prefetch->n_growing++;
}

void sr_signal_prefetch_begin(struct sr_signal_prefetch *prefetch, enum sr_signal_role role)
{
    const struct sr_signal_unit unit = {.role = role, .text = SR_LIT("")};
    prefetch->n_growing = 0;
    prefetch->unit++;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        struct sr_signal_prefetched wanted = {.n = 0};
        if (!reads(prefetch, type, unit.text))
            continue;
        if (sr_signal_registry[type]->prefetch(prefetch->signals->sets[type], &unit, NULL, &wanted) ==
                SR_OK &&
            wanted.n)
            grow(prefetch, wanted.neural, wanted.latin);
    }
}

/* Cancels the windows of a unit that has become too long for its neural classifier. */
static void cancel_unit(struct sr_signal_prefetch *prefetch, const struct sr_neural *neural)
{
    for (size_t i = 0; i < SR_SIGNAL_PREFETCH_MAX; i++) {
        struct slot *slot = &prefetch->block->slots[i];
        if (atomic_load(&slot->busy) && slot->unit == prefetch->unit && slot->neural == neural)
            sr_task_cancel(&slot->ask.task);
    }
}

static void read_windows(struct sr_signal_prefetch *prefetch, size_t i)
{
    for (int rc = SR_OK; rc == SR_OK || rc == SR_AGAIN;) {
        struct slot *slot = take_slot(prefetch, prefetch->growing[i].neural);
        if (!slot)
            return;
        slot->unit = prefetch->unit;
        rc = sr_neural_growing_read(prefetch->growing[i].text, &slot->ask);
        release_slot(slot, rc);
    }
}

void sr_signal_prefetch_feed(struct sr_signal_prefetch *prefetch, struct sr_bytes piece)
{
    for (size_t i = 0; i < prefetch->n_growing;) {
        /* Tokenizing takes the loop's time: not for what will wait anyway. */
        bool foreign = prefetch->growing[i].latin && sr_script_is_foreign(piece);
        int rc = sr_neural_is_busy(prefetch->growing[i].neural) ? SR_EBUSY
                 : foreign                                      ? SR_EUNSUPPORTED
                           : sr_neural_growing_feed(prefetch->growing[i].text, piece);
        if (rc != SR_EBUSY && !foreign)
            read_windows(prefetch, i);
        if (rc == SR_OK) {
            i++;
            continue;
        }
        if (rc == SR_ELIMIT)
            cancel_unit(prefetch, prefetch->growing[i].neural);
        /* the last one takes its place */
        size_t last = --prefetch->n_growing;
        struct sr_neural *neural = prefetch->growing[i].neural;
        struct sr_neural_growing *text = prefetch->growing[i].text;
        prefetch->growing[i] = prefetch->growing[last];
        prefetch->growing[last].neural = neural;
        prefetch->growing[last].text = text;
    }
}

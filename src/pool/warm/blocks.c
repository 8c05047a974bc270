/*
 * A worker's blocks are nodes in one array, found by a small table of their own and linked in the order of
 * their use. Blocks that came together are neighbours, so that most are found without the table.
 */
#include "pool/warm/blocks.h"

#include "base/mem.h"
#include "pool/warm/blocks_table.h"

#include <string.h>

#define NONE       UINT32_MAX
#define NODES_MIN  256u
#define STRIDE     32u /* blocks that a match skips while no worker is lost */
#define AHEAD      8u  /* blocks that it loads before it reads them */
#define SLOTS_STEP 64u

struct node {
    uint64_t hash;
    uint32_t newer, older; /* in the order of use; `older` links free nodes */
};

struct owner {
    bool joined;
    struct node *nodes; /* [room] */
    uint32_t *table;    /* [2 * room] node numbers; NONE: free */
    uint32_t room, n, made;
    uint32_t newest, oldest, spare;
};

struct sr_pool_blocks {
    struct sr_blocks_table table;
    uint32_t most;
    struct owner *owners;  /* [n_slots] */
    uint32_t *depths;      /* [n_slots] */
    size_t n_slots, total; /* blocks of all */
};

int sr_pool_blocks_new(struct sr_pool_blocks **out, uint64_t most)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    (*out)->most = (uint32_t)(most < (1u << 30) ? most : 1u << 30);
    return SR_OK;
}

static void owner_dispose(struct owner *owner)
{
    sr_mem_free(owner->nodes);
    sr_mem_free(owner->table);
    *owner = (struct owner){.newest = NONE, .oldest = NONE, .spare = NONE};
}

void sr_pool_blocks_free(struct sr_pool_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < blocks->n_slots; i++)
        owner_dispose(&blocks->owners[i]);
    sr_blocks_table_dispose(&blocks->table);
    sr_mem_free(blocks->owners);
    sr_mem_free(blocks->depths);
    sr_mem_free(blocks);
}

int sr_pool_blocks_join(struct sr_pool_blocks *blocks, uint32_t slot)
{
    if (slot >= blocks->n_slots) {
        size_t n = (slot / SLOTS_STEP + 1) * SLOTS_STEP;
        struct owner *owners = sr_mem_realloc(blocks->owners, n * sizeof *owners);
        if (owners)
            blocks->owners = owners;
        uint32_t *depths = sr_mem_realloc(blocks->depths, n * sizeof *depths);
        if (depths)
            blocks->depths = depths;
        if (!owners || !depths || sr_blocks_table_widen(&blocks->table, n / 64))
            return SR_ENOMEM;
        memset(depths + blocks->n_slots, 0, (n - blocks->n_slots) * sizeof *depths);
        for (size_t i = blocks->n_slots; i < n; i++)
            owners[i] = (struct owner){.newest = NONE, .oldest = NONE, .spare = NONE};
        blocks->n_slots = n;
    }
    blocks->owners[slot].joined = true;
    return SR_OK;
}

void sr_pool_blocks_leave(struct sr_pool_blocks *blocks, uint32_t slot)
{
    sr_pool_blocks_clear(blocks, slot);
    owner_dispose(&blocks->owners[slot]);
}

/* ---- a worker's own table ---- */

static uint32_t home_of(const struct owner *owner, uint64_t hash)
{
    return (uint32_t)((hash >> 16) & (2 * (uint64_t)owner->room - 1));
}

/* The position in the table of a hash, or of the free place where it would stand. */
static uint32_t place_of(const struct owner *owner, uint64_t hash)
{
    uint32_t mask = 2 * owner->room - 1, at = home_of(owner, hash);
    while (owner->table[at] != NONE && owner->nodes[owner->table[at]].hash != hash)
        at = (at + 1) & mask;
    return at;
}

static uint32_t find(const struct owner *owner, uint64_t hash)
{
    return owner->room ? owner->table[place_of(owner, hash)] : NONE;
}

static void unplace(struct owner *owner, uint64_t hash)
{
    uint32_t mask = 2 * owner->room - 1, hole = place_of(owner, hash), at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (owner->table[at] == NONE)
            break;
        uint32_t home = home_of(owner, owner->nodes[owner->table[at]].hash);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        owner->table[hole] = owner->table[at];
        hole = at;
    }
    owner->table[hole] = NONE;
}

/* Doubles the room, up to the power of two that has `most`. False: out of memory. */
static bool grow(struct owner *owner, uint32_t most)
{
    uint32_t room = owner->room ? owner->room * 2 : NODES_MIN;
    if (owner->room >= most)
        return false;
    struct node *nodes = sr_mem_realloc(owner->nodes, room * sizeof *nodes);
    if (!nodes)
        return false;
    owner->nodes = nodes;
    uint32_t *table = sr_mem_realloc(owner->table, 2 * (size_t)room * sizeof *table);
    if (!table)
        return false;
    owner->table = table;
    owner->room = room;
    memset(table, 0xff, 2 * (size_t)room * sizeof *table);
    for (uint32_t at = owner->newest; at != NONE; at = nodes[at].older)
        table[place_of(owner, nodes[at].hash)] = at;
    return true;
}

/* ---- the order of use ---- */

static void unlink_node(struct owner *owner, uint32_t at)
{
    struct node *node = &owner->nodes[at];
    *(node->newer == NONE ? &owner->newest : &owner->nodes[node->newer].older) = node->older;
    *(node->older == NONE ? &owner->oldest : &owner->nodes[node->older].newer) = node->newer;
}

static void link_newest(struct owner *owner, uint32_t at)
{
    owner->nodes[at].newer = NONE;
    owner->nodes[at].older = owner->newest;
    *(owner->newest == NONE ? &owner->oldest : &owner->nodes[owner->newest].newer) = at;
    owner->newest = at;
}

static void drop(struct sr_pool_blocks *blocks, uint32_t slot, uint32_t at)
{
    struct owner *owner = &blocks->owners[slot];
    uint64_t hash = owner->nodes[at].hash;
    unplace(owner, hash);
    unlink_node(owner, at);
    owner->nodes[at].older = owner->spare;
    owner->spare = at;
    owner->n--;
    blocks->total--;
    sr_blocks_table_unset(&blocks->table, hash, slot);
}

/* A node for a new block; the oldest one is forgotten over the limit. NONE: out of memory. */
static uint32_t take_node(struct sr_pool_blocks *blocks, uint32_t slot)
{
    struct owner *owner = &blocks->owners[slot];
    if (owner->n >= blocks->most || (owner->n == owner->room && !grow(owner, blocks->most))) {
        if (owner->n == 0)
            return NONE;
        drop(blocks, slot, owner->oldest);
    }
    uint32_t at = owner->spare;
    if (at == NONE)
        return owner->made++;
    owner->spare = owner->nodes[at].older;
    return at;
}

/* The worker uses one block now; `guess` is a node that may be its. Returns the node that was used after it
 * so far, which may be that of the block before. */
static uint32_t use_one(struct sr_pool_blocks *blocks, uint32_t slot, uint64_t hash, uint32_t guess)
{
    struct owner *owner = &blocks->owners[slot];
    uint32_t at = guess != NONE && owner->nodes[guess].hash == hash ? guess : find(owner, hash), newer = NONE;
    if (at != NONE) {
        newer = owner->nodes[at].newer;
        unlink_node(owner, at);
        link_newest(owner, at);
        return newer;
    }
    if (!sr_blocks_table_set(&blocks->table, hash, slot))
        return NONE;
    at = take_node(blocks, slot);
    if (at == NONE) {
        sr_blocks_table_unset(&blocks->table, hash, slot);
        return NONE;
    }
    owner->nodes[at].hash = hash;
    owner->table[place_of(owner, hash)] = at;
    link_newest(owner, at);
    owner->n++;
    blocks->total++;
    return NONE;
}

static void prefetch(const struct sr_pool_blocks *blocks, const struct owner *owner, uint64_t hash)
{
    sr_blocks_table_prefetch(&blocks->table, hash);
    if (owner->room)
        __builtin_prefetch(&owner->table[home_of(owner, hash)]);
}

/* Forgets blocks that `n` new ones would push out one by one: faster, as it is known which come next. */
static void make_room(struct sr_pool_blocks *blocks, uint32_t slot, size_t n)
{
    struct owner *owner = &blocks->owners[slot];
    size_t over = owner->n + n > blocks->most ? owner->n + n - blocks->most : 0;
    uint32_t next = owner->oldest;
    for (size_t i = 0; i < AHEAD && next != NONE; i++, next = owner->nodes[next].newer)
        prefetch(blocks, owner, owner->nodes[next].hash);
    for (size_t i = 0; i < over && owner->oldest != NONE; i++) {
        if (next != NONE) {
            prefetch(blocks, owner, owner->nodes[next].hash);
            next = owner->nodes[next].newer;
        }
        drop(blocks, slot, owner->oldest);
    }
}

static size_t count_new(const struct sr_pool_blocks *blocks, const struct owner *owner,
                        const uint64_t *hashes, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch(blocks, owner, hashes[i + AHEAD]);
        found += find(owner, hashes[i]) != NONE;
    }
    return n - found;
}

void sr_pool_blocks_use(struct sr_pool_blocks *blocks, uint32_t slot, const uint64_t *hashes, size_t n)
{
    struct owner *owner = &blocks->owners[slot];
    uint32_t guess = NONE;
    n = n < blocks->most ? n : blocks->most;
    make_room(blocks, slot, count_new(blocks, owner, hashes, n));
    for (size_t i = n; i-- > 0;) {
        if (i >= AHEAD)
            prefetch(blocks, owner, hashes[i - AHEAD]);
        guess = use_one(blocks, slot, hashes[i], guess);
    }
}

void sr_pool_blocks_remove(struct sr_pool_blocks *blocks, uint32_t slot, uint64_t hash)
{
    uint32_t at = find(&blocks->owners[slot], hash);
    if (at != NONE)
        drop(blocks, slot, at);
}

void sr_pool_blocks_clear(struct sr_pool_blocks *blocks, uint32_t slot)
{
    struct owner *owner = &blocks->owners[slot];
    while (owner->oldest != NONE)
        drop(blocks, slot, owner->oldest);
}

/* ---- matching ---- */

/* The workers of `active` that lack the block have `depth` blocks. True: some are left. */
static bool narrow(struct sr_pool_blocks *blocks, uint64_t *active, uint64_t hash, uint32_t depth)
{
    const uint64_t *has = sr_blocks_table_find(&blocks->table, hash);
    uint64_t left = 0;
    for (size_t w = 0; w < blocks->table.words; w++) {
        uint64_t lost = active[w] & ~(has ? has[w] : 0);
        active[w] &= ~lost;
        left |= active[w];
        for (; lost; lost &= lost - 1)
            blocks->depths[w * 64 + (size_t)__builtin_ctzll(lost)] = depth;
    }
    return left != 0;
}

/* Do all of `active` have the block? */
static bool all_have(const struct sr_pool_blocks *blocks, const uint64_t *active, uint64_t hash)
{
    const uint64_t *has = sr_blocks_table_find(&blocks->table, hash);
    for (size_t w = 0; w < blocks->table.words; w++)
        if (active[w] & ~(has ? has[w] : 0))
            return false;
    return true;
}

/* Follows the prefix; `active` has the workers with its first block, at least one. */
static void follow(struct sr_pool_blocks *blocks, uint64_t *active, const uint64_t *hashes, size_t n)
{
    for (size_t at = 0; at + 1 < n;) {
        size_t to = at + STRIDE < n ? at + STRIDE : n - 1;
        if (to + STRIDE < n)
            sr_blocks_table_prefetch(&blocks->table, hashes[to + STRIDE]);
        if (all_have(blocks, active, hashes[to])) {
            at = to;
            continue;
        }
        for (size_t i = at + 1; i <= to && i <= at + AHEAD; i++)
            sr_blocks_table_prefetch(&blocks->table, hashes[i]);
        for (size_t i = at + 1; i <= to; i++) {
            if (i + AHEAD <= to)
                sr_blocks_table_prefetch(&blocks->table, hashes[i + AHEAD]);
            if (!narrow(blocks, active, hashes[i], (uint32_t)i))
                return;
        }
        at = to;
    }
    for (size_t w = 0; w < blocks->table.words; w++)
        for (uint64_t left = active[w]; left; left &= left - 1)
            blocks->depths[w * 64 + (size_t)__builtin_ctzll(left)] = (uint32_t)n;
}

const uint32_t *sr_pool_blocks_match(struct sr_pool_blocks *blocks, const uint64_t *hashes, size_t n)
{
    uint64_t some[4], *active = some;
    memset(blocks->depths, 0, blocks->n_slots * sizeof *blocks->depths);
    const uint64_t *first = n ? sr_blocks_table_find(&blocks->table, hashes[0]) : NULL;
    if (!first)
        return blocks->depths;
    if (blocks->table.words > sizeof some / sizeof some[0])
        active = sr_mem_calloc(blocks->table.words, sizeof *active);
    if (!active)
        return blocks->depths;
    memcpy(active, first, blocks->table.words * sizeof *active);
    follow(blocks, active, hashes, n);
    if (active != some)
        sr_mem_free(active);
    return blocks->depths;
}

/* ---- what is shown ---- */

uint64_t sr_pool_blocks_count(const struct sr_pool_blocks *blocks, uint32_t slot)
{
    return blocks->owners[slot].n;
}

uint64_t sr_pool_blocks_bytes(const struct sr_pool_blocks *blocks, uint32_t slot)
{
    const struct owner *owner = &blocks->owners[slot];
    uint64_t own = owner->room * (sizeof *owner->nodes + 2 * sizeof *owner->table);
    uint64_t table = sr_blocks_table_bytes(&blocks->table);
    return own + (blocks->total ? table * owner->n / blocks->total : 0);
}

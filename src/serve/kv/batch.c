/* The members of an event are found first, in any order, and then read together. */
#include "serve/kv/batch.h"

#include "base/hash.h"
#include "net/msgpack/msgpack.h"
#include "pool/warm/warm.h"

#include <string.h>

enum member {
    NAME,
    HASHES,
    PARENT,
    TOKENS,
    BLOCK_SIZE,
    LORA_ID,
    MEDIUM,
    LORA_NAME,
    EXTRA_KEYS,
    GROUP,
    MEMBERS
};

/* Names in maps. */
static const char *const NAMES[MEMBERS] = {
    "type",    "block_hashes", "parent_block_hash", "token_ids",  "block_size",
    "lora_id", "medium",       "lora_name",         "extra_keys", "group_idx"};

/* Members of arrays, in order. */
static const enum member STORED[] = {NAME,    HASHES, PARENT,    TOKENS,     BLOCK_SIZE,
                                     LORA_ID, MEDIUM, LORA_NAME, EXTRA_KEYS, GROUP};
static const enum member REMOVED[] = {NAME, HASHES, MEDIUM, GROUP};

/* One event: where its members begin; `p` NULL: it has no such member. */
struct event {
    struct sr_msgpack at[MEMBERS];
    struct sr_bytes name;
};

struct reading {
    void (*fn)(void *ctx, const struct sr_pool_kv_event *event);
    void *ctx;
    struct sr_kv_read *read;
    uint64_t hashes[SR_KV_PIECE_BLOCKS];
    uint32_t tokens[SR_KV_PIECE_TOKENS];
};

/* ---- members ---- */

static bool is_name(struct sr_bytes text, const char *name)
{
    return sr_bytes_eq(text, sr_bytes_str(name));
}

static int read_map(struct sr_msgpack *in, uint64_t pairs, struct event *event)
{
    struct sr_msgpack_item key;
    for (uint64_t i = 0; i < pairs; i++) {
        if (sr_msgpack_next(in, &key) || key.kind != SR_MSGPACK_TEXT)
            return SR_EPARSE;
        for (int m = 0; m < MEMBERS; m++)
            if (is_name(key.bytes, NAMES[m]))
                event->at[m] = *in;
        if (sr_msgpack_skip(in))
            return SR_EPARSE;
    }
    return SR_OK;
}

static int read_array(struct sr_msgpack *in, uint64_t n, struct event *event)
{
    const enum member *order = STORED;
    size_t known = sizeof STORED / sizeof *STORED;
    struct sr_msgpack first = *in;
    struct sr_msgpack_item name;
    if (n == 0 || sr_msgpack_next(&first, &name) || name.kind != SR_MSGPACK_TEXT)
        return SR_EPARSE;
    if (!is_name(name.bytes, "BlockStored")) {
        order = REMOVED;
        known = sizeof REMOVED / sizeof *REMOVED;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (i < known)
            event->at[order[i]] = *in;
        if (sr_msgpack_skip(in))
            return SR_EPARSE;
    }
    return SR_OK;
}

/* The member, which must be there; its `at` is behind it then. */
static int take(struct event *event, enum member member, struct sr_msgpack_item *out)
{
    return event->at[member].p ? sr_msgpack_next(&event->at[member], out) : SR_EPARSE;
}

/* A member that is not there is nil. */
static struct sr_msgpack_item optional(const struct event *event, enum member member)
{
    struct sr_msgpack_item item = {.kind = SR_MSGPACK_NIL};
    struct sr_msgpack at = event->at[member];
    if (at.p && sr_msgpack_next(&at, &item))
        item.kind = SR_MSGPACK_NIL;
    return item;
}

static int read_event(struct sr_msgpack *in, struct event *event)
{
    struct sr_msgpack_item item, name;
    *event = (struct event){0};
    if (sr_msgpack_next(in, &item))
        return SR_EPARSE;
    int rc = item.kind == SR_MSGPACK_MAP     ? read_map(in, item.number, event)
             : item.kind == SR_MSGPACK_ARRAY ? read_array(in, item.number, event)
                                             : SR_EPARSE;
    if (rc || take(event, NAME, &name) || name.kind != SR_MSGPACK_TEXT)
        return SR_EPARSE;
    event->name = name.bytes;
    return SR_OK;
}

/* ---- what they say ---- */

static int hash_of(const struct sr_msgpack_item *item, uint64_t *hash)
{
    if (item->kind == SR_MSGPACK_BYTES || item->kind == SR_MSGPACK_TEXT)
        *hash = sr_hash64(item->bytes, 0);
    else if (item->kind == SR_MSGPACK_UINT || item->kind == SR_MSGPACK_INT)
        *hash = item->number;
    else
        return SR_EPARSE;
    return SR_OK;
}

static bool is_gpu(const struct sr_msgpack_item *medium)
{
    return medium->kind != SR_MSGPACK_TEXT || is_name(medium->bytes, "GPU") || is_name(medium->bytes, "gpu");
}

/* The extra keys of one block, without the name of its adapter. False: they are not understood. */
static bool read_keys(struct sr_msgpack *at, struct sr_bytes adapter, struct sr_bytes *salt, size_t *n)
{
    struct sr_msgpack_item list, key;
    *n = 0;
    if (sr_msgpack_next(at, &list))
        return false;
    if (list.kind == SR_MSGPACK_NIL)
        return true;
    for (uint64_t i = 0; list.kind == SR_MSGPACK_ARRAY && i < list.number; i++) {
        if (sr_msgpack_next(at, &key) || key.kind != SR_MSGPACK_TEXT)
            return false;
        if (adapter.n && sr_bytes_eq(key.bytes, adapter))
            continue;
        *salt = key.bytes;
        (*n)++;
    }
    return list.kind == SR_MSGPACK_ARRAY;
}

/* The extra keys of all blocks: none but for a salt of the first block of a prompt. */
static bool find_salt(const struct event *event, struct sr_bytes adapter, bool first, struct sr_bytes *salt)
{
    struct sr_msgpack at = event->at[EXTRA_KEYS];
    struct sr_msgpack_item list;
    if (!at.p || sr_msgpack_next(&at, &list) || list.kind == SR_MSGPACK_NIL)
        return true;
    bool good = list.kind == SR_MSGPACK_ARRAY;
    for (uint64_t i = 0; i < list.number && good; i++) {
        struct sr_bytes found = {0};
        size_t n;
        good = read_keys(&at, adapter, &found, &n) && n <= (first && i == 0);
        if (n)
            *salt = found;
    }
    return good;
}

/* It is of a cache that requests of the model use, and on the GPU. */
static bool counts(const struct event *event)
{
    struct sr_msgpack_item medium = optional(event, MEDIUM), group = optional(event, GROUP);
    return is_gpu(&medium) && (group.kind != SR_MSGPACK_UINT || group.number == 0);
}

/* What the first block comes after. False: its blocks are of a kind that is not understood. */
static bool find_root(const struct event *event, bool first, uint64_t *root)
{
    struct sr_msgpack_item id = optional(event, LORA_ID), name = optional(event, LORA_NAME);
    struct sr_bytes adapter = name.kind == SR_MSGPACK_TEXT ? name.bytes : SR_LIT(""), salt = SR_LIT("");
    if ((id.kind != SR_MSGPACK_NIL && !adapter.n) || !find_salt(event, adapter, first, &salt))
        return false;
    *root = sr_pool_kv_root(adapter, salt);
    return true;
}

static int take_hashes(struct reading *r, struct sr_msgpack *at, size_t n)
{
    struct sr_msgpack_item item;
    for (size_t i = 0; i < n; i++)
        if (sr_msgpack_next(at, &item) || hash_of(&item, &r->hashes[i]))
            return SR_EPARSE;
    return SR_OK;
}

static int take_tokens(struct reading *r, struct sr_msgpack *at, size_t n)
{
    struct sr_msgpack_item item;
    for (size_t i = 0; i < n; i++) {
        if (sr_msgpack_next(at, &item) || item.kind != SR_MSGPACK_UINT || item.number > UINT32_MAX)
            return SR_EPARSE;
        r->tokens[i] = (uint32_t)item.number;
    }
    return SR_OK;
}

static int stored(struct reading *r, struct event *event)
{
    struct sr_msgpack_item hashes, tokens, size, parent;
    if (take(event, HASHES, &hashes) || take(event, TOKENS, &tokens) || take(event, BLOCK_SIZE, &size) ||
        take(event, PARENT, &parent) || hashes.kind != SR_MSGPACK_ARRAY || tokens.kind != SR_MSGPACK_ARRAY ||
        size.kind != SR_MSGPACK_UINT)
        return SR_EPARSE;
    uint64_t root;
    if (!counts(event) || !find_root(event, parent.kind == SR_MSGPACK_NIL, &root) || size.number == 0 ||
        size.number > SR_KV_PIECE_TOKENS || tokens.number != hashes.number * size.number) {
        r->read->left_out++;
        return SR_OK;
    }
    struct sr_pool_kv_event piece = {.kind = SR_POOL_KV_STORED,
                                     .hashes = r->hashes,
                                     .tokens = r->tokens,
                                     .block_size = (uint32_t)size.number,
                                     .has_parent = parent.kind != SR_MSGPACK_NIL,
                                     .root = root};
    if (piece.has_parent && hash_of(&parent, &piece.parent))
        return SR_EPARSE;
    size_t most = SR_KV_PIECE_TOKENS / piece.block_size;
    most = most < SR_KV_PIECE_BLOCKS ? most : SR_KV_PIECE_BLOCKS;
    for (size_t left = (size_t)hashes.number; left > 0; left -= piece.n) {
        piece.n = left < most ? left : most;
        if (take_hashes(r, &event->at[HASHES], piece.n) ||
            take_tokens(r, &event->at[TOKENS], piece.n * piece.block_size))
            return SR_EPARSE;
        r->fn(r->ctx, &piece);
        piece.has_parent = true;
        piece.parent = r->hashes[piece.n - 1];
    }
    r->read->events++;
    return SR_OK;
}

static int removed(struct reading *r, struct event *event)
{
    struct sr_msgpack_item hashes;
    struct sr_pool_kv_event piece = {.kind = SR_POOL_KV_REMOVED, .hashes = r->hashes};
    if (take(event, HASHES, &hashes) || hashes.kind != SR_MSGPACK_ARRAY)
        return SR_EPARSE;
    if (!counts(event)) {
        r->read->left_out++;
        return SR_OK;
    }
    for (size_t left = (size_t)hashes.number; left > 0; left -= piece.n) {
        piece.n = left < SR_KV_PIECE_BLOCKS ? left : SR_KV_PIECE_BLOCKS;
        if (take_hashes(r, &event->at[HASHES], piece.n))
            return SR_EPARSE;
        r->fn(r->ctx, &piece);
    }
    r->read->events++;
    return SR_OK;
}

static int give_on(struct reading *r, struct event *event)
{
    if (is_name(event->name, "BlockStored"))
        return stored(r, event);
    if (is_name(event->name, "BlockRemoved"))
        return removed(r, event);
    if (!is_name(event->name, "AllBlocksCleared")) {
        r->read->left_out++;
        return SR_OK;
    }
    r->fn(r->ctx, &(struct sr_pool_kv_event){.kind = SR_POOL_KV_CLEARED});
    r->read->events++;
    return SR_OK;
}

/* Puts `in` to the list of events of a batch, which is an array or a map. Returns their number. */
static int find_events(struct sr_msgpack *in, uint64_t *n)
{
    struct sr_msgpack_item batch, item;
    if (sr_msgpack_next(in, &batch) || batch.number < 2 ||
        (batch.kind != SR_MSGPACK_ARRAY && batch.kind != SR_MSGPACK_MAP))
        return SR_EPARSE;
    if (batch.kind == SR_MSGPACK_ARRAY && sr_msgpack_skip(in))
        return SR_EPARSE;
    for (uint64_t i = 0; batch.kind == SR_MSGPACK_MAP; i++) {
        if (i == batch.number || sr_msgpack_next(in, &item) || item.kind != SR_MSGPACK_TEXT)
            return SR_EPARSE;
        if (is_name(item.bytes, "events"))
            break;
        if (sr_msgpack_skip(in))
            return SR_EPARSE;
    }
    if (sr_msgpack_next(in, &item) || item.kind != SR_MSGPACK_ARRAY)
        return SR_EPARSE;
    *n = item.number;
    return SR_OK;
}

int sr_kv_batch_read(struct sr_bytes payload, void (*fn)(void *ctx, const struct sr_pool_kv_event *event),
                     void *ctx, struct sr_kv_read *read)
{
    struct sr_msgpack in = sr_msgpack_of(payload);
    struct reading r = {.fn = fn, .ctx = ctx, .read = read};
    struct event event;
    uint64_t n = 0;
    *read = (struct sr_kv_read){0};
    int rc = find_events(&in, &n);
    for (uint64_t i = 0; i < n && rc == SR_OK; i++) {
        rc = read_event(&in, &event);
        if (rc == SR_OK)
            rc = give_on(&r, &event);
    }
    return rc;
}

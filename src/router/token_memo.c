/*
 * Prompts stand in a ring. A table from a prefix to its prompt is a cache: a slot has the latest prefix that
 * fell there, and one whose prompt has left the ring is free.
 */
#include "router/token_memo.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

struct prompt {
    uint64_t *kv;
    uint32_t n_kv, n; /* blocks of tokens, and of bytes */
};

struct slot {
    uint64_t prefix;
    uint64_t prompt; /* its number, from 1 on; 0: free */
    uint32_t blocks; /* of bytes, of the prefix */
};

struct sr_token_memo {
    pthread_mutex_t lock;
    struct prompt prompts[SR_TOKEN_MEMO_PROMPTS]; /* number n is at n % SR_TOKEN_MEMO_PROMPTS */
    uint64_t oldest, next;                        /* numbers */
    size_t bytes;
    struct slot slots[SR_TOKEN_MEMO_SLOTS];
};

int sr_token_memo_new(struct sr_token_memo **out)
{
    struct sr_token_memo *memo = sr_mem_calloc(1, sizeof *memo);
    *out = memo;
    if (!memo)
        return SR_ENOMEM;
    pthread_mutex_init(&memo->lock, NULL);
    memo->oldest = memo->next = 1;
    return SR_OK;
}

void sr_token_memo_free(struct sr_token_memo *memo)
{
    if (!memo)
        return;
    for (size_t i = 0; i < SR_TOKEN_MEMO_PROMPTS; i++)
        sr_mem_free(memo->prompts[i].kv);
    pthread_mutex_destroy(&memo->lock);
    sr_mem_free(memo);
}

static struct prompt *prompt_of(struct sr_token_memo *memo, uint64_t number)
{
    return &memo->prompts[number % SR_TOKEN_MEMO_PROMPTS];
}

static void drop_oldest(struct sr_token_memo *memo)
{
    struct prompt *prompt = prompt_of(memo, memo->oldest++);
    memo->bytes -= prompt->n_kv * sizeof *prompt->kv;
    sr_mem_free(prompt->kv);
    *prompt = (struct prompt){0};
}

static struct slot *slot_of(struct sr_token_memo *memo, uint64_t prefix)
{
    return &memo->slots[(prefix ^ prefix >> 32) % SR_TOKEN_MEMO_SLOTS];
}

static void index_prompt(struct sr_token_memo *memo, uint64_t kind, const uint64_t *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *slot_of(memo, blocks[i] ^ kind) = (struct slot){blocks[i] ^ kind, memo->next, (uint32_t)(i + 1)};
}

void sr_token_memo_put(struct sr_token_memo *memo, uint64_t kind, const uint64_t *blocks, size_t n,
                       const uint64_t *kv, size_t n_kv)
{
    size_t size = n_kv * sizeof *kv;
    if (n == 0 || n_kv == 0 || n > UINT32_MAX || size > SR_TOKEN_MEMO_BYTES / 4)
        return;
    uint64_t *copy = sr_mem_alloc(size);
    if (!copy)
        return;
    memcpy(copy, kv, size);
    pthread_mutex_lock(&memo->lock);
    while (memo->next > memo->oldest &&
           (memo->next - memo->oldest == SR_TOKEN_MEMO_PROMPTS || memo->bytes + size > SR_TOKEN_MEMO_BYTES))
        drop_oldest(memo);
    *prompt_of(memo, memo->next) = (struct prompt){copy, (uint32_t)n_kv, (uint32_t)n};
    memo->bytes += size;
    index_prompt(memo, kind, blocks, n);
    memo->next++;
    pthread_mutex_unlock(&memo->lock);
}

/* The slot of a prefix that is known; NULL. */
static const struct slot *find(struct sr_token_memo *memo, uint64_t prefix, size_t blocks)
{
    const struct slot *slot = slot_of(memo, prefix);
    bool good = slot->prefix == prefix && slot->blocks == blocks && slot->prompt >= memo->oldest;
    return good ? slot : NULL;
}

/* The longest known prefix, by bisection: what is known of a prompt is known of its prefixes, but for those
 * whose slot another one has, for which a shorter one is found. */
static const struct slot *find_longest(struct sr_token_memo *memo, uint64_t kind, const uint64_t *blocks,
                                       size_t n)
{
    const struct slot *best = n ? find(memo, blocks[n - 1] ^ kind, n) : NULL;
    size_t low = 0, high = n;
    while (!best && low < high) {
        size_t middle = low + (high - low) / 2;
        const struct slot *slot = find(memo, blocks[middle] ^ kind, middle + 1);
        if (!slot) {
            high = middle;
            continue;
        }
        low = middle + 1;
        if (low == high)
            best = slot;
    }
    return best || low == 0 ? best : find(memo, blocks[low - 1] ^ kind, low);
}

size_t sr_token_memo_get(struct sr_token_memo *memo, uint64_t kind, const uint64_t *blocks, size_t n,
                         struct sr_arena *arena, uint64_t **kv, size_t *n_kv)
{
    size_t known = 0;
    *kv = NULL;
    *n_kv = 0;
    pthread_mutex_lock(&memo->lock);
    const struct slot *slot = find_longest(memo, kind, blocks, n);
    if (slot) {
        const struct prompt *prompt = prompt_of(memo, slot->prompt);
        size_t count = (size_t)((uint64_t)prompt->n_kv * slot->blocks / prompt->n);
        *kv = sr_arena_alloc(arena, count * sizeof **kv + 1);
        if (*kv) {
            memcpy(*kv, prompt->kv, count * sizeof **kv);
            *n_kv = count;
            known = slot->blocks;
        }
    }
    pthread_mutex_unlock(&memo->lock);
    return known;
}

/* Maps byte strings to numbers: the vocabulary's hash table, and the trie for the longest prefix. */
#include "model/tokenizer/private.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/json_read.h"
#include "base/mem.h"

static size_t table_size(size_t n)
{
    size_t size = 16;
    while (size < n * 2)
        size *= 2;
    return size;
}

int sr_tok_vocab_init(struct sr_tok_vocab *vocab, size_t size, struct sr_arena *arena)
{
    size_t slots = table_size(size);
    vocab->size = size;
    vocab->mask = slots - 1;
    vocab->tokens = sr_arena_calloc(arena, size + 1, sizeof *vocab->tokens);
    vocab->slots = sr_arena_alloc(arena, slots * sizeof *vocab->slots);
    if (!vocab->tokens || !vocab->slots)
        return SR_ENOMEM;
    memset(vocab->slots, 0xFF, slots * sizeof *vocab->slots);
    return SR_OK;
}

static size_t slot_of(const struct sr_tok_vocab *vocab, struct sr_bytes token)
{
    size_t slot = sr_hash64(token, 0) & vocab->mask;
    while (vocab->slots[slot] != SR_TOK_NONE && !sr_bytes_eq(vocab->tokens[vocab->slots[slot]], token))
        slot = (slot + 1) & vocab->mask;
    return slot;
}

int32_t sr_tok_vocab_find(const struct sr_tok_vocab *vocab, struct sr_bytes token)
{
    return vocab->slots ? vocab->slots[slot_of(vocab, token)] : SR_TOK_NONE;
}

void sr_tok_vocab_put(struct sr_tok_vocab *vocab, struct sr_bytes token, int32_t id)
{
    vocab->slots[slot_of(vocab, token)] = id;
    vocab->tokens[id] = token;
}

int sr_tok_see_id(sr_json_view value, const char *where, size_t *size, struct sr_err *err)
{
    int64_t id;
    if (!sr_json_view_int(value, &id) || id < 0)
        return sr_err_set(err, SR_EPARSE, "%s: an id is not an integer from 0", where);
    if ((uint64_t)id >= SR_TOKENIZER_VOCAB_MAX)
        return sr_err_set(err, SR_ELIMIT, "%s: id %lld, the limit is %zu", where, (long long)id,
                          SR_TOKENIZER_VOCAB_MAX);
    if ((size_t)id >= *size)
        *size = (size_t)id + 1;
    return SR_OK;
}

int sr_tok_trie_init(struct sr_tok_trie *trie, size_t strings)
{
    size_t slots = table_size(strings * 4);
    *trie = (struct sr_tok_trie){.mask = slots - 1, .n_nodes = 1, .cap_nodes = strings * 2 + 16};
    trie->edges = sr_mem_calloc(slots, sizeof *trie->edges);
    trie->targets = sr_mem_calloc(slots, sizeof *trie->targets);
    trie->values = sr_mem_calloc(trie->cap_nodes, sizeof *trie->values);
    if (!trie->edges || !trie->targets || !trie->values) {
        sr_tok_trie_dispose(trie);
        return SR_ENOMEM;
    }
    trie->values[0] = SR_TOK_NONE;
    return SR_OK;
}

void sr_tok_trie_dispose(struct sr_tok_trie *trie)
{
    sr_mem_free(trie->edges);
    sr_mem_free(trie->targets);
    sr_mem_free(trie->values);
    *trie = (struct sr_tok_trie){0};
}

int sr_tok_trie_root(struct sr_tok_trie *trie, uint32_t *root)
{
    int rc =
        sr_grow(&trie->values, &trie->cap_nodes, trie->n_nodes + 1, sizeof *trie->values, SR_GROW_NO_MAX);
    if (rc)
        return rc;
    *root = (uint32_t)trie->n_nodes++;
    trie->values[*root] = SR_TOK_NONE;
    return SR_OK;
}

static inline size_t edge_slot(const struct sr_tok_trie *trie, uint64_t edge)
{
    uint64_t h = edge * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(h >> 29) & trie->mask;
    while (trie->edges[slot] && trie->edges[slot] != edge)
        slot = (slot + 1) & trie->mask;
    return slot;
}

static int grow_edges(struct sr_tok_trie *trie)
{
    struct sr_tok_trie old = *trie;
    size_t slots = (old.mask + 1) * 2;
    uint64_t *edges = sr_mem_calloc(slots, sizeof *edges);
    uint32_t *targets = sr_mem_calloc(slots, sizeof *targets);
    if (!edges || !targets) {
        sr_mem_free(edges);
        sr_mem_free(targets);
        return SR_ENOMEM;
    }
    trie->edges = edges;
    trie->targets = targets;
    trie->mask = slots - 1;
    for (size_t i = 0; i <= old.mask; i++)
        if (old.edges[i]) {
            size_t slot = edge_slot(trie, old.edges[i]);
            edges[slot] = old.edges[i];
            targets[slot] = old.targets[i];
        }
    sr_mem_free(old.edges);
    sr_mem_free(old.targets);
    return SR_OK;
}

static inline uint64_t edge_of(uint32_t node, char c)
{
    return ((uint64_t)node << 8 | (unsigned char)c) + 1;
}

int sr_tok_trie_add(struct sr_tok_trie *trie, uint32_t root, struct sr_bytes s, int32_t value)
{
    uint32_t node = root;
    for (size_t i = 0; i < s.n; i++) {
        uint64_t edge = edge_of(node, s.p[i]);
        size_t slot = edge_slot(trie, edge);
        if (!trie->edges[slot]) {
            uint32_t target;
            int rc = trie->n_edges * 2 > trie->mask ? grow_edges(trie) : SR_OK;
            if (rc == SR_OK)
                rc = sr_tok_trie_root(trie, &target);
            if (rc)
                return rc;
            slot = edge_slot(trie, edge);
            trie->edges[slot] = edge;
            trie->targets[slot] = target;
            trie->n_edges++;
        }
        node = trie->targets[slot];
    }
    if (trie->values[node] == SR_TOK_NONE)
        trie->values[node] = value;
    if (s.n > trie->longest)
        trie->longest = s.n;
    return SR_OK;
}

int32_t sr_tok_trie_longest(const struct sr_tok_trie *trie, uint32_t root, const char *p, size_t n,
                            size_t *length)
{
    int32_t best = SR_TOK_NONE;
    uint32_t node = root;
    for (size_t i = 0; i < n; i++) {
        size_t slot = edge_slot(trie, edge_of(node, p[i]));
        if (!trie->edges[slot])
            break;
        node = trie->targets[slot];
        if (trie->values[node] != SR_TOK_NONE) {
            best = trie->values[node];
            *length = i + 1;
        }
    }
    return best;
}

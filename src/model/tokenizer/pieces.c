/*
 * The set of a Unigram model's pieces as a tree in arrays: nine bytes a node, built level by level.
 *
 * A double array would need one access less for each byte; this one is built in one pass over the strings
 * and cannot fail to find room.
 */
#include "model/tokenizer/private.h"

#include "base/grow.h"
#include "base/mem.h"

#define SMALL 24u /* strings: sorted by insertion */

/* What is known of a node while its children are not made: its strings, order[low..high). */
struct range {
    uint32_t low, high;
};

struct builder {
    struct sr_tok_pieces *pieces;
    const struct sr_bytes *strings;
    uint32_t *order, *spare; /* indices of strings */
    struct range *ranges;    /* [nodes] */
    size_t cap_nodes, cap_labels, cap_ranges;
};

static int add_node(struct builder *b, uint8_t label, uint32_t low, uint32_t high)
{
    struct sr_tok_pieces *pieces = b->pieces;
    size_t n = pieces->n + 2; /* and the one behind the last */
    int rc = sr_grow(&pieces->nodes, &b->cap_nodes, n, sizeof *pieces->nodes, SR_GROW_NO_MAX);
    if (rc == SR_OK)
        rc = sr_grow(&pieces->labels, &b->cap_labels, n, sizeof *pieces->labels, SR_GROW_NO_MAX);
    if (rc == SR_OK)
        rc = sr_grow(&b->ranges, &b->cap_ranges, n, sizeof *b->ranges, SR_GROW_NO_MAX);
    if (rc)
        return rc;
    pieces->nodes[pieces->n].value = SR_TOK_NONE;
    pieces->labels[pieces->n] = label;
    b->ranges[pieces->n++] = (struct range){low, high};
    return SR_OK;
}

static inline uint8_t byte_of(const struct builder *b, uint32_t index, size_t depth)
{
    return (uint8_t)b->strings[b->order[index]].p[depth];
}

/* Orders order[low..high) by the byte at `depth`. */
static void sort_range(struct builder *b, uint32_t low, uint32_t high, size_t depth)
{
    uint32_t starts[257] = {0};
    if (high - low <= SMALL) {
        for (uint32_t i = low + 1; i < high; i++) {
            uint32_t string = b->order[i], k = i;
            uint8_t byte = (uint8_t)b->strings[string].p[depth];
            for (; k > low && byte_of(b, k - 1, depth) > byte; k--)
                b->order[k] = b->order[k - 1];
            b->order[k] = string;
        }
        return;
    }
    for (uint32_t i = low; i < high; i++)
        starts[byte_of(b, i, depth) + 1]++;
    for (size_t c = 0; c < 256; c++)
        starts[c + 1] += starts[c];
    for (uint32_t i = low; i < high; i++)
        b->spare[starts[byte_of(b, i, depth)]++] = b->order[i];
    memcpy(b->order + low, b->spare, (high - low) * sizeof *b->order);
}

/* Gives the node its value and its children: nodes of their own, behind all others. */
static int expand(struct builder *b, size_t node, size_t depth)
{
    struct range range = b->ranges[node];
    uint32_t low = range.low;
    int rc = SR_OK;
    for (uint32_t i = low; i < range.high; i++)
        if (b->strings[b->order[i]].n == depth) {
            if (b->pieces->nodes[node].value != SR_TOK_NONE)
                return SR_EINVAL;
            uint32_t string = b->order[i];
            b->pieces->nodes[node].value = (int32_t)string;
            b->order[i] = b->order[low];
            b->order[low++] = string;
        }
    b->pieces->nodes[node].first = (uint32_t)b->pieces->n;
    sort_range(b, low, range.high, depth);
    for (uint32_t i = low, from = low; rc == SR_OK && i < range.high; i++)
        if (i + 1 == range.high || byte_of(b, i + 1, depth) != byte_of(b, i, depth)) {
            rc = add_node(b, byte_of(b, i, depth), from, i + 1);
            from = i + 1;
        }
    return rc;
}

static int build(struct builder *b, uint32_t n_strings)
{
    int rc = add_node(b, 0, 0, n_strings);
    size_t level_end = 1, depth = 0;
    for (size_t node = 0; rc == SR_OK && node < b->pieces->n; node++) {
        if (node == level_end) {
            level_end = b->pieces->n;
            depth++;
        }
        rc = expand(b, node, depth);
    }
    if (rc)
        return rc;
    b->pieces->nodes[b->pieces->n] = (struct sr_tok_piece_node){(uint32_t)b->pieces->n, SR_TOK_NONE};
    for (uint32_t i = b->pieces->nodes[0].first; i < b->pieces->nodes[1].first; i++)
        b->pieces->root[b->pieces->labels[i]] = i;
    return SR_OK;
}

int sr_tok_pieces_init(struct sr_tok_pieces *pieces, const struct sr_bytes *strings, size_t n)
{
    struct builder b = {.pieces = pieces, .strings = strings};
    uint32_t used = 0;
    *pieces = (struct sr_tok_pieces){0};
    b.order = sr_mem_alloc((n + 1) * sizeof *b.order);
    b.spare = sr_mem_alloc((n + 1) * sizeof *b.spare);
    int rc = b.order && b.spare ? SR_OK : SR_ENOMEM;
    for (uint32_t i = 0; rc == SR_OK && i < n; i++)
        if (strings[i].n) {
            b.order[used++] = i;
            pieces->longest = strings[i].n > pieces->longest ? strings[i].n : pieces->longest;
        }
    if (rc == SR_OK)
        rc = build(&b, used);
    sr_mem_free(b.order);
    sr_mem_free(b.spare);
    sr_mem_free(b.ranges);
    return rc;
}

void sr_tok_pieces_dispose(struct sr_tok_pieces *pieces)
{
    sr_mem_free(pieces->nodes);
    sr_mem_free(pieces->labels);
    *pieces = (struct sr_tok_pieces){0};
}

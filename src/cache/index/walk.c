/* Searches in the graph: greedy above, best first on a level. */
#include "cache/index/walk.h"

#include <string.h>

#define FOLLOWED   0x80000000u
#define SEEN_SLOTS 16384u /* nodes that a walk can remember; it ends when three quarters are taken */

size_t sr_vector_pool_add(struct sr_vector_pool *pool, struct sr_vector_near near)
{
    size_t low = 0, high = pool->n;
    if (pool->n == pool->room && !(near.similarity > pool->items[pool->n - 1].similarity))
        return pool->room;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (pool->items[middle].similarity >= near.similarity)
            low = middle + 1;
        else
            high = middle;
    }
    pool->n += pool->n < pool->room;
    memmove(&pool->items[low + 1], &pool->items[low], (pool->n - 1 - low) * sizeof near);
    pool->items[low] = near;
    return low;
}

/* Nodes that a walk has met. */
struct seen {
    uint32_t n;
    uint32_t slots[SEEN_SLOTS]; /* node + 1; 0: free */
};

static bool seen_add(struct seen *seen, uint32_t node)
{
    uint32_t at = node * 0x9E3779B1u >> 18;
    while (seen->slots[at]) {
        if (seen->slots[at] == node + 1)
            return false;
        at = (at + 1) % SEEN_SLOTS;
    }
    seen->slots[at] = node + 1;
    seen->n++;
    return true;
}
_Static_assert(SEEN_SLOTS == 1u << (32 - 18), "the hash has as many bits as the table");

/* The links of a node that the walk has not met; their rows. */
static size_t unseen(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows, bool upper,
                     uint32_t node, struct seen *seen, uint32_t *nodes, uint32_t *list)
{
    const uint32_t *links = sr_vector_node_links(graph, rows, upper, node);
    size_t n = 0;
    for (uint32_t i = 0; i < sr_vector_node_room(upper) && links[i] != SR_VECTOR_NONE; i++)
        if (seen_add(seen, links[i])) {
            nodes[n] = links[i];
            list[n++] = sr_vector_node_row(graph, upper, links[i]);
        }
    return n;
}

void sr_vector_walk_level(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows,
                          const struct sr_vector_query *query, bool upper, struct sr_vector_pool *pool)
{
    struct seen seen;
    uint32_t nodes[SR_VECTOR_LINKS], list[SR_VECTOR_LINKS];
    float similarities[SR_VECTOR_LINKS];
    memset(&seen, 0, sizeof seen);
    for (size_t i = 0; i < pool->n; i++)
        seen_add(&seen, pool->items[i].node);
    for (size_t at = 0; at < pool->n && seen.n < SEEN_SLOTS / 4 * 3;) {
        if (pool->items[at].node & FOLLOWED) {
            at++;
            continue;
        }
        const uint32_t node = pool->items[at].node;
        pool->items[at].node |= FOLLOWED;
        const size_t n = unseen(graph, rows, upper, node, &seen, nodes, list);
        sr_vector_rows_compare(rows, query, list, n, similarities);
        for (size_t i = 0; i < n; i++) {
            const size_t place = sr_vector_pool_add(pool, (struct sr_vector_near){similarities[i], nodes[i]});
            at = place < at ? place : at;
        }
    }
    for (size_t i = 0; i < pool->n; i++)
        pool->items[i].node &= ~FOLLOWED;
}

/* The nearest node that steps to ever nearer records reach. */
static struct sr_vector_near climb(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows,
                                   const struct sr_vector_query *query, struct sr_vector_near best)
{
    uint32_t list[SR_VECTOR_UPPER_LINKS];
    float similarities[SR_VECTOR_UPPER_LINKS];
    for (bool nearer = true; nearer;) {
        const uint32_t *links = sr_vector_record_of(graph, best.node)->links;
        size_t n = 0;
        for (; n < SR_VECTOR_UPPER_LINKS && links[n] != SR_VECTOR_NONE; n++)
            list[n] = sr_vector_record_of(graph, links[n])->row;
        sr_vector_rows_compare(rows, query, list, n, similarities);
        nearer = false;
        for (size_t i = 0; i < n; i++)
            if (similarities[i] > best.similarity) {
                best = (struct sr_vector_near){similarities[i], links[i]};
                nearer = true;
            }
    }
    return best;
}

struct sr_vector_near sr_vector_walk_down(const struct sr_vector_graph *graph,
                                          const struct sr_vector_rows *rows,
                                          const struct sr_vector_query *query, uint32_t level)
{
    struct sr_vector_near best = {.node = graph->entry};
    const uint32_t row = sr_vector_node_row(graph, graph->top > 0, graph->entry);
    sr_vector_rows_compare(rows, query, &row, 1, &best.similarity);
    for (uint32_t l = graph->top; l > level; l--) {
        best = climb(graph, rows, query, best);
        const struct sr_vector_record *record = sr_vector_record_of(graph, best.node);
        best.node = l > 1 ? record->below : record->row;
    }
    return best;
}

void sr_vector_walk(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows,
                    const struct sr_vector_query *query, struct sr_vector_pool *pool)
{
    pool->n = 0;
    if (graph->linked == 0)
        return;
    sr_vector_pool_add(pool, sr_vector_walk_down(graph, rows, query, 0));
    sr_vector_walk_level(graph, rows, query, false, pool);
}

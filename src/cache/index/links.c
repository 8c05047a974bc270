/* How nodes of a level are linked. */
#include "cache/index/links.h"

#include <stdlib.h>
#include <string.h>

/* One level of a graph. */
struct level {
    const struct sr_vector_graph *graph;
    const struct sr_vector_rows *rows;
    bool upper;
    uint32_t room; /* links of a node */
};

static struct level level_of(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows,
                             bool upper)
{
    return (struct level){graph, rows, upper, sr_vector_node_room(upper)};
}

static uint32_t *links_of(const struct level *l, uint32_t node)
{
    return sr_vector_node_links(l->graph, l->rows, l->upper, node);
}

static uint32_t count(const struct level *l, uint32_t node)
{
    const uint32_t *links = links_of(l, node);
    uint32_t n = 0;
    while (n < l->room && links[n] != SR_VECTOR_NONE)
        n++;
    return n;
}

static bool is_linked(const struct level *l, uint32_t a, uint32_t b)
{
    const uint32_t *links = links_of(l, a);
    for (uint32_t i = 0; i < l->room && links[i] != SR_VECTOR_NONE; i++)
        if (links[i] == b)
            return true;
    return false;
}

/* Both have room. */
static void link_pair(const struct level *l, uint32_t a, uint32_t b)
{
    links_of(l, a)[count(l, a)] = b;
    links_of(l, b)[count(l, b)] = a;
}

static void drop_half(const struct level *l, uint32_t from, uint32_t to)
{
    uint32_t *links = links_of(l, from), at = 0;
    const uint32_t last = count(l, from) - 1;
    while (links[at] != to)
        at++;
    links[at] = links[last];
    links[last] = SR_VECTOR_NONE;
}

static void query_of(const struct level *l, uint32_t node, struct sr_vector_query *query)
{
    const uint32_t row = sr_vector_node_row(l->graph, l->upper, node);
    sr_vector_query_row(query, sr_vector_coarse(l->rows, row), sr_vector_step(l->rows, row), l->rows->padded);
}

static void compare(const struct level *l, const struct sr_vector_query *query, const uint32_t *nodes,
                    size_t n, float *similarities)
{
    uint32_t list[SR_VECTOR_LINKS];
    for (size_t i = 0; i < n; i++)
        list[i] = sr_vector_node_row(l->graph, l->upper, nodes[i]);
    sr_vector_rows_compare(l->rows, query, list, n, similarities);
}

/* ---- entering ---- */

/* At most half of the room: first candidates that are nearer to the new node than to those chosen before (the
 * heuristic of HNSW), then the nearest of the others. Returns how many. */
static size_t choose(const struct level *l, const struct sr_vector_pool *candidates,
                     struct sr_vector_near chosen[SR_VECTOR_LINKS])
{
    struct sr_vector_query query;
    uint32_t nodes[SR_VECTOR_LINKS];
    float similarities[SR_VECTOR_LINKS];
    struct sr_vector_near rest[SR_VECTOR_LINKS];
    const size_t most = l->room / 2;
    size_t n = 0, n_rest = 0;
    for (size_t i = 0; i < candidates->n && n < most; i++) {
        const struct sr_vector_near near = candidates->items[i];
        bool apart = true;
        query_of(l, near.node, &query);
        compare(l, &query, nodes, n, similarities);
        for (size_t k = 0; k < n && apart; k++)
            apart = similarities[k] < near.similarity;
        if (apart) {
            nodes[n] = near.node;
            chosen[n++] = near;
        } else if (n_rest < most) {
            rest[n_rest++] = near;
        }
    }
    for (size_t i = 0; i < n_rest && n < most; i++)
        chosen[n++] = rest[i];
    return n;
}

/* `other` has no room: the new node takes one of its links over, that which gains most. Without need it
 * leaves a link that gains nothing, when one of the neighbours is nearer to the new node anyway. */
static void take_over(const struct level *l, uint32_t node, const struct sr_vector_query *of_node,
                      struct sr_vector_near other, bool need)
{
    struct sr_vector_query query;
    uint32_t neighbours[SR_VECTOR_LINKS];
    float to_other[SR_VECTOR_LINKS], to_node[SR_VECTOR_LINKS], best = -4;
    uint32_t at = 0;
    bool near = false;
    memcpy(neighbours, links_of(l, other.node), l->room * sizeof *neighbours);
    query_of(l, other.node, &query);
    compare(l, &query, neighbours, l->room, to_other);
    compare(l, of_node, neighbours, l->room, to_node);
    for (uint32_t i = 0; i < l->room; i++) {
        const float gain = to_node[i] - to_other[i];
        near |= to_node[i] > other.similarity;
        if (gain > best) {
            best = gain;
            at = i;
        }
    }
    if (!need && near && best <= 0)
        return;
    const uint32_t third = neighbours[at];
    drop_half(l, other.node, third);
    drop_half(l, third, other.node);
    link_pair(l, node, other.node);
    if (!is_linked(l, node, third))
        link_pair(l, node, third);
}

void sr_vector_links_enter(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows, bool upper,
                           uint32_t node, const struct sr_vector_pool *candidates)
{
    const struct level l = level_of(graph, rows, upper);
    struct sr_vector_near chosen[SR_VECTOR_LINKS];
    struct sr_vector_query query;
    const size_t n = choose(&l, candidates, chosen);
    query_of(&l, node, &query);
    for (size_t i = 0; i < n && count(&l, node) + 2 <= l.room; i++) {
        if (is_linked(&l, node, chosen[i].node))
            continue;
        if (count(&l, chosen[i].node) < l.room)
            link_pair(&l, node, chosen[i].node);
        else
            take_over(&l, node, &query, chosen[i], count(&l, node) == 0);
    }
}

/* ---- leaving ---- */

struct pair {
    float similarity;
    uint8_t a, b; /* places in the list of neighbours */
};

static int by_similarity(const void *a, const void *b)
{
    const float x = ((const struct pair *)a)->similarity, y = ((const struct pair *)b)->similarity;
    return x < y ? 1 : x > y ? -1 : 0;
}

static uint8_t group_of(const uint8_t *groups, uint8_t i)
{
    while (groups[i] != i)
        i = groups[i];
    return i;
}

#define PAIRS_MAX (SR_VECTOR_LINKS * (SR_VECTOR_LINKS - 1) / 2)

/* All pairs, the nearest first; groups[]: what is linked already. */
static size_t pairs_of(const struct level *l, const uint32_t *nodes, size_t n, struct pair *pairs,
                       uint8_t *groups)
{
    struct sr_vector_query query;
    float similarities[SR_VECTOR_LINKS];
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; i++)
        groups[i] = (uint8_t)i;
    for (size_t i = 0; i + 1 < n; i++) {
        query_of(l, nodes[i], &query);
        compare(l, &query, nodes + i + 1, n - i - 1, similarities);
        for (size_t k = i + 1; k < n; k++)
            if (is_linked(l, nodes[i], nodes[k]))
                groups[group_of(groups, (uint8_t)k)] = group_of(groups, (uint8_t)i);
            else
                pairs[n_pairs++] = (struct pair){similarities[k - i - 1], (uint8_t)i, (uint8_t)k};
    }
    qsort(pairs, n_pairs, sizeof *pairs, by_similarity);
    return n_pairs;
}

void sr_vector_links_leave(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows, bool upper,
                           uint32_t node)
{
    const struct level l = level_of(graph, rows, upper);
    const uint32_t n = count(&l, node);
    uint32_t nodes[SR_VECTOR_LINKS];
    uint8_t groups[SR_VECTOR_LINKS];
    bool linked[SR_VECTOR_LINKS] = {false};
    struct pair pairs[PAIRS_MAX];
    memcpy(nodes, links_of(&l, node), n * sizeof *nodes);
    for (uint32_t i = 0; i < n; i++)
        drop_half(&l, nodes[i], node);
    memset(links_of(&l, node), 0xFF, l.room * sizeof(uint32_t));
    const size_t n_pairs = pairs_of(&l, nodes, n, pairs, groups);
    /* What the node kept together first; then each neighbour gets a link for the one that it has lost. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n_pairs; i++) {
            const struct pair p = pairs[i];
            const uint8_t a = group_of(groups, p.a), b = group_of(groups, p.b);
            const bool wanted = pass == 0 ? a != b : !linked[p.a] && !linked[p.b];
            if (!wanted || count(&l, nodes[p.a]) == l.room || count(&l, nodes[p.b]) == l.room ||
                is_linked(&l, nodes[p.a], nodes[p.b]))
                continue;
            link_pair(&l, nodes[p.a], nodes[p.b]);
            linked[p.a] = linked[p.b] = true;
            groups[a] = b;
        }
}

void sr_vector_links_move(const struct sr_vector_rows *rows, uint32_t from, uint32_t to)
{
    const struct level l = level_of(NULL, rows, false);
    const uint32_t n = count(&l, to), *links = links_of(&l, to);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *back = links_of(&l, links[i]);
        while (*back != from)
            back++;
        *back = to;
    }
}

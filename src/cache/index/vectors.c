/* One index: rows alone below a size, rows and a graph above it. */
#include "cache/index/vectors.h"

#include "base/mem.h"
#include "cache/index/graph.h"
#include "cache/index/walk.h"

#include <string.h>

#define GRAPH_FROM   4096u /* vectors with which a graph begins */
#define GRAPH_UNTIL  2048u /* with fewer it ends */
#define LINK_AT_ONCE 2u    /* rows that a call links at most: so the graph catches up with the rows */
#define SCAN_AT_ONCE 64u

struct sr_vectors {
    struct sr_vector_rows rows;
    struct sr_vector_graph *graph; /* NULL: a small index */
};

int sr_vectors_new(struct sr_vectors **out, size_t dimension)
{
    *out = NULL;
    if (dimension == 0 || dimension > SR_VECTOR_DIMENSION_MAX)
        return SR_EINVAL;
    struct sr_vectors *vectors = *out = sr_mem_calloc(1, sizeof *vectors);
    if (!vectors)
        return SR_ENOMEM;
    sr_vector_rows_init(&vectors->rows, dimension);
    return SR_OK;
}

void sr_vectors_free(struct sr_vectors *vectors)
{
    if (!vectors)
        return;
    sr_vector_graph_free(vectors->graph);
    sr_vector_rows_dispose(&vectors->rows);
    sr_mem_free(vectors);
}

static uint32_t linked(const struct sr_vectors *vectors)
{
    return vectors->graph ? vectors->graph->linked : 0;
}

static uint32_t find(const struct sr_vectors *vectors, uint32_t id)
{
    const struct sr_vector_rows *rows = &vectors->rows;
    uint32_t row = vectors->graph ? sr_vector_ids_find(&vectors->graph->ids, rows, id) : SR_VECTOR_NONE;
    for (uint32_t i = linked(vectors); i < rows->count && row == SR_VECTOR_NONE; i++)
        if (*sr_vector_id(rows, i) == id)
            row = i;
    return row;
}

/* Makes room for a row more and for the links that adding it makes; sets how many. */
static int reserve(struct sr_vectors *vectors, uint32_t *links)
{
    struct sr_vector_rows *rows = &vectors->rows;
    *links = 0;
    int rc = sr_vector_rows_reserve(rows);
    if (rc || (!vectors->graph && rows->count + 1 < GRAPH_FROM))
        return rc;
    struct sr_vector_graph *graph = vectors->graph;
    if (!graph)
        rc = sr_vector_graph_new(&graph);
    if (rc)
        return rc;
    const uint32_t left = rows->count + 1 - graph->linked, n = left < LINK_AT_ONCE ? left : LINK_AT_ONCE;
    rc = sr_vector_graph_reserve(graph, rows, n);
    if (rc && !vectors->graph) {
        sr_vector_graph_free(graph);
        sr_vector_rows_drop_links(rows, 0);
    } else {
        vectors->graph = graph;
        *links = n;
    }
    return rc;
}

static int add(struct sr_vectors *vectors, uint32_t id, const void *packed)
{
    uint32_t links;
    if (find(vectors, id) != SR_VECTOR_NONE)
        return SR_EINVAL;
    int rc = reserve(vectors, &links);
    if (rc)
        return rc;
    sr_vector_rows_append(&vectors->rows, id, packed);
    for (uint32_t i = 0; i < links; i++)
        sr_vector_graph_link(vectors->graph, &vectors->rows);
    return SR_OK;
}

int sr_vectors_add(struct sr_vectors *vectors, uint32_t id, const float *unit)
{
    uint8_t packed[4 + SR_VECTOR_DIMENSION_MAX + SR_VECTOR_DIMENSION_MAX / 2];
    int rc = sr_vector_pack(unit, vectors->rows.dimension, packed);
    return rc ? rc : add(vectors, id, packed);
}

int sr_vectors_add_packed(struct sr_vectors *vectors, uint32_t id, struct sr_bytes packed)
{
    int rc = sr_vector_check(packed, vectors->rows.dimension);
    return rc ? rc : add(vectors, id, packed.p);
}

bool sr_vectors_remove(struct sr_vectors *vectors, uint32_t id)
{
    struct sr_vector_rows *rows = &vectors->rows;
    uint32_t row = find(vectors, id);
    if (row == SR_VECTOR_NONE)
        return false;
    if (row < linked(vectors)) {
        sr_vector_graph_unlink(vectors->graph, rows, row);
        row = vectors->graph->linked;
    }
    if (row != rows->count - 1)
        sr_vector_rows_copy(rows, rows->count - 1, row);
    if (vectors->graph && rows->count - 1 < GRAPH_UNTIL) {
        sr_vector_graph_free(vectors->graph);
        vectors->graph = NULL;
        sr_vector_rows_drop_links(rows, 0);
    }
    sr_vector_rows_drop(rows);
    return true;
}

/* Candidates of a search: so many that 99 of 100 find the nearest, measured by `semroute bench cache`.
 * Without a graph only rounding can hide the nearest. */
static size_t effort(uint32_t in_graph)
{
    if (in_graph == 0)
        return 2 * (size_t)SR_VECTOR_HITS_MAX;
    return in_graph <= 32768    ? 128
           : in_graph <= 131072 ? 192
           : in_graph <= 524288 ? 256
                                : SR_VECTOR_EFFORT_MAX;
}

/* Rows that are in no graph. */
static void scan(const struct sr_vectors *vectors, const struct sr_vector_query *query,
                 struct sr_vector_pool *pool)
{
    const struct sr_vector_rows *rows = &vectors->rows;
    uint32_t list[SCAN_AT_ONCE];
    float similarities[SCAN_AT_ONCE];
    for (uint32_t from = linked(vectors); from < rows->count; from += SCAN_AT_ONCE) {
        const uint32_t left = rows->count - from, n = left < SCAN_AT_ONCE ? left : SCAN_AT_ONCE;
        for (uint32_t i = 0; i < n; i++)
            list[i] = from + i;
        sr_vector_rows_compare(rows, query, list, n, similarities);
        for (uint32_t i = 0; i < n; i++)
            if (pool->n < pool->room || similarities[i] > pool->items[pool->n - 1].similarity)
                sr_vector_pool_add(pool, (struct sr_vector_near){similarities[i], from + i});
    }
}

/* The k best of the pool by all their bits. What cannot be among them even if both roundings were as wrong as
 * they can be expected to (three standard deviations of each) is left out. */
static size_t refine(const struct sr_vector_rows *rows, const struct sr_vector_query *query,
                     const struct sr_vector_pool *pool, size_t k, struct sr_vector_hit *hits)
{
    size_t n = 0;
    const float least = pool->n > k ? pool->items[k - 1].similarity : -4;
    for (size_t i = 0; i < pool->n; i++) {
        const uint32_t row = pool->items[i].node;
        const float step = sr_vector_step(rows, row);
        if (pool->items[i].similarity < least - 2 * (query->step + step * SR_VECTOR_FINE))
            continue;
        const float similarity = sr_vector_cosine(query->unit, sr_vector_coarse(rows, row),
                                                  sr_vector_fine(rows, row), step, rows->dimension);
        if (n == k && !(similarity > hits[n - 1].similarity))
            continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at > 0 && hits[at - 1].similarity < similarity; at--)
            hits[at] = hits[at - 1];
        hits[at] = (struct sr_vector_hit){*sr_vector_id(rows, row), similarity};
    }
    return n;
}

size_t sr_vectors_search(const struct sr_vectors *vectors, const float *unit, size_t k,
                         struct sr_vector_hit *hits)
{
    struct sr_vector_query query;
    struct sr_vector_pool pool = {.room = effort(linked(vectors))};
    k = k < SR_VECTOR_HITS_MAX ? k : SR_VECTOR_HITS_MAX;
    if (k == 0 || vectors->rows.count == 0)
        return 0;
    sr_vector_query_init(&query, unit, vectors->rows.dimension);
    if (vectors->graph)
        sr_vector_walk(vectors->graph, &vectors->rows, &query, &pool);
    scan(vectors, &query, &pool);
    return refine(&vectors->rows, &query, &pool, k, hits);
}

size_t sr_vectors_count(const struct sr_vectors *vectors)
{
    return vectors->rows.count;
}

size_t sr_vectors_memory(const struct sr_vectors *vectors)
{
    return sizeof *vectors + sr_vector_rows_memory(&vectors->rows) +
           (vectors->graph ? sr_vector_graph_memory(vectors->graph) : 0);
}

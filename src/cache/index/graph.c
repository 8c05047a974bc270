/* The nodes of a graph: levels, records, the entry, and what moves with a row. */
#include "cache/index/graph.h"

#include "base/mem.h"
#include "cache/index/links.h"

#include <string.h>

#define LINK_EFFORT  160u /* candidates for the links of a new row */
#define UPPER_EFFORT 32u

int sr_vector_graph_new(struct sr_vector_graph **out)
{
    struct sr_vector_graph *graph = *out = sr_mem_calloc(1, sizeof *graph);
    if (!graph)
        return SR_ENOMEM;
    sr_vector_ids_init(&graph->ids);
    graph->free = graph->entry = SR_VECTOR_NONE;
    graph->random = 0x9E3779B97F4A7C15u;
    return SR_OK;
}

void sr_vector_graph_free(struct sr_vector_graph *graph)
{
    if (!graph)
        return;
    sr_vector_ids_dispose(&graph->ids);
    for (uint32_t i = 0; i < graph->n_pages; i++)
        sr_mem_free(graph->pages[i]);
    sr_mem_free(graph->pages);
    sr_mem_free(graph);
}

static int reserve_records(struct sr_vector_graph *graph, uint32_t more)
{
    while (graph->n_pages * SR_VECTOR_BLOCK - graph->records + graph->n_free < more) {
        if (graph->n_pages == graph->room) {
            const uint32_t room = graph->room ? graph->room * 2 : 4;
            struct sr_vector_record **pages = sr_mem_realloc(graph->pages, room * sizeof *pages);
            if (!pages)
                return SR_ENOMEM;
            graph->pages = pages;
            graph->room = room;
        }
        struct sr_vector_record *page = sr_mem_alloc(SR_VECTOR_BLOCK * sizeof *page);
        if (!page)
            return SR_ENOMEM;
        graph->pages[graph->n_pages++] = page;
    }
    return SR_OK;
}

int sr_vector_graph_reserve(struct sr_vector_graph *graph, struct sr_vector_rows *rows, uint32_t more)
{
    int rc = reserve_records(graph, more * SR_VECTOR_LEVELS);
    if (rc == SR_OK)
        rc = sr_vector_ids_reserve(&graph->ids, more);
    const uint32_t last = (graph->linked + more - 1) / SR_VECTOR_BLOCK;
    for (uint32_t i = graph->linked / SR_VECTOR_BLOCK; i <= last && rc == SR_OK; i++)
        rc = sr_vector_rows_reserve_links(rows, i);
    return rc;
}

/* Each level has one sixteenth of the one below (SplitMix64). */
static uint32_t random_level(struct sr_vector_graph *graph)
{
    uint64_t x = graph->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    uint32_t level = 0;
    for (; level < SR_VECTOR_LEVELS && (x & 15) == 0; x >>= 4)
        level++;
    return level;
}

static uint32_t take_record(struct sr_vector_graph *graph, uint32_t row, uint32_t level, uint32_t below)
{
    uint32_t at = graph->free;
    if (at == SR_VECTOR_NONE) {
        at = graph->records++;
    } else {
        graph->free = sr_vector_record_of(graph, at)->below;
        graph->n_free--;
    }
    struct sr_vector_record *record = sr_vector_record_of(graph, at);
    memset(record, 0xFF, sizeof *record); /* no links */
    record->row = row;
    record->level = level;
    record->below = below;
    return at;
}

void sr_vector_graph_link(struct sr_vector_graph *graph, struct sr_vector_rows *rows)
{
    const uint32_t row = graph->linked, level = random_level(graph);
    uint32_t nodes[SR_VECTOR_LEVELS + 1] = {row};
    memset(sr_vector_row_links(rows, row), 0xFF, SR_VECTOR_LINKS * sizeof(uint32_t));
    for (uint32_t l = 1; l <= level; l++)
        nodes[l] = take_record(graph, row, l, l > 1 ? nodes[l - 1] : SR_VECTOR_NONE);
    *sr_vector_top(rows, row) = level ? nodes[level] : SR_VECTOR_NONE;
    sr_vector_ids_add(&graph->ids, rows, row);
    if (graph->linked) {
        struct sr_vector_query query;
        struct sr_vector_pool pool = {.n = 1};
        sr_vector_query_row(&query, sr_vector_coarse(rows, row), sr_vector_step(rows, row), rows->padded);
        const uint32_t from = level < graph->top ? level : graph->top;
        pool.items[0] = sr_vector_walk_down(graph, rows, &query, from);
        for (uint32_t l = from + 1; l-- > 0;) {
            pool.room = l ? UPPER_EFFORT : LINK_EFFORT;
            sr_vector_walk_level(graph, rows, &query, l > 0, &pool);
            sr_vector_links_enter(graph, rows, l > 0, nodes[l], &pool);
            for (size_t i = 0; i < pool.n && l; i++) {
                const struct sr_vector_record *record = sr_vector_record_of(graph, pool.items[i].node);
                pool.items[i].node = l > 1 ? record->below : record->row;
            }
        }
    }
    if (graph->linked++ == 0 || level > graph->top) {
        graph->entry = nodes[level];
        graph->top = level;
    }
}

/* The highest node that there is; row 0 without records. */
static void find_entry(struct sr_vector_graph *graph)
{
    graph->top = 0;
    graph->entry = 0;
    for (uint32_t i = 0; i < graph->records; i++) {
        const struct sr_vector_record *record = sr_vector_record_of(graph, i);
        if (record->row != SR_VECTOR_NONE && record->level > graph->top) {
            graph->top = record->level;
            graph->entry = i;
        }
    }
}

static void drop_records(struct sr_vector_graph *graph, struct sr_vector_rows *rows, uint32_t row)
{
    const uint32_t top = *sr_vector_top(rows, row);
    for (uint32_t at = top, below; at != SR_VECTOR_NONE; at = below) {
        struct sr_vector_record *record = sr_vector_record_of(graph, at);
        below = record->below;
        sr_vector_links_leave(graph, rows, true, at);
        record->row = SR_VECTOR_NONE;
        record->below = graph->free;
        graph->free = at;
        graph->n_free++;
    }
    if (graph->top > 0 && graph->entry == top)
        find_entry(graph);
}

/* The last linked row takes the place of a row that nothing points to. */
static void move_last(struct sr_vector_graph *graph, struct sr_vector_rows *rows, uint32_t to)
{
    const uint32_t from = graph->linked - 1;
    sr_vector_ids_replace(&graph->ids, rows, from, to);
    sr_vector_rows_copy(rows, from, to);
    memcpy(sr_vector_row_links(rows, to), sr_vector_row_links(rows, from),
           SR_VECTOR_LINKS * sizeof(uint32_t));
    sr_vector_links_move(rows, from, to);
    *sr_vector_top(rows, to) = *sr_vector_top(rows, from);
    for (uint32_t at = *sr_vector_top(rows, to); at != SR_VECTOR_NONE;
         at = sr_vector_record_of(graph, at)->below)
        sr_vector_record_of(graph, at)->row = to;
    if (graph->top == 0 && graph->entry == from)
        graph->entry = to;
}

void sr_vector_graph_unlink(struct sr_vector_graph *graph, struct sr_vector_rows *rows, uint32_t row)
{
    sr_vector_links_leave(graph, rows, false, row);
    drop_records(graph, rows, row);
    sr_vector_ids_replace(&graph->ids, rows, row, SR_VECTOR_NONE);
    if (row != graph->linked - 1)
        move_last(graph, rows, row);
    graph->linked--;
    if (graph->top == 0)
        graph->entry = 0;
}

size_t sr_vector_graph_memory(const struct sr_vector_graph *graph)
{
    return sizeof *graph + sr_vector_ids_memory(&graph->ids) + graph->room * sizeof *graph->pages +
           (size_t)graph->n_pages * SR_VECTOR_BLOCK * sizeof **graph->pages;
}

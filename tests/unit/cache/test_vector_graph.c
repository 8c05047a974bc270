/* The graph itself: links in pairs, nothing that cannot be reached, records of rows that are there. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/vector_kit.h"

#include "cache/index/graph.h"

enum { D = 24 };

struct made {
    struct sr_vector_rows rows;
    struct sr_vector_graph *graph;
};

static void make(struct made *m)
{
    sr_vector_rows_init(&m->rows, D);
    assert_int_equal(sr_vector_graph_new(&m->graph), SR_OK);
}

static void dispose(struct made *m)
{
    sr_vector_graph_free(m->graph);
    sr_vector_rows_dispose(&m->rows);
}

static void add(struct made *m, uint32_t id, const float *unit)
{
    uint8_t packed[4 + D + D / 2];
    assert_int_equal(sr_vector_pack(unit, D, packed), SR_OK);
    assert_int_equal(sr_vector_rows_reserve(&m->rows), SR_OK);
    while (m->rows.first < SR_VECTOR_BLOCK) { /* a graph begins with a full block */
        const uint32_t count = m->rows.count;
        m->rows.count = m->rows.first;
        assert_int_equal(sr_vector_rows_reserve(&m->rows), SR_OK);
        m->rows.count = count;
    }
    assert_int_equal(sr_vector_graph_reserve(m->graph, &m->rows, 1), SR_OK);
    sr_vector_rows_append(&m->rows, id, packed);
    sr_vector_graph_link(m->graph, &m->rows);
}

static void take(struct made *m, uint32_t id)
{
    const uint32_t row = sr_vector_ids_find(&m->graph->ids, &m->rows, id);
    assert_int_not_equal(row, SR_VECTOR_NONE);
    sr_vector_graph_unlink(m->graph, &m->rows, row);
    sr_vector_rows_drop(&m->rows);
}

static void check_level(const struct made *m, bool upper, uint32_t node)
{
    const uint32_t *links = sr_vector_node_links(m->graph, &m->rows, upper, node);
    const uint32_t room = sr_vector_node_room(upper);
    bool ended = false;
    for (uint32_t i = 0; i < room; i++) {
        ended |= links[i] == SR_VECTOR_NONE;
        if (ended) {
            assert_int_equal(links[i], SR_VECTOR_NONE);
            continue;
        }
        assert_int_not_equal(links[i], node);
        assert_true(sr_vector_node_row(m->graph, upper, links[i]) < m->graph->linked);
        const uint32_t *back = sr_vector_node_links(m->graph, &m->rows, upper, links[i]);
        uint32_t times = 0;
        for (uint32_t k = 0; k < room; k++)
            times += back[k] == node;
        assert_int_equal(times, 1);
    }
}

/* Rows that the lowest level joins to row 0. */
static uint32_t reached(const struct made *m)
{
    uint8_t *seen = calloc(m->rows.count, 1);
    uint32_t *queue = malloc(m->rows.count * sizeof *queue), n = 0;
    seen[0] = 1;
    queue[n++] = 0;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t *links = sr_vector_row_links(&m->rows, queue[at]);
        for (uint32_t i = 0; i < SR_VECTOR_LINKS && links[i] != SR_VECTOR_NONE; i++)
            if (!seen[links[i]]) {
                seen[links[i]] = 1;
                queue[n++] = links[i];
            }
    }
    free(seen);
    free(queue);
    return n;
}

static void check(const struct made *m)
{
    uint32_t records = 0, highest = 0;
    assert_int_equal(m->graph->linked, m->rows.count);
    assert_int_equal(m->graph->ids.entries, m->rows.count);
    for (uint32_t row = 0; row < m->rows.count; row++) {
        check_level(m, false, row);
        assert_int_equal(sr_vector_ids_find(&m->graph->ids, &m->rows, *sr_vector_id(&m->rows, row)), row);
        uint32_t level = 0;
        for (uint32_t at = *sr_vector_top(&m->rows, row); at != SR_VECTOR_NONE;) {
            const struct sr_vector_record *record = sr_vector_record_of(m->graph, at);
            assert_int_equal(record->row, row);
            assert_true(level == 0 || record->level == level - 1);
            level = record->level;
            highest = level > highest ? level : highest;
            check_level(m, true, at);
            records++;
            at = record->below;
        }
        assert_true(level <= 1);
    }
    assert_int_equal(records + m->graph->n_free, m->graph->records);
    assert_int_equal(m->graph->top, highest);
    if (m->rows.count) {
        assert_true(sr_vector_node_row(m->graph, highest > 0, m->graph->entry) < m->rows.count);
        assert_int_equal(reached(m), m->rows.count);
    }
}

/* Goes up and down; the graph is whole at each stage. */
static void run(size_t n, size_t clusters, float noise)
{
    struct made m;
    float *x = kit_vectors(n, D, clusters, noise);
    uint32_t *ids = malloc(n * sizeof *ids), alive = 0;
    make(&m);
    for (size_t i = 0; i < n; i++) {
        add(&m, (uint32_t)i, x + i * D);
        ids[alive++] = (uint32_t)i;
        if (i < 40 || i % 500 == 0)
            check(&m);
        if (i % 3 == 2) {
            const uint32_t at = kit_random() % alive;
            take(&m, ids[at]);
            ids[at] = ids[--alive];
        }
    }
    check(&m);
    while (alive) {
        const uint32_t at = kit_random() % alive;
        take(&m, ids[at]);
        ids[at] = ids[--alive];
        if (alive && (alive < 40 || alive % 300 == 0))
            check(&m);
    }
    dispose(&m);
    free(ids);
    free(x);
}

static void whole_with_random_vectors(void **state)
{
    (void)state;
    run(3000, 0, 0);
}

static void whole_with_clusters(void **state)
{
    (void)state;
    run(3000, 30, 0.2F);
}

static void whole_with_equal_vectors(void **state)
{
    (void)state;
    run(1500, 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_with_random_vectors),
        cmocka_unit_test(whole_with_clusters),
        cmocka_unit_test(whole_with_equal_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of terms and its rows: memory, growth, and the sums of a row. */
#include "text/terms/row.h"

#include "base/grow.h"
#include "base/mem.h"

#define SLOTS_MIN ((size_t)1 << 13)
#define KEEP_MAX  ((size_t)1 << 16) /* maximum elements of an array that a reset keeps */

int sr_terms_init(struct sr_terms *terms)
{
    *terms = (struct sr_terms){.glyphs = sr_glyph_table()};
    return sr_random(&terms->seed, sizeof terms->seed);
}

void sr_terms_dispose(struct sr_terms *terms)
{
    sr_mem_free(terms->entries);
    sr_mem_free(terms->rows);
    sr_mem_free(terms->terms);
    sr_mem_free(terms->slots);
    sr_mem_free(terms->spare);
    *terms = (struct sr_terms){0};
}

/* Frees the memory of a long text. */
static void shrink(void **array, size_t *cap)
{
    if (*cap <= KEEP_MAX)
        return;
    sr_mem_free(*array);
    *array = NULL;
    *cap = 0;
}

#define SHRINK(terms, array, cap)                                                                            \
    do {                                                                                                     \
        void *moved = (terms)->array;                                                                        \
        shrink(&moved, &(terms)->cap);                                                                       \
        (terms)->array = moved;                                                                              \
    } while (0)

/* An empty table of `n` slots in `*slots`, which may already have room for them. */
static bool empty_slots(struct sr_terms_slot **slots, size_t *cap, size_t n)
{
    if (*cap < n) {
        sr_mem_free(*slots);
        *slots = sr_mem_calloc(n, sizeof **slots);
        *cap = *slots ? n : 0;
        return *slots != NULL;
    }
    memset(*slots, 0, n * sizeof **slots);
    return true;
}

int sr_terms_reset(struct sr_terms *terms)
{
    SHRINK(terms, entries, cap_entries);
    SHRINK(terms, rows, cap_rows);
    SHRINK(terms, terms, cap_terms);
    SHRINK(terms, slots, cap_slots);
    SHRINK(terms, spare, cap_spare);
    terms->n_entries = terms->n_rows = terms->n_terms = terms->n_slots = 0;
    terms->rc = SR_OK;
    if (!empty_slots(&terms->slots, &terms->cap_slots, SLOTS_MIN))
        return SR_ENOMEM;
    terms->n_slots = SLOTS_MIN;
    return SR_OK;
}

size_t sr_terms_memory(const struct sr_terms *terms)
{
    return terms->cap_entries * sizeof *terms->entries + terms->cap_rows * sizeof *terms->rows +
           terms->cap_terms * sizeof *terms->terms +
           (terms->cap_slots + terms->cap_spare) * sizeof *terms->slots;
}

/* Makes room for one more element. */
static bool grow(struct sr_terms *terms, void *array, size_t n, size_t *cap, size_t size)
{
    int rc = sr_grow(array, cap, n + 1, size, UINT32_MAX / 2);
    terms->rc = rc ? rc : terms->rc;
    return rc == SR_OK;
}

bool sr_terms_open_row(struct sr_terms *terms)
{
    bool room =
        terms->rc == SR_OK && grow(terms, &terms->rows, terms->n_rows, &terms->cap_rows, sizeof *terms->rows);
    terms->total = 0;
    if (room)
        terms->rows[terms->n_rows++] = (struct sr_terms_row){.start = (uint32_t)terms->n_entries};
    return room;
}

void sr_terms_close_row(struct sr_terms *terms)
{
    struct sr_terms_row *row = &terms->rows[terms->n_rows - 1];
    row->n = (uint32_t)terms->n_entries - row->start;
    row->total = (uint32_t)terms->total;
    double one = row->total ? 1.0 / row->total : 0;
    for (size_t k = row->start; k < terms->n_entries; k++) {
        const struct sr_terms_entry *entry = &terms->entries[k];
        struct sr_terms_term *term = &terms->terms[entry->term];
        double count = entry->count;
        term->df++;
        term->share += count * one;
        row->squares += count * count;
    }
}

static bool double_slots(struct sr_terms *terms)
{
    size_t n = terms->n_slots * 2, cap = terms->cap_slots;
    struct sr_terms_slot *from = terms->slots;
    if (!empty_slots(&terms->spare, &terms->cap_spare, n)) {
        terms->rc = SR_ENOMEM;
        return false;
    }
    for (size_t i = 0; i < terms->n_slots; i++) {
        size_t to = from[i].hash & (n - 1);
        if (from[i].hash == 0)
            continue;
        while (terms->spare[to].hash)
            to = (to + 1) & (n - 1);
        terms->spare[to] = from[i];
    }
    terms->slots = terms->spare;
    terms->cap_slots = terms->cap_spare;
    terms->spare = from;
    terms->cap_spare = cap;
    terms->n_slots = n;
    return true;
}

bool sr_terms_more_entries(struct sr_terms *terms)
{
    return grow(terms, &terms->entries, terms->n_entries, &terms->cap_entries, sizeof *terms->entries);
}

void sr_terms_insert(struct sr_terms *terms, size_t slot, uint64_t hash)
{
    if (terms->n_terms * 2 >= terms->n_slots) {
        if (terms->rc || !double_slots(terms))
            return;
        size_t mask = terms->n_slots - 1;
        for (slot = hash & mask; terms->slots[slot].hash;)
            slot = (slot + 1) & mask;
    }
    bool room = grow(terms, &terms->terms, terms->n_terms, &terms->cap_terms, sizeof *terms->terms);
    if (!room || (terms->n_entries == terms->cap_entries && !sr_terms_more_entries(terms)))
        return;
    uint32_t term = (uint32_t)terms->n_terms++;
    terms->terms[term] = (struct sr_terms_term){0};
    terms->slots[slot].hash = hash;
    sr_terms_append(terms, &terms->slots[slot], term);
}

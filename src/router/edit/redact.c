/* Replaces the bytes of a finding with a placeholder, in each string of the body that contains them. */
#include "base/hash.h"
#include "router/edit/arguments.h"
#include "router/edit/kinds.h"

#include <stdlib.h>

#define FIRST_PLACES 64u

/* Bytes [start, end) of the body that `text` replaces, between what quotes it needs. */
struct place {
    size_t start, end;
    struct sr_bytes text; /* a placeholder; empty: that of another place stands for it */
    const char *open, *close;
};

/* How far the strings were read, and what is to be replaced. */
struct reading {
    struct sr_unit_cursor cursor;
    struct sr_arguments arguments;
    struct place *places;
    size_t n, room;
};

/* Distinct values by type and bytes, found by hash. */
struct table {
    struct sr_redaction *out;
    uint32_t *slots; /* index + 1 in out->items */
    size_t mask;
    uint32_t numbers[SR_ENTITY_TYPES];
};

static int table_new(struct table *table, struct sr_redaction *out, size_t findings, struct sr_arena *arena)
{
    size_t size = 16;
    while (size < findings * 2)
        size *= 2;
    *table = (struct table){.out = out, .mask = size - 1};
    table->slots = sr_arena_calloc(arena, size, sizeof *table->slots);
    out->items = sr_arena_calloc(arena, findings + 1, sizeof *out->items);
    return table->slots && out->items ? SR_OK : SR_ENOMEM;
}

/* The entry of a value, made at its first use; NULL when out of memory. */
static const struct sr_redacted *entry_of(struct table *table, uint32_t type, struct sr_bytes value,
                                          struct sr_arena *arena)
{
    size_t slot = (size_t)sr_hash64(value, type) & table->mask;
    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        const struct sr_redacted *known = &table->out->items[table->slots[slot] - 1];
        if (known->type == type && sr_bytes_eq(known->value, value))
            return known;
    }
    struct sr_redacted *fresh = &table->out->items[table->out->n];
    char *text = sr_arena_printf(arena, "[%s_%u]", sr_entity_names[type], (unsigned)++table->numbers[type]);
    if (!text)
        return NULL;
    *fresh = (struct sr_redacted){sr_bytes_str(text), value, type};
    table->slots[slot] = (uint32_t)++table->out->n;
    return fresh;
}

/* Adds the place of [start, end) of the text of a unit, for the placeholder or for nothing. */
static int add_place(struct sr_edit *edit, struct reading *reading, uint32_t unit,
                     const struct sr_arguments_piece *piece, struct sr_bytes text)
{
    const struct sr_unit_place *at = &edit->in->units->places[unit];
    const char *quote = at->is_json ? "\\\"" : "\"";
    struct place place = {at->start, at->end, text, at->is_number || piece->open ? quote : "",
                          at->is_number || piece->close ? quote : ""};
    if (reading->n == reading->room) {
        size_t room = reading->room ? 2 * reading->room : FIRST_PLACES;
        struct place *grown = sr_arena_alloc(edit->arena, room * sizeof *grown);
        if (!grown)
            return SR_ENOMEM;
        if (reading->n)
            memcpy(grown, reading->places, reading->n * sizeof *grown);
        reading->places = grown;
        reading->room = room;
    }
    if (!at->is_number)
        sr_units_span(edit->doc, at, &reading->cursor, piece->start, piece->end, &place.start, &place.end);
    reading->places[reading->n++] = place;
    edit->out->redaction.places++;
    return SR_OK;
}

/* The same where [start, end) may stand in several values of JSON: the first has the placeholder. */
static int add_places(struct sr_edit *edit, struct reading *reading, uint32_t unit, size_t start, size_t end,
                      struct sr_bytes text)
{
    struct sr_arguments_piece piece = {start, end, false, false};
    int rc = SR_OK;
    const struct sr_unit_place *at = &edit->in->units->places[unit];
    if (!at->is_json || at->is_number)
        return add_place(edit, reading, unit, &piece, text);
    sr_arguments_read(&reading->arguments, edit->in->units->list.items[unit].text);
    while (!rc && sr_arguments_next(&reading->arguments, &start, end, &piece)) {
        rc = add_place(edit, reading, unit, &piece, text);
        text = SR_LIT("");
    }
    return rc;
}

/* By begin; of the same begin the longest first. */
static int by_begin(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end == y->end ? 0 : x->end > y->end ? -1 : 1;
}

/* Edits the places. Those that overlap, because a value of a string and one over its border share bytes, are
 * one, with the first placeholder. */
static int edit_places(struct sr_edit *edit, struct reading *reading)
{
    int rc = SR_OK;
    if (reading->n)
        qsort(reading->places, reading->n, sizeof *reading->places, by_begin);
    for (size_t i = 0; !rc && i < reading->n;) {
        struct place all = reading->places[i++];
        for (; i < reading->n && reading->places[i].start < all.end; i++) {
            const struct place *next = &reading->places[i];
            all.text = all.text.n ? all.text : next->text;
            all.close = next->end > all.end ? next->close : all.close;
            all.end = next->end > all.end ? next->end : all.end;
        }
        char *text =
            sr_arena_printf(edit->arena, "%s%.*s%s", all.open, (int)all.text.n, all.text.p, all.close);
        rc = text ? sr_edits_range(edit->list, all.start, all.end, sr_bytes_str(text)) : SR_ENOMEM;
    }
    return rc;
}

/* Adds the places of a finding in every string that contains it: the first gets the placeholder, in the
 * others the bytes are removed. */
static int redact(struct sr_edit *edit, struct reading *reading, const struct sr_signal_finding *finding,
                  struct sr_bytes placeholder)
{
    const struct sr_signal_unit_list *list = &edit->in->units->list;
    const struct sr_signal_unit *unit = &list->items[finding->unit];
    if (unit->n_parts == 0)
        return add_places(edit, reading, finding->unit, finding->start, finding->end, placeholder);
    for (uint32_t i = unit->first_part; i < unit->first_part + unit->n_parts; i++) {
        const struct sr_signal_part *part = &list->parts[i];
        size_t start = finding->start > part->start ? finding->start : part->start;
        size_t end = finding->end < part->end ? finding->end : part->end;
        if (start >= end)
            continue;
        int rc = add_places(edit, reading, part->unit, start - part->start + part->from,
                            end - part->start + part->from, placeholder);
        if (rc)
            return rc;
        placeholder = SR_LIT("");
    }
    return SR_OK;
}

/* Sorts the items by type; the order within a type stays. */
static int sort_by_type(struct sr_redaction *redaction, struct sr_arena *arena)
{
    struct sr_redacted *sorted = sr_arena_calloc(arena, redaction->n + 1, sizeof *sorted);
    size_t at = 0;
    if (!sorted)
        return SR_ENOMEM;
    for (uint32_t type = 0; type < SR_ENTITY_TYPES; type++) {
        redaction->first[type] = (uint32_t)at;
        for (size_t i = 0; i < redaction->n; i++)
            if (redaction->items[i].type == type)
                sorted[at++] = redaction->items[i];
    }
    redaction->first[SR_ENTITY_TYPES] = (uint32_t)at;
    redaction->items = sorted;
    return SR_OK;
}

/* A disguised span may say several things; the first one's placeholder replaces it. */
static bool is_same_span(const struct sr_signal_finding *a, const struct sr_signal_finding *b)
{
    return a->unit == b->unit && a->start == b->start && a->end == b->end;
}

int sr_edit_redact(struct sr_edit *edit)
{
    const struct sr_edit_inputs *in = edit->in;
    struct sr_redaction *redaction = &edit->out->redaction;
    struct table table;
    struct reading reading = {.cursor = {.place = NULL}};
    if (in->n_redactions == 0)
        return SR_OK;
    int rc = table_new(&table, redaction, in->n_redactions, edit->arena);
    for (size_t i = 0; !rc && i < in->n_redactions; i++) {
        const struct sr_signal_finding *finding = &in->redactions[i];
        if (i > 0 && is_same_span(finding, &in->redactions[i - 1]))
            continue;
        struct sr_bytes text = in->units->list.items[finding->unit].text;
        struct sr_bytes value = sr_bytes_of(text.p + finding->start, finding->end - finding->start);
        const struct sr_redacted *entry = entry_of(&table, finding->type, value, edit->arena);
        rc = entry ? redact(edit, &reading, finding, entry->placeholder) : SR_ENOMEM;
    }
    rc = rc ? rc : edit_places(edit, &reading);
    return rc ? rc : sort_by_type(redaction, edit->arena);
}

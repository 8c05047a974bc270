/* Replaces the bytes of a finding with a placeholder, in each string of the body that contains them. */
#include "base/hash.h"
#include "router/edit/arguments.h"
#include "router/edit/kinds.h"

/* How far the strings were read. */
struct reading {
    struct sr_unit_cursor cursor;
    struct sr_arguments arguments;
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

/* Puts `text` in the place of [start, end) of the text of a unit. */
static int replace(struct sr_edit *edit, struct sr_unit_cursor *cursor, uint32_t unit, size_t start,
                   size_t end, struct sr_bytes text)
{
    const struct sr_unit_place *place = &edit->in->units->places[unit];
    size_t from = place->start, to = place->end;
    if (text.p && place->is_number)
        text = sr_bytes_str(sr_arena_printf(edit->arena, "\"%.*s\"", (int)text.n, text.p));
    if (!text.p)
        return SR_ENOMEM;
    if (!place->is_number)
        sr_units_span(edit->doc, place, cursor, start, end, &from, &to);
    edit->out->redaction.places++;
    return sr_edits_range(edit->list, from, to, text);
}

/* Puts `text` in the place of [start, end) of a unit; where that is JSON and stands in several values, in the
 * place of the first, and nothing in that of the others. */
static int replace_in(struct sr_edit *edit, struct reading *reading, uint32_t unit, size_t start, size_t end,
                      struct sr_bytes text)
{
    struct sr_arguments_piece piece;
    int rc = SR_OK;
    if (!edit->in->units->places[unit].is_json)
        return replace(edit, &reading->cursor, unit, start, end, text);
    sr_arguments_read(&reading->arguments, edit->in->units->list.items[unit].text);
    while (!rc && sr_arguments_next(&reading->arguments, &start, end, &piece)) {
        if (piece.open || piece.close)
            text = sr_bytes_str(sr_arena_printf(edit->arena, "%s%.*s%s", piece.open ? "\\\"" : "",
                                                (int)text.n, text.p, piece.close ? "\\\"" : ""));
        rc = replace(edit, &reading->cursor, unit, piece.start, piece.end, text);
        text = SR_LIT("");
    }
    return rc;
}

/* Edits every string that contains the finding: the first gets the placeholder, in the others the bytes are
 * removed. */
static int redact(struct sr_edit *edit, struct reading *reading, const struct sr_signal_finding *finding,
                  struct sr_bytes placeholder)
{
    const struct sr_signal_unit_list *list = &edit->in->units->list;
    const struct sr_signal_unit *unit = &list->items[finding->unit];
    if (unit->n_parts == 0)
        return replace_in(edit, reading, finding->unit, finding->start, finding->end, placeholder);
    for (uint32_t i = unit->first_part; i < unit->first_part + unit->n_parts; i++) {
        const struct sr_signal_part *part = &list->parts[i];
        size_t start = finding->start > part->start ? finding->start : part->start;
        size_t end = finding->end < part->end ? finding->end : part->end;
        if (start >= end)
            continue;
        int rc = replace_in(edit, reading, part->unit, start - part->start + part->from,
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
    return rc ? rc : sort_by_type(redaction, edit->arena);
}

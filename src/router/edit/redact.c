/* Replaces the bytes of a finding with a placeholder, in each string of the body that contains them. */
#include "base/hash.h"
#include "router/edit/kinds.h"

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

/* True for an unquoted number in the JSON of a call's arguments: its placeholder needs quotes. */
static bool is_bare(struct sr_bytes text, size_t start, size_t end)
{
    while (start > 0 && strchr(" \n\t\r", text.p[start - 1]))
        start--;
    while (end < text.n && strchr(" \n\t\r", text.p[end]))
        end++;
    return start > 0 && end < text.n && strchr(":,[", text.p[start - 1]) && strchr(",}]", text.p[end]);
}

static struct sr_bytes written(struct sr_edit *edit, const struct sr_turn_piece *piece,
                               const struct sr_signal_finding *finding, struct sr_bytes placeholder)
{
    struct sr_bytes text = edit->in->turns->items[finding->turn].text;
    struct sr_bytes inside = sr_bytes_of(text.p + piece->start, piece->end - piece->start);
    bool call = edit->doc->spans[piece->span].id == SR_AT_MESSAGE_TEXT;
    if (!call || finding->start < piece->start || finding->end > piece->end ||
        !is_bare(inside, finding->start - piece->start, finding->end - piece->start))
        return placeholder;
    return sr_bytes_str(sr_arena_printf(edit->arena, "\\\"%s\\\"", placeholder.p));
}

/* Edits every piece that contains the finding: the first gets the placeholder, in the others the bytes are
 * removed. */
static int redact(struct sr_edit *edit, const struct sr_signal_finding *finding, size_t *piece,
                  struct sr_bytes placeholder)
{
    const struct sr_turns *turns = edit->in->turns;
    bool first = true;
    while (*piece < turns->n_pieces &&
           (turns->pieces[*piece].turn < finding->turn ||
            (turns->pieces[*piece].turn == finding->turn && turns->pieces[*piece].end <= finding->start)))
        ++*piece;
    for (size_t i = *piece; i < turns->n_pieces; i++) {
        const struct sr_turn_piece *p = &turns->pieces[i];
        size_t start = finding->start > p->start ? finding->start : p->start;
        size_t end = finding->end < p->end ? finding->end : p->end, from, to;
        if (p->turn != finding->turn || p->start >= finding->end)
            break;
        if (start >= end)
            continue;
        sr_turns_span(edit->doc, p, start, end, &from, &to);
        struct sr_bytes text = first ? written(edit, p, finding, placeholder) : SR_LIT("");
        int rc = text.p && text.n + !first ? sr_edits_range(edit->list, from, to, text) : SR_ENOMEM;
        if (rc)
            return rc;
        first = false;
        edit->out->redaction.places++;
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

int sr_edit_redact(struct sr_edit *edit)
{
    const struct sr_edit_inputs *in = edit->in;
    struct sr_redaction *redaction = &edit->out->redaction;
    struct table table;
    size_t piece = 0;
    if (in->n_redactions == 0)
        return SR_OK;
    int rc = table_new(&table, redaction, in->n_redactions, edit->arena);
    for (size_t i = 0; !rc && i < in->n_redactions; i++) {
        const struct sr_signal_finding *finding = &in->redactions[i];
        struct sr_bytes text = in->turns->items[finding->turn].text;
        struct sr_bytes value = sr_bytes_of(text.p + finding->start, finding->end - finding->start);
        const struct sr_redacted *entry = entry_of(&table, finding->type, value, edit->arena);
        rc = entry ? redact(edit, finding, &piece, entry->placeholder) : SR_ENOMEM;
    }
    return rc ? rc : sort_by_type(redaction, edit->arena);
}

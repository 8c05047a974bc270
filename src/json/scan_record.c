/* The scanner's records: frames of the containers on a path, spans, and the keys seen. */
#include "json/scan_state.h"

#define SCAN_FIRST_CAP 64u /* spans */

static int add_span(struct sr_scan *s, struct sr_span span)
{
    if (s->n_spans == s->limits.max_spans)
        return sr_scan_fail(s, SR_ELIMIT, span.start, "too many values of interest, " SR_SCAN_LIMIT_TEXT,
                            s->limits.max_spans);
    if (s->n_spans == s->cap_spans) {
        uint32_t cap = s->cap_spans ? s->cap_spans * 2 : SCAN_FIRST_CAP;
        struct sr_span *spans = sr_arena_alloc(s->arena, cap * sizeof *spans);
        if (!spans)
            return sr_scan_fail(s, SR_ENOMEM, span.start, "%s", sr_strerror(SR_ENOMEM));
        if (s->n_spans)
            memcpy(spans, s->spans, s->n_spans * sizeof *spans);
        s->spans = spans;
        s->cap_spans = cap;
    }
    s->value.span = s->n_spans;
    s->spans[s->n_spans++] = span;
    return SR_OK;
}

static void seen_put(uint64_t *table, uint32_t cap, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (cap - 1);
    while (table[i])
        i = (i + 1) & (cap - 1);
    table[i] = hash;
}

/* Adds a hash to the set; *known tells whether it was there. */
static int seen_add(struct sr_scan *s, uint64_t hash, bool *known)
{
    *known = false;
    if (s->n_seen * 2 >= s->cap_seen) {
        uint32_t cap = s->cap_seen ? s->cap_seen * 2 : 2 * SCAN_FIRST_CAP;
        uint64_t *table = sr_arena_calloc(s->arena, cap, sizeof *table);
        if (!table)
            return sr_scan_fail(s, SR_ENOMEM, s->member.key_start, "%s", sr_strerror(SR_ENOMEM));
        for (uint32_t i = 0; i < s->cap_seen; i++)
            if (s->seen[i])
                seen_put(table, cap, s->seen[i]);
        s->seen = table;
        s->cap_seen = cap;
    }
    for (uint32_t i = (uint32_t)hash & (s->cap_seen - 1); s->seen[i]; i = (i + 1) & (s->cap_seen - 1))
        if (s->seen[i] == hash) {
            *known = true;
            return SR_OK;
        }
    seen_put(s->seen, s->cap_seen, hash);
    s->n_seen++;
    return SR_OK;
}

/* Looks the finished key up in the frame's node. */
int sr_scan_resolve_member(struct sr_scan *s)
{
    const struct sr_scan_frame *f = &s->frames[s->depth - 1];
    struct sr_scan_member *m = &s->member;
    m->node = sr_paths_member(s->paths, f->node, &s->key, &m->alike);
    const struct sr_path_node *node = &s->paths->nodes[m->node];
    m->recorded = s->depth == 1 || node->named || s->paths->complete;
    m->id = node->named ? node->id : SR_PATH_TOP;
    m->duplicate = false;
    if (!m->recorded && m->node == SR_PATH_DEAD)
        return SR_OK;
    if (s->n_seen >= 2 * s->limits.max_spans)
        return sr_scan_fail(s, SR_ELIMIT, m->key_start, "too many members of interest, " SR_SCAN_LIMIT_TEXT,
                            2 * s->limits.max_spans);
    uint64_t hash = sr_key_hash(&s->key, s->paths);
    return seen_add(s, hash, &m->duplicate);
}

/* The first byte of a value was seen: finds its path and decides whether to record it. */
int sr_scan_begin_value(struct sr_scan *s, enum sr_json_kind kind, size_t at)
{
    s->value = (struct sr_scan_value){.node = SR_PATH_DEAD, .span = SR_SPAN_NONE};
    if (s->depth == 0) {
        s->root_kind = (int)kind;
        s->value.node = SR_PATH_ROOT;
        return SR_OK;
    }
    if (s->depth > s->live)
        return SR_OK;
    struct sr_scan_frame *f = &s->frames[s->depth - 1];
    struct sr_span span = {.kind = kind & 7u, .flags = SR_SPAN_OPEN, .parent = f->parent};
    bool recorded;
    if (f->is_array) {
        s->value.node = s->paths->nodes[f->node].element;
        recorded =
            s->paths->nodes[s->value.node].named || (s->paths->complete && s->value.node != SR_PATH_DEAD);
        span.id = s->paths->nodes[s->value.node].id;
        span.key_start = span.key_end = at;
        if (f->arrays < 2)
            f->index[f->arrays] = f->position;
        f->position += f->position != UINT32_MAX;
    } else {
        s->value.node = s->member.node;
        s->value.duplicate = s->member.duplicate;
        recorded = s->member.recorded;
        span.id = s->member.id;
        span.key_start = s->member.key_start;
        span.key_end = s->member.key_end;
        span.flags |= s->member.alike ? SR_SPAN_ALIKE : 0;
    }
    if (!recorded)
        return SR_OK;
    if (s->value.duplicate || f->duplicate)
        span.flags |= SR_SPAN_DUPLICATE;
    if (f->span == SR_SPAN_NONE && s->depth > 1)
        span.flags |= SR_SPAN_NESTED;
    span.tag = s->paths->nodes[s->value.node].tag & SR_TAG_MAX;
    memcpy(span.index, f->index, sizeof span.index);
    span.start = span.end = at;
    return add_span(s, span);
}

/* A value is complete: `end` is one past its last byte. */
void sr_scan_end_value(struct sr_scan *s, uint32_t span, size_t end, unsigned flags)
{
    if (span != SR_SPAN_NONE) {
        s->spans[span].end = end;
        s->spans[span].flags = (uint8_t)((s->spans[span].flags & ~(unsigned)SR_SPAN_OPEN) | flags);
    }
    s->state = s->depth ? SR_SCAN_ST_AFTER : SR_SCAN_ST_DONE;
}

int sr_scan_open_container(struct sr_scan *s, enum sr_json_kind kind, size_t at)
{
    if (s->depth == s->limits.max_depth)
        return sr_scan_fail(s, SR_ELIMIT, at, "nested too deeply, " SR_SCAN_LIMIT_TEXT, s->limits.max_depth);
    bool object = kind == SR_JSON_OBJECT;
    if (s->depth == s->live &&
        (s->depth == 0 || s->value.node != SR_PATH_DEAD || s->value.span != SR_SPAN_NONE)) {
        struct sr_scan_frame *f = &s->frames[s->live++];
        *f = (struct sr_scan_frame){.node = s->value.node,
                                    .is_array = !object,
                                    .span = s->value.span,
                                    .parent = s->value.span,
                                    .serial = s->serial++};
        if (s->depth) {
            const struct sr_scan_frame *outer = f - 1;
            f->arrays = (uint8_t)(outer->arrays + outer->is_array);
            memcpy(f->index, outer->index, sizeof f->index);
            if (f->span == SR_SPAN_NONE) {
                f->parent = outer->parent;
                f->duplicate = s->value.duplicate || outer->duplicate;
            }
        }
    }
    uint64_t bit = UINT64_C(1) << (s->depth % 64), *word = &s->objects[s->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    if (s->depth == 0 && object)
        s->root_open = at + 1;
    s->depth++;
    s->state = object ? SR_SCAN_ST_FIRST_KEY : SR_SCAN_ST_FIRST_ELEMENT;
    return SR_OK;
}

void sr_scan_close_container(struct sr_scan *s, size_t end)
{
    uint32_t span = SR_SPAN_NONE;
    if (s->depth == s->live)
        span = s->frames[--s->live].span;
    s->depth--;
    sr_scan_end_value(s, span, end, s->state == SR_SCAN_ST_AFTER ? 0 : SR_SPAN_EMPTY);
}

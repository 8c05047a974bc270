/*
 * The edit list: collects entries, and at the end sorts, resolves and renders them.
 *
 * Removals and insertions into a container are resolved only then, because the commas depend on the edits of
 * the neighbours.
 */
#include "json/splice.h"

#include "base/buf.h"

#include <stdlib.h>

enum edit_kind {
    EDIT_RANGE,   /* [start, end) becomes text */
    EDIT_REMOVE,  /* the member or element [start, end), key included, and a comma */
    EDIT_APPEND,  /* `head` and text as the last member of the object that opens before `open` */
    EDIT_PREPEND, /* text as the first element of the array that opens before `open` */
};

struct edit {
    enum edit_kind kind;
    uint32_t span; /* the span of a replacement or removal, or SR_SPAN_NONE */
    uint32_t seq;  /* order of adding */
    size_t start, end;
    size_t open;          /* one past the container's bracket */
    struct sr_bytes head; /* the quoted key and the colon */
    struct sr_bytes text;
    bool comma_before, comma_after; /* decided when rendering */
};

struct sr_edits {
    struct sr_bytes body;
    const struct sr_span *spans;
    size_t n_spans, root_open;
    bool duplicates; /* some span is a duplicate */
    struct edit *list;
    size_t n, max;
    struct sr_arena *arena;
};

/* The state of rendering: the entries that still count, and the containers that removals emptied. */
struct plan {
    struct edit *list;
    size_t n;
    size_t *emptied; /* sorted offsets one past the opening bracket */
    size_t n_emptied;
};

static const struct sr_bytes comma = {",", 1};

int sr_edits_new(struct sr_edits **out, struct sr_bytes body, const struct sr_span *spans, size_t n_spans,
                 size_t root_open, size_t max_edits, struct sr_arena *arena)
{
    *out = NULL;
    if (root_open > body.n || n_spans > SR_SPAN_NONE || max_edits > UINT32_MAX)
        return SR_EINVAL;
    struct sr_edits *edits = sr_arena_calloc(arena, 1, sizeof *edits);
    if (!edits)
        return SR_ENOMEM;
    *edits = (struct sr_edits){.body = body,
                               .spans = spans,
                               .n_spans = n_spans,
                               .root_open = root_open,
                               .max = max_edits,
                               .arena = arena};
    for (size_t i = 0; i < n_spans && !edits->duplicates; i++)
        edits->duplicates = spans[i].flags & SR_SPAN_DUPLICATE;
    *out = edits;
    return SR_OK;
}

size_t sr_edits_count(const struct sr_edits *edits)
{
    return edits->n;
}

/* The list grows by doubling: most requests have a handful of edits, whatever their limit. */
static int add_edit(struct sr_edits *edits, struct edit edit)
{
    if (edits->n == edits->max)
        return SR_ELIMIT;
    if ((edits->n & (edits->n - 1)) == 0 && (edits->n == 0 || edits->n >= 8)) {
        size_t cap = edits->n ? edits->n * 2 : 8;
        struct edit *list = sr_arena_alloc(edits->arena, cap * sizeof *list);
        if (!list)
            return SR_ENOMEM;
        if (edits->n)
            memcpy(list, edits->list, edits->n * sizeof *list);
        edits->list = list;
    }
    edit.seq = (uint32_t)edits->n;
    edits->list[edits->n++] = edit;
    return SR_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t skip_space(struct sr_bytes body, size_t at)
{
    while (at < body.n && is_space(body.p[at]))
        at++;
    return at;
}

static size_t skip_space_back(struct sr_bytes body, size_t at)
{
    while (at > 0 && is_space(body.p[at - 1]))
        at--;
    return at;
}

/* ---- finding spans ---- */

static bool span_is_closed(const struct sr_edits *edits, uint32_t span)
{
    return span < edits->n_spans && !(edits->spans[span].flags & SR_SPAN_OPEN) &&
           edits->spans[span].end <= edits->body.n;
}

static bool span_is_member(const struct sr_span *span)
{
    return span->key_start != span->start;
}

/* The next span after `i` that is not inside `i`. */
static size_t next_outside(const struct sr_edits *edits, size_t i)
{
    size_t low = i + 1, high = edits->n_spans, end = edits->spans[i].end;
    if (low < high && edits->spans[low].start >= end)
        return low;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (edits->spans[mid].start < end)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The recorded children of `parent`, one after the other; SR_SPAN_NONE at the end. Start with `after` =
 * SR_SPAN_NONE. */
static uint32_t next_child(const struct sr_edits *edits, uint32_t parent, uint32_t after)
{
    size_t i = after != SR_SPAN_NONE ? next_outside(edits, after) : parent == SR_SPAN_NONE ? 0 : parent + 1;
    return i < edits->n_spans && edits->spans[i].parent == parent ? (uint32_t)i : SR_SPAN_NONE;
}

/* The decoded key of a member; `p` is NULL when out of memory. */
static struct sr_bytes span_key(const struct sr_edits *edits, const struct sr_span *span)
{
    struct sr_bytes inside = {edits->body.p + span->key_start + 1, span->key_end - span->key_start - 2};
    return sr_json_unescape(inside, edits->arena);
}

struct change {
    struct sr_bytes key, json;
};

typedef int apply_fn(struct sr_edits *edits, uint32_t span, const struct change *change);

/* Calls `apply` for `span` and for every other occurrence of the same member of the same object. */
static int for_each_occurrence(struct sr_edits *edits, uint32_t span, apply_fn *apply,
                               const struct change *change)
{
    const struct sr_span *wanted = &edits->spans[span];
    if (!edits->duplicates || !span_is_member(wanted))
        return apply(edits, span, change);
    struct sr_bytes key = span_key(edits, wanted);
    int rc = key.p ? SR_OK : SR_ENOMEM;
    for (uint32_t i = next_child(edits, wanted->parent, SR_SPAN_NONE); rc == SR_OK && i != SR_SPAN_NONE;
         i = next_child(edits, wanted->parent, i)) {
        const struct sr_span *other = &edits->spans[i];
        if (other->id != wanted->id || !span_is_member(other) || !span_is_closed(edits, i) ||
            other->index[0] != wanted->index[0] || other->index[1] != wanted->index[1])
            continue;
        struct sr_bytes other_key = span_key(edits, other);
        if (!other_key.p)
            rc = SR_ENOMEM;
        else if (sr_bytes_eq(key, other_key))
            rc = apply(edits, i, change);
    }
    return rc;
}

/* ---- adding ---- */

static int replace_one(struct sr_edits *edits, uint32_t span, const struct change *change)
{
    const struct sr_span *s = &edits->spans[span];
    return add_edit(
        edits, (struct edit){
                   .kind = EDIT_RANGE, .span = span, .start = s->start, .end = s->end, .text = change->json});
}

static int remove_occurrence(struct sr_edits *edits, uint32_t span, const struct change *change)
{
    const struct sr_span *s = &edits->spans[span];
    (void)change;
    return add_edit(edits,
                    (struct edit){.kind = EDIT_REMOVE, .span = span, .start = s->key_start, .end = s->end});
}

int sr_edits_replace(struct sr_edits *edits, uint32_t span, struct sr_bytes json)
{
    if (!span_is_closed(edits, span))
        return SR_EINVAL;
    return for_each_occurrence(edits, span, replace_one, &(struct change){.json = json});
}

int sr_edits_remove(struct sr_edits *edits, uint32_t span)
{
    if (!span_is_closed(edits, span))
        return SR_EINVAL;
    return for_each_occurrence(edits, span, remove_occurrence, NULL);
}

int sr_edits_remove_one(struct sr_edits *edits, uint32_t span)
{
    return span_is_closed(edits, span) ? remove_occurrence(edits, span, NULL) : SR_EINVAL;
}

int sr_edits_range(struct sr_edits *edits, size_t start, size_t end, struct sr_bytes text)
{
    if (start > end || end > edits->body.n)
        return SR_EINVAL;
    return add_edit(
        edits,
        (struct edit){.kind = EDIT_RANGE, .span = SR_SPAN_NONE, .start = start, .end = end, .text = text});
}

int sr_edits_prepend(struct sr_edits *edits, uint32_t array, struct sr_bytes json)
{
    if (!span_is_closed(edits, array) || edits->spans[array].kind != SR_JSON_ARRAY)
        return SR_EINVAL;
    size_t open = edits->spans[array].start + 1;
    return add_edit(edits, (struct edit){.kind = EDIT_PREPEND,
                                         .span = SR_SPAN_NONE,
                                         .start = open,
                                         .end = open,
                                         .open = open,
                                         .text = json});
}

/* `"key":` in the arena; `p` is NULL when out of memory. */
static struct sr_bytes member_head(struct sr_edits *edits, struct sr_bytes key)
{
    struct sr_buf buf;
    struct sr_bytes head = {NULL, 0};
    sr_buf_init(&buf, SIZE_MAX / 2);
    if (sr_buf_append(&buf, "\"", 1) == SR_OK && sr_buf_append_json(&buf, key) == SR_OK &&
        sr_buf_append(&buf, "\":", 2) == SR_OK)
        head = sr_arena_dup(edits->arena, sr_buf_view(&buf));
    sr_buf_dispose(&buf);
    return head;
}

/* Appends a member to the object whose inside is [open, close), or changes an earlier append. */
static int append_member(struct sr_edits *edits, size_t open, size_t close, const struct change *change)
{
    struct sr_bytes head = member_head(edits, change->key);
    if (!head.p)
        return SR_ENOMEM;
    for (size_t i = 0; i < edits->n; i++) {
        struct edit *e = &edits->list[i];
        if (e->kind == EDIT_APPEND && e->open == open && sr_bytes_eq(e->head, head)) {
            e->text = change->json;
            return SR_OK;
        }
    }
    size_t at = skip_space_back(edits->body, close);
    if (at < open)
        at = open;
    return add_edit(edits, (struct edit){.kind = EDIT_APPEND,
                                         .span = SR_SPAN_NONE,
                                         .start = at,
                                         .end = at,
                                         .open = open,
                                         .head = head,
                                         .text = change->json});
}

/* Sets a member of one object, whose inside is [open, close). */
static int set_in_object(struct sr_edits *edits, uint32_t object, size_t open, size_t close,
                         const struct change *change)
{
    uint32_t i = next_child(edits, object, SR_SPAN_NONE);
    for (; i != SR_SPAN_NONE; i = next_child(edits, object, i)) {
        const struct sr_span *span = &edits->spans[i];
        if (!span_is_member(span) || !span_is_closed(edits, i) || (span->flags & SR_SPAN_NESTED))
            continue;
        struct sr_bytes key = span_key(edits, span);
        if (!key.p)
            return SR_ENOMEM;
        if (sr_bytes_eq(key, change->key))
            return sr_edits_replace(edits, i, change->json);
    }
    return append_member(edits, open, close, change);
}

static int set_one(struct sr_edits *edits, uint32_t object, const struct change *change)
{
    const struct sr_span *span = &edits->spans[object];
    if (span->kind != SR_JSON_OBJECT)
        return SR_OK; /* another occurrence of the member is not an object */
    return set_in_object(edits, object, span->start + 1, span->end - 1, change);
}

int sr_edits_set_member(struct sr_edits *edits, uint32_t object, struct sr_bytes key, struct sr_bytes json)
{
    const struct change change = {key, json};
    if (object != SR_SPAN_NONE) {
        if (!span_is_closed(edits, object) || edits->spans[object].kind != SR_JSON_OBJECT)
            return SR_EINVAL;
        return for_each_occurrence(edits, object, set_one, &change);
    }
    size_t end = skip_space_back(edits->body, edits->body.n);
    if (edits->root_open == 0 || end <= edits->root_open || edits->body.p[end - 1] != '}')
        return SR_EINVAL;
    return set_in_object(edits, SR_SPAN_NONE, edits->root_open, end - 1, &change);
}

/* ---- rendering ---- */

static int by_span(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_start(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

/* The order of rendering: insertions before a replacement that starts at the same offset, in the order of
 * adding; replacements with the widest first, and of equal ones the latest first. */
static int by_position(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    bool x_inserts = x->start == x->end, y_inserts = y->start == y->end;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x_inserts != y_inserts)
        return x_inserts ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    int earlier = x->seq < y->seq ? -1 : 1;
    return x_inserts ? earlier : -earlier;
}

/* Of several entries for one span only the latest applies. */
static void drop_superseded(struct plan *plan)
{
    size_t kept = 0;
    qsort(plan->list, plan->n, sizeof *plan->list, by_span);
    for (size_t i = 0; i < plan->n; i++)
        if (i + 1 == plan->n || plan->list[i].span == SR_SPAN_NONE ||
            plan->list[i].span != plan->list[i + 1].span)
            plan->list[kept++] = plan->list[i];
    plan->n = kept;
}

/* Merges a run of removed neighbours, which begins with `first`, into one range with the right comma. */
static void merge_removals(struct plan *plan, struct sr_bytes body, struct edit *first, size_t last_end)
{
    size_t after = skip_space(body, last_end);
    first->kind = EDIT_RANGE;
    first->text = (struct sr_bytes){"", 0};
    first->end = last_end;
    if (after < body.n && body.p[after] == ',') {
        first->end = skip_space(body, after + 1);
        return;
    }
    size_t before = skip_space_back(body, first->start);
    if (before > 0 && body.p[before - 1] == ',')
        first->start = before - 1;
    else
        plan->emptied[plan->n_emptied++] = before;
}

/* Merges removals of neighbours and drops those inside another one. */
static void resolve_removals(struct plan *plan, struct sr_bytes body)
{
    size_t n = 0;
    /* Sorts removals to the front, by offset. */
    for (size_t i = 0; i < plan->n; i++)
        if (plan->list[i].kind == EDIT_REMOVE) {
            struct edit swap = plan->list[n];
            plan->list[n++] = plan->list[i];
            plan->list[i] = swap;
        }
    qsort(plan->list, n, sizeof *plan->list, by_start);
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        struct edit first = plan->list[i];
        size_t end = first.end;
        for (i++; i < n; i++) {
            if (plan->list[i].start >= end) {
                size_t at = skip_space(body, end);
                if (at >= body.n || body.p[at] != ',' || skip_space(body, at + 1) != plan->list[i].start)
                    break;
                end = plan->list[i].end;
            }
        }
        merge_removals(plan, body, &first, end);
        plan->list[kept++] = first;
    }
    memmove(plan->list + kept, plan->list + n, (plan->n - n) * sizeof *plan->list);
    plan->n -= n - kept;
}

/* Drops entries inside a replacement. SR_ECONFLICT when two overlap in part. */
static int resolve_overlaps(struct plan *plan, struct sr_err *err)
{
    size_t kept = 0, covered = 0;
    qsort(plan->list, plan->n, sizeof *plan->list, by_position);
    for (size_t i = 0; i < plan->n; i++) {
        struct edit *e = &plan->list[i];
        if (e->start < covered) {
            if (e->end <= covered)
                continue;
            return sr_err_set_at(err, SR_ECONFLICT, e->start, "two edits overlap at byte %zu", e->start);
        }
        covered = e->end;
        plan->list[kept++] = *e;
    }
    plan->n = kept;
    return SR_OK;
}

static bool container_stays_empty(const struct plan *plan, struct sr_bytes body, size_t open)
{
    size_t first = skip_space(body, open);
    if (first < body.n && (body.p[first] == '}' || body.p[first] == ']'))
        return true;
    size_t low = 0, high = plan->n_emptied;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (plan->emptied[mid] < open)
            low = mid + 1;
        else
            high = mid;
    }
    return low < plan->n_emptied && plan->emptied[low] == open;
}

/* Sets the commas of insertions into containers. */
static void resolve_commas(struct plan *plan, struct sr_bytes body)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct edit *e = &plan->list[i];
        if (e->kind == EDIT_RANGE || e->kind == EDIT_REMOVE)
            continue;
        /* Entries of the same container have the same offset, so they are neighbours in the list, with at
         * most raw insertions in between. */
        bool first = true, last = true;
        for (size_t j = i; j > 0 && plan->list[j - 1].start == e->start && first; j--)
            first = plan->list[j - 1].kind != e->kind || plan->list[j - 1].open != e->open;
        for (size_t j = i + 1; j < plan->n && plan->list[j].start == e->start && last; j++)
            last = plan->list[j].kind != e->kind || plan->list[j].open != e->open;
        bool alone = container_stays_empty(plan, body, e->open);
        e->comma_before = !first || (e->kind == EDIT_APPEND && !alone);
        e->comma_after = e->kind == EDIT_PREPEND && last && !alone;
    }
}

static size_t emit(struct sr_bytes *slices, size_t n, struct sr_bytes slice)
{
    if (slice.n)
        slices[n++] = slice;
    return n;
}

static int emit_all(const struct sr_edits *edits, const struct plan *plan, const struct sr_bytes **out,
                    size_t *n_slices, size_t *total)
{
    /* The gap, two commas, head and text for each edit, and the rest of the body. */
    struct sr_bytes *slices = sr_arena_alloc(edits->arena, (plan->n * 5 + 1) * sizeof *slices);
    if (!slices)
        return SR_ENOMEM;
    size_t at = 0, n = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const struct edit *e = &plan->list[i];
        n = emit(slices, n, (struct sr_bytes){edits->body.p + at, e->start - at});
        if (e->comma_before)
            n = emit(slices, n, comma);
        n = emit(slices, n, e->head);
        n = emit(slices, n, e->text);
        if (e->comma_after)
            n = emit(slices, n, comma);
        at = e->end;
    }
    if (at < edits->body.n || n == 0)
        slices[n++] = (struct sr_bytes){edits->body.p + at, edits->body.n - at};
    *total = 0;
    for (size_t i = 0; i < n; i++)
        *total += slices[i].n;
    *out = slices;
    *n_slices = n;
    return SR_OK;
}

int sr_edits_render(struct sr_edits *edits, const struct sr_bytes **slices, size_t *n_slices, size_t *total,
                    struct sr_err *err)
{
    struct plan plan = {.n = edits->n};
    plan.list = sr_arena_alloc(edits->arena, (edits->n + 1) * sizeof *plan.list);
    plan.emptied = sr_arena_alloc(edits->arena, (edits->n + 1) * sizeof *plan.emptied);
    if (!plan.list || !plan.emptied)
        return sr_err_set(err, SR_ENOMEM, "%s", sr_strerror(SR_ENOMEM));
    if (edits->n)
        memcpy(plan.list, edits->list, edits->n * sizeof *plan.list);
    drop_superseded(&plan);
    resolve_removals(&plan, edits->body);
    int rc = resolve_overlaps(&plan, err);
    if (rc)
        return rc;
    resolve_commas(&plan, edits->body);
    rc = emit_all(edits, &plan, slices, n_slices, total);
    return rc ? sr_err_set(err, rc, "%s", sr_strerror(rc)) : SR_OK;
}

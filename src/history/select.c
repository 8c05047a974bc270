/* The query of a URL, and a walk through the history in groups, so that no lock is held while one compares.
 */
#include "history/select.h"

#include "base/hex.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define GROUP 64

/* ---- the query ---- */

/* Undoes "%41" and "+". False: a '%' without two digits, a zero byte, or no memory. */
static bool decode(struct sr_bytes in, struct sr_arena *arena, struct sr_bytes *out)
{
    char *p = sr_arena_alloc(arena, in.n + 1);
    size_t n = 0;
    if (!p)
        return false;
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i] == '+' ? ' ' : in.p[i];
        if (c == '%') {
            int high = i + 2 < in.n ? sr_hex_digit(in.p[i + 1]) : -1,
                low = i + 2 < in.n ? sr_hex_digit(in.p[i + 2]) : -1;
            if (high < 0 || low < 0 || high + low == 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        p[n++] = c;
    }
    *out = sr_bytes_trim(sr_bytes_of(p, n));
    return true;
}

static bool read_count(struct sr_bytes text, size_t *out)
{
    unsigned long long value;
    if (!sr_bytes_to_u64(text, &value))
        return false;
    *out = value < SIZE_MAX ? (size_t)value : SIZE_MAX;
    return true;
}

/* Empty: false. */
static bool read_bool(struct sr_bytes text, bool *out)
{
    *out = sr_bytes_eq_nocase(text, SR_LIT("true")) || sr_bytes_eq(text, SR_LIT("1"));
    return *out || text.n == 0 || sr_bytes_eq_nocase(text, SR_LIT("false")) || sr_bytes_eq(text, SR_LIT("0"));
}

static const char *read_page(struct sr_history_query *q, struct sr_bytes name, struct sr_bytes value)
{
    if (sr_bytes_eq(name, SR_LIT("limit"))) {
        if (!read_count(value, &q->limit))
            return "limit must be an integer greater than zero";
        if (q->limit == 0)
            return "limit must be greater than zero";
        q->limit = q->limit < SR_HISTORY_PAGE_MAX ? q->limit : SR_HISTORY_PAGE_MAX;
    } else if (sr_bytes_eq(name, SR_LIT("offset"))) {
        if (!read_count(value, &q->offset))
            return "offset must be zero or a greater integer";
    } else if (sr_bytes_eq(name, SR_LIT("per_second"))) {
        if (!read_count(value, &q->per_second) || !q->per_second || q->per_second > SR_HISTORY_RATE_MAX)
            return "per_second must be an integer from 1 to 1000";
    } else if (sr_bytes_eq(name, SR_LIT("why"))) {
        if (!read_bool(value, &q->why))
            return "why must be true or false";
    } else if (sr_bytes_eq(name, SR_LIT("showDetails"))) {
        if (!read_bool(value, &q->details))
            return "showDetails must be true or false";
    }
    return NULL;
}

static const char *read_cache(struct sr_history_filter *f, struct sr_bytes value)
{
    f->cache = sr_bytes_eq(value, SR_LIT("cached"))     ? SR_HISTORY_CACHE_CACHED
               : sr_bytes_eq(value, SR_LIT("streamed")) ? SR_HISTORY_CACHE_STREAMED
                                                        : SR_HISTORY_CACHE_ANY;
    bool any = value.n == 0 || sr_bytes_eq(value, SR_LIT("all"));
    return f->cache == SR_HISTORY_CACHE_ANY && !any ? "cache_status must be one of all, cached, or streamed"
                                                    : NULL;
}

static bool read_ms(struct sr_bytes value, double *out)
{
    unsigned long long whole;
    if (!sr_bytes_to_u64(value, &whole))
        return false;
    *out = (double)whole;
    return true;
}

static const char *read_member(struct sr_history_query *q, struct sr_bytes name, struct sr_bytes value)
{
    struct sr_history_filter *f = &q->filter;
    const struct {
        struct sr_bytes name;
        struct sr_bytes *to;
    } texts[] = {{SR_LIT("recipe"), &f->recipe}, {SR_LIT("decision"), &f->decision},
                 {SR_LIT("model"), &f->model},   {SR_LIT("session_id"), &f->session},
                 {SR_LIT("tenant"), &f->tenant}, {SR_LIT("outcome"), &f->outcome},
                 {SR_LIT("search"), &f->search}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (sr_bytes_eq(name, texts[i].name)) {
            *texts[i].to = value;
            return NULL;
        }
    }
    if (sr_bytes_eq(name, SR_LIT("cache_status")))
        return read_cache(f, value);
    if (sr_bytes_eq(name, SR_LIT("min_ms")))
        return read_ms(value, &f->min_ms) ? NULL : "min_ms must be a number of milliseconds";
    if (sr_bytes_eq(name, SR_LIT("max_ms")))
        return read_ms(value, &f->max_ms) ? NULL : "max_ms must be a number of milliseconds";
    return read_page(q, name, value);
}

bool sr_history_query_read(struct sr_history_query *out, struct sr_bytes query, struct sr_arena *arena,
                           const char **why)
{
    struct sr_bytes none = SR_LIT("");
    *out = (struct sr_history_query){.limit = SR_HISTORY_PAGE, .per_second = SR_HISTORY_RATE};
    out->filter = (struct sr_history_filter){none, none, none, none, none, none, none, 0, 0, 0};
    *why = query.n > SR_HISTORY_QUERY_MAX ? "the query is too long" : NULL;
    for (size_t at = 0; !*why && at < query.n;) {
        const char *end = memchr(query.p + at, '&', query.n - at);
        size_t n = end ? (size_t)(end - query.p) - at : query.n - at;
        const char *equals = memchr(query.p + at, '=', n);
        size_t name_n = equals ? (size_t)(equals - query.p) - at : n;
        struct sr_bytes name, value;
        struct sr_bytes rest = equals ? sr_bytes_of(equals + 1, n - name_n - 1) : none;
        if (!decode(sr_bytes_of(query.p + at, name_n), arena, &name) || !decode(rest, arena, &value))
            *why = "the query is malformed";
        else
            *why = read_member(out, name, value);
        at += n + 1;
    }
    if (!*why && out->filter.max_ms > 0 && out->filter.min_ms > out->filter.max_ms)
        *why = "min_ms must not be above max_ms";
    return !*why;
}

/* ---- the filter ---- */

static bool is(struct sr_bytes wanted, const struct sr_history_entry *entry, enum sr_history_text text)
{
    return !wanted.n || sr_bytes_eq(wanted, entry->f.texts[text]);
}

static bool has(struct sr_bytes text, struct sr_bytes part)
{
    for (size_t i = 0; i + part.n <= text.n; i++)
        if (sr_bytes_eq_nocase(sr_bytes_of(text.p + i, part.n), part))
            return true;
    return part.n == 0;
}

static bool is_set(const struct sr_history_entry *entry, enum sr_history_number number)
{
    double value = entry->f.numbers[number];
    return !isnan(value) && value != 0;
}

bool sr_history_passes(const struct sr_history_filter *f, const struct sr_history_entry *entry)
{
    double ms = entry->f.numbers[SR_HISTORY_TOTAL_MS];
    if (f->model.n && !is(f->model, entry, SR_HISTORY_SELECTED_MODEL) &&
        !is(f->model, entry, SR_HISTORY_ORIGINAL_MODEL))
        return false;
    if ((f->min_ms > 0 && !(ms >= f->min_ms)) || (f->max_ms > 0 && !(ms <= f->max_ms)))
        return false;
    if ((f->cache == SR_HISTORY_CACHE_CACHED && !is_set(entry, SR_HISTORY_FROM_CACHE)) ||
        (f->cache == SR_HISTORY_CACHE_STREAMED && !is_set(entry, SR_HISTORY_STREAMING)))
        return false;
    return is(f->recipe, entry, SR_HISTORY_RECIPE) && is(f->decision, entry, SR_HISTORY_DECISION) &&
           is(f->session, entry, SR_HISTORY_SESSION) && is(f->tenant, entry, SR_HISTORY_TENANT) &&
           is(f->outcome, entry, SR_HISTORY_OUTCOME) && has(entry->f.texts[SR_HISTORY_REQUEST_ID], f->search);
}

/* ---- walking ---- */

static bool keep(struct sr_history_selection *set, struct sr_history_entry *entry)
{
    if (set->n == set->cap) {
        size_t cap = set->cap ? set->cap * 2 : GROUP;
        struct sr_history_entry **items = sr_mem_realloc(set->items, cap * sizeof(struct sr_history_entry *));
        if (!items)
            return false;
        set->items = items;
        set->cap = cap;
    }
    set->items[set->n++] = entry;
    return true;
}

static int newest_first(const void *a, const void *b)
{
    const struct sr_history_entry *x = *(struct sr_history_entry *const *)a,
                                  *y = *(struct sr_history_entry *const *)b;
    if (x->f.time_us != y->f.time_us)
        return x->f.time_us > y->f.time_us ? -1 : 1;
    return sr_bytes_cmp(y->f.texts[SR_HISTORY_ID], x->f.texts[SR_HISTORY_ID]);
}

void sr_history_selection_dispose(struct sr_history_selection *set)
{
    for (size_t i = 0; i < set->n; i++)
        sr_history_entry_unref(set->items[i]);
    sr_mem_free(set->items);
    *set = (struct sr_history_selection){0};
}

int sr_history_select(struct sr_history *history, const struct sr_history_filter *filter,
                      struct sr_history_selection *out)
{
    struct sr_history_entry *group[GROUP];
    uint64_t from = 0, end = sr_history_next(history);
    bool full = false;
    *out = (struct sr_history_selection){0};
    while (from < end && !full) {
        size_t n = sr_history_take(history, &from, group, GROUP);
        for (size_t i = 0; i < n; i++) {
            bool wanted = !full && sr_history_passes(filter, group[i]);
            full = full || (wanted && !keep(out, group[i]));
            if (!wanted || full)
                sr_history_entry_unref(group[i]);
        }
    }
    if (full) {
        sr_history_selection_dispose(out);
        return SR_ENOMEM;
    }
    if (out->n)
        qsort(out->items, out->n, sizeof(struct sr_history_entry *), newest_first);
    return SR_OK;
}

struct sr_history_entry *sr_history_find(struct sr_history *history, enum sr_history_text which,
                                         struct sr_bytes text)
{
    struct sr_history_entry *group[GROUP], *found = NULL;
    uint64_t from = 0, end = sr_history_next(history);
    while (from < end) {
        size_t n = sr_history_take(history, &from, group, GROUP);
        for (size_t i = 0; i < n; i++) {
            if (sr_bytes_eq(group[i]->f.texts[which], text)) {
                sr_history_entry_unref(found);
                found = group[i];
            } else {
                sr_history_entry_unref(group[i]);
            }
        }
    }
    return found;
}
